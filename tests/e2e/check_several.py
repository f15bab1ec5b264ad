#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_several.py COMBINED ONE...: does a combined report say of each process what its own says?

Every site of the ones is in the combined one, with all its figures in its process's column, and
nothing else is; so are totals, losses and sums of leaks. Sites are known by their stacks.
"""
import collections
import json
import sys

FIGURES = ("live_bytes", "live_count", "alloc_bytes", "alloc_count", "free_count")
ENDS = FIGURES + ("peak_live_bytes", "temporary_count")
KINDS = ("definitely_lost", "indirectly_lost", "possibly_lost", "still_reachable")
problems = []


def stack_of(site):
    frames = [(f["function"], f["file"], f["line"], f["module"],
               None if f["function"] else f["offset"]) for f in site["frames"]]
    return site["kind"], tuple(frames)


def add(books, key, figures):
    for name in FIGURES:
        books[key][name] += figures[name]


def compare(what, seen, wanted):
    if seen != wanted:
        problems.append(f"{what}: {seen}, its own report says {wanted}")


def column(combined, number):
    books = collections.defaultdict(collections.Counter)
    for site in combined["sites"]:
        for part in site["by_process"]:
            if part["process"] == number:
                add(books, stack_of(site), part)
    return books


def compare_leaks(pid, seen, one):
    if not one.get("leaks") or "definitely_lost" not in one["leaks"]:
        compare(f"{pid}: leaks", seen["leaks"], None)
        return
    for kind in KINDS:
        compare(f"{pid}: {kind}", seen["leaks"][kind], one["leaks"][kind])


def compare_groups(combined, ones):
    wanted = collections.Counter()
    for one in ones:
        for group in (one.get("leaks") or {}).get("groups", []):
            wanted[group["verdict"]] += group["bytes"]
    seen = collections.Counter()
    for group in combined["leak_groups"] or []:
        compare("a group's parts", sum(p["bytes"] for p in group["by_process"]),
                group["bytes"])
        seen[group["verdict"]] += group["bytes"]
    for verdict in ("definitely-lost", "possibly-lost"):
        compare(f"groups {verdict}", seen[verdict], wanted[verdict])


def compare_ends(what, has, value, names, wanted=None):
    """Of each of names: both ends enclose it, or none is known. wanted: they are these."""
    for name in names:
        low, high = has[name + "_low"], has[name + "_high"]
        if (low is None) != (high is None):
            problems.append(f"{what}: one end of {name} is not known")
        elif low is not None and not low <= value.get(name, low) <= high:
            problems.append(f"{what}: {name} is {value[name]}, not in {low} to {high}")
        if wanted:
            compare(f"{what}: ends of {name}", [low, high],
                    [wanted[name + "_low"], wanted[name + "_high"]])


def compare_process(combined, one):
    pid = one["target"]["pid"]
    numbers = [i for i, p in enumerate(combined["processes"]) if p["pid"] == pid]
    if len(numbers) != 1:
        problems.append(f"{pid}: {len(numbers)} columns")
        return
    seen = combined["processes"][numbers[0]]
    for name in ("alloc_count", "alloc_bytes", "free_count", "free_bytes", "live_count",
                 "live_bytes"):
        compare(f"{pid}: {name}", seen["totals"][name], one["totals"][name])
    compare_ends(pid, seen, one["totals"], ENDS, one["totals"])
    for name in ("alloc", "free", "stack"):
        compare(f"{pid}: lost {name}", seen["lost"][name], one["session"]["lost"][name])
    compare(f"{pid}: detached", seen["detached"], one["session"]["detached"])
    books = collections.defaultdict(collections.Counter)
    for site in one["sites"]:
        add(books, stack_of(site), site)
    mine = column(combined, numbers[0])
    for key in books.keys() | mine.keys():
        compare(f"{pid}: {key[0]} {key[1][0][:3] if key[1] else '?'}", mine[key], books[key])
    compare_leaks(pid, seen, one)


def main():
    combined, *ones = [json.load(open(path, encoding="utf-8")) for path in sys.argv[1:]]
    compare("processes", len(combined["processes"]), len(ones))
    for one in ones:
        compare_process(combined, one)
    for name in ("alloc_count", "alloc_bytes", "free_count", "live_count", "live_bytes"):
        compare(name, combined["totals"][name], sum(one["totals"][name] for one in ones))
    for site in combined["sites"]:
        compare_ends(f"site {site['id']}", site, site, FIGURES + ("temporary_count",))
    compare_groups(combined, ones)
    if problems:
        sys.exit("\n".join(problems[:20]))


main()
