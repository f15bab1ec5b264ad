#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_leaks.py BOOK REPORT [--before=REPORT] [--sites] [--busy]

Compares the leaks of a report with the book of a victim (tests/victims/leaky.h): sums by kind,
and each group by the addresses, sizes and, with --sites, the allocation sites of its blocks.
--before: the report of the same process before it built anything; without it the number of
reachable blocks is not compared, and neither with --busy or where libraries allocate as well.
"""
import argparse
import collections
import json
import sys

from leaks_book import definite_count, read_book

problems = []
KINDS = ("definitely_lost", "indirectly_lost", "possibly_lost", "still_reachable")


def problem(text):
    problems.append(text)


def truth_sums(blocks):
    """{kind of the report: [count, bytes]}; of a ring one block is definite."""
    sums = {kind: [0, 0] for kind in KINDS}
    names = {"definite": KINDS[0], "indirect": KINDS[1], "possible": KINDS[2],
             "reachable": KINDS[3]}
    rings = set()
    for block in blocks:
        kind = block["kind"]
        if kind == "ring":
            ring = (block["label"], block["ring"])
            kind = "indirect" if ring in rings else "definite"
            rings.add(ring)
        sums[names[kind]][0] += 1
        sums[names[kind]][1] += block["bytes"]
    return sums


def compare_sums(truth, report, before, others):
    """others: reachable blocks that are not in the book; their sizes nobody knows."""
    truth[KINDS[3]][0] += others or 0
    for kind in KINDS if before and others is not None else KINDS[:3]:
        for i, field in enumerate(("count",) if others and kind == KINDS[3] else
                                  ("count", "bytes")):
            seen = report[kind][field] - (before[kind][field] if before else 0)
            if seen != truth[kind][i]:
                problem(f"{kind}: {field} is {seen}, truth {truth[kind][i]}")


def label_of(group, by_address):
    """The labels of a group's examples; complains of those that should not be there."""
    wanted = {"definitely-lost": ("definite", "ring"), "possibly-lost": ("possible",)}
    labels = set()
    for address in group["addresses"]:
        block = by_address.get(int(address, 16))
        if not block:
            problem(f"{group['verdict']}: {address} of {group['bytes']} bytes "
                    f"({group['type']}) is not in the book")
        elif block["kind"] not in wanted[group["verdict"]]:
            problem(f"{group['verdict']}: {address} is {block['kind']}: {block['label']} "
                    f"{block['function']}:{block['line']}, {block['requested']} bytes")
        else:
            labels.add(block["label"])
    return labels


def compare_labels(blocks, groups, by_address):
    """Count, bytes and what hangs below, label by label (of labels that share groups, together)."""
    merged = {}

    def find(label):
        while merged.get(label, label) != label:
            label = merged[label]
        return label

    owners = []
    for group in groups:
        labels = sorted(label_of(group, by_address))
        for label in labels:
            merged[find(label)] = find(labels[0])
        owners.append(labels[0] if labels else None)
    seen, truth = (collections.defaultdict(lambda: [0] * 6) for _ in range(2))
    for group, owner in zip(groups, owners):
        if owner:
            at = 0 if group["verdict"] == "definitely-lost" else 4
            sums = seen[find(owner)]
            sums[at] += group["count"]
            sums[at + 1] += group["bytes"]
            sums[2] += group["indirect_count"]
            sums[3] += group["indirect_bytes"]
    by_label = collections.defaultdict(list)
    for block in blocks:
        by_label[find(block["label"])].append(block)
    for label, mine in by_label.items():
        sums = truth_sums(mine)
        truth[label] = sums[KINDS[0]] + sums[KINDS[1]] + sums[KINDS[2]]
    for label in truth:
        if seen[label] != truth[label]:
            problem(f"{label}: definite count, bytes, indirect, bytes, possible, bytes are "
                    f"{seen[label]}, truth {truth[label]}")


def has_frame(site, function, line):
    return any(frame["line"] == line and function in (frame["function"] or "")
               for frame in site["frames"])


def compare_sites(blocks, groups, by_address, sites):
    """Every lost block was allocated while watched: its group's site is its line in the book."""
    definite, possible = definite_count(blocks)
    seen = collections.Counter()
    for group in groups:
        site = sites.get(group["site"])
        block = by_address.get(int(group["addresses"][0], 16)) if group["addresses"] else None
        if not block:
            continue
        if not site:
            problem(f"{block['label']}: a group of {group['count']} has no site")
        elif not has_frame(site, block["function"], block["line"]):
            frames = [(frame["function"], frame["line"]) for frame in site["frames"][:5]]
            problem(f"{block['label']}: site of {block['function']}:{block['line']} is {frames}")
        seen[group["verdict"], block["function"], block["line"]] += group["count"]
    truth = collections.Counter()
    for verdict, counts in (("definitely-lost", definite), ("possibly-lost", possible)):
        for (function, line), count in counts.items():
            truth[verdict, function, line] += count
    for key in truth | seen:
        if truth[key] != seen[key]:
            problem(f"{' '.join(map(str, key))}: {seen[key]} blocks, truth {truth[key]}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("book")
    parser.add_argument("report")
    parser.add_argument("--before")
    parser.add_argument("--sites", action="store_true")
    parser.add_argument("--busy", action="store_true")
    options = parser.parse_args()
    blocks, others = read_book(options.book)
    document = json.load(open(options.report, encoding="utf-8"))
    leaks = document["leaks"]
    before = None
    if options.before:
        before = json.load(open(options.before, encoding="utf-8"))["leaks"]
    if not leaks["covers_older_blocks"]:
        problem(f"older blocks are not covered: {leaks['heaps']}")
    groups = [group for group in leaks["groups"]
              if group["verdict"] in ("definitely-lost", "possibly-lost")]
    by_address = {int(block["address"], 16): block for block in blocks}
    compare_sums(truth_sums(blocks), leaks, before, None if options.busy else others)
    compare_labels(blocks, groups, by_address)
    if options.sites:
        compare_sites(blocks, groups, by_address,
                      {site["id"]: site for site in document["sites"]})
    for text in problems[:30]:
        print(text)
    print(f"{len(blocks)} blocks, {len(groups)} groups of lost ones, {len(problems)} problems")
    sys.exit(1 if problems else 0)


main()
