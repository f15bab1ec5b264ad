#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_reallocs.py TRUTH VIEW, check_reallocs.py --sampled TRUTH VIEW...

Compares the view realloc of an exact session with what the victim handover says of its calls, by
the function that makes them. --sampled: the mean of several sessions with what resizes says; the
sizes and numbers of its calls are such that the margins are 6 standard errors or more of 4
sessions.
"""
import json
import sys
from collections import Counter

FIELDS = ("grown", "shrunk", "same", "moved", "copied_bytes", "failed", "from_null", "freed")
IN_PLACE = ("grown", "shrunk", "same")
ONCE = ("in_place", "moved", "failed", "from_null", "freed")
MARGIN = 0.1
COPIED_MARGIN = 0.16


def read_truth(path):
    truth = {}
    for line in open(path, encoding="utf-8"):
        word, function, *figures = line.split()
        if word == "resized":
            truth[function] = Counter(dict(zip(FIELDS, map(int, figures))))
            truth[function]["in_place"] = sum(truth[function][field] for field in IN_PLACE)
    return truth


def sums(view, functions):
    seen = {}
    for entry in view["reallocs"]:
        names = [frame["function"] for frame in entry["site"]["frames"]]
        function = next((name for name in names if name in functions), names[0])
        figures = seen.setdefault(function, Counter())
        for field in FIELDS + ("in_place", "calls"):
            figures[field] += entry["calls"][field]
    return seen


def adds_up(view):
    figures = [entry["calls"] for entry in view["reallocs"]] + [view["sum"]]
    return all(f["calls"] == sum(f[field] for field in ONCE) for f in figures)


def compare_exact(truth, view):
    seen = sums(view, truth)
    problems = []
    for function in truth.keys() | seen.keys():
        for field in FIELDS + ("in_place",):
            is_, wanted = (of.get(function, Counter())[field] for of in (seen, truth))
            if is_ != wanted:
                problems.append(f"{function}: {field} {is_}, truth {wanted}")
    for field in FIELDS:
        wanted = sum(figures[field] for figures in truth.values())
        if view["sum"][field] != wanted:
            problems.append(f"sum of {field}: {view['sum'][field]}, truth {wanted}")
    return problems


def compare_sampled(truth, views):
    total = Counter()
    problems = []
    for view in views:
        for function, figures in sums(view, truth).items():
            for field, value in figures.items():
                total[function, field] += value / len(views)
    for function, figures in truth.items():
        for field in ONCE:
            if abs(total[function, field] - figures[field]) > MARGIN * figures[field]:
                problems.append(f"{function}: {field} {total[function, field]:.0f}, "
                                f"truth {figures[field]}")
        # Of sizes before only some are known: never more than there are.
        for field in IN_PLACE + ("copied_bytes",):
            if total[function, field] > (1 + COPIED_MARGIN) * figures[field]:
                problems.append(f"{function}: {field} {total[function, field]:.0f}, "
                                f"truth {figures[field]}")
    # All of its blocks are as good as certain to be drawn.
    wanted = truth["carry_large"]["copied_bytes"]
    if total["carry_large", "copied_bytes"] < (1 - COPIED_MARGIN) * wanted:
        problems.append(f"carry_large: {total['carry_large', 'copied_bytes']:.0f} bytes copied, "
                        f"truth {wanted}")
    return problems


def main():
    paths = [path for path in sys.argv[1:] if path != "--sampled"]
    truth = read_truth(paths[0])
    views = [json.load(open(path, encoding="utf-8")) for path in paths[1:]]
    if "--sampled" in sys.argv:
        problems = compare_sampled(truth, views)
    else:
        problems = compare_exact(truth, views[0])
    problems += ["columns do not add up"] * (not all(map(adds_up, views)))
    for text in problems:
        print(text)
    calls = sum(sum(figures[field] for field in ONCE) for figures in truth.values())
    print(f"{calls} calls, {len(problems)} problems")
    sys.exit(1 if problems or not calls else 0)


main()
