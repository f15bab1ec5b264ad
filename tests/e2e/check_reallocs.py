#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_reallocs.py TRUTH VIEW

Compares the view realloc of an exact session with what the victim handover says of its calls, by
the function that makes them.
"""
import json
import sys
from collections import Counter

FIELDS = ("grown", "shrunk", "same", "moved", "copied_bytes", "failed", "from_null", "freed")


def main():
    view = json.load(open(sys.argv[2], encoding="utf-8"))
    truth = {}
    for line in open(sys.argv[1], encoding="utf-8"):
        word, function, *figures = line.split()
        if word == "resized":
            truth[function] = Counter(dict(zip(FIELDS, map(int, figures))))
    seen = {}
    for entry in view["reallocs"]:
        sums = seen.setdefault(entry["site"]["frames"][0]["function"], Counter())
        for field in FIELDS:
            sums[field] += entry["calls"][field]
    problems = []
    for function in truth.keys() | seen.keys():
        if seen.get(function) != truth.get(function):
            problems.append(f"{function}: {seen.get(function)}, truth {truth.get(function)}")
    for field in FIELDS:
        wanted = sum(figures[field] for figures in truth.values())
        if view["sum"][field] != wanted:
            problems.append(f"sum of {field}: {view['sum'][field]}, truth {wanted}")
    calls = sum(sum(figures.values()) - figures["copied_bytes"] for figures in truth.values())
    if view["sum"]["calls"] != calls:
        problems.append(f"calls: {view['sum']['calls']}, truth {calls}")
    for text in problems:
        print(text)
    print(f"{calls} calls, {len(problems)} problems")
    sys.exit(1 if problems or not calls else 0)


main()
