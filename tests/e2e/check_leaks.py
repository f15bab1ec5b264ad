#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_leaks.py BOOK REPORT [--before=REPORT] [--sites] [--busy] [--by-size] [--begins]

Compares the leaks of a report with the book of a victim (tests/victims/leaky.h): sums by kind,
and each group by the addresses, sizes and, with --sites, the allocation sites of its blocks.
--before: the report of the same process before it built anything; without it the number of
reachable blocks is not compared, and neither with --busy or where libraries allocate as well.
--by-size: the allocator rounds up so far that labels have blocks of the same size, which are in
the same group: such labels are compared together.
--begins: the program's pointers may lie behind the begin of blocks that it wants aligned; the
allocator does not know where, so that the report has the whole block.
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


def compare_sums(truth, report, before, others, sized):
    """others: reachable blocks that are not in the book; their sizes nobody knows.
    sized: the sizes of reachable blocks are those of the book."""
    truth[KINDS[3]][0] += others or 0
    for kind in KINDS if before and others is not None else KINDS[:3]:
        for i, field in enumerate(("count",) if kind == KINDS[3] and (others or not sized) else
                                  ("count", "bytes")):
            seen = report[kind][field] - (before[kind][field] if before else 0)
            if seen != truth[kind][i]:
                problem(f"{kind}: {field} is {seen}, truth {truth[kind][i]}")


def size_class(size):
    """Of blocks that no site and no type is known of: types_size_class() of types.c."""
    if size <= 512:
        return size
    step = 1 << ((size - 1).bit_length() - 3)
    return -(-size // step) * step


def label_of(group, by_address):
    """The labels of a group's examples, and of all that may be in it by their size; complains
    of examples that should not be there."""
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
    if group["site"] is None and group["size_class"]:
        labels |= {block["label"] for block in by_address.values()
                   if block["kind"] in wanted[group["verdict"]] and
                   size_class(block["bytes"]) == group["size_class"]}
    return labels


def take_begins(blocks, groups):
    """Where a block of the report and one of the book have the same end, and the book's begins at
    the first multiple of a power of two: the book takes the report's begin."""
    by_end = {int(block["address"], 16) + block["bytes"]: block for block in blocks}
    for group in groups:
        size = group["bytes"] // group["count"]
        for address in group["addresses"]:
            block = by_end.get(int(address, 16) + size)
            start = int(block["address"], 16) if block else 0
            if block and 0 < start - int(address, 16) < start & -start:
                block["address"], block["bytes"] = address, size


def compare_labels(blocks, groups, by_address, by_size):
    """Count, bytes and what hangs below, label by label (of labels that share groups, together)."""
    merged = {}
    of_size = {}

    def find(label):
        while merged.get(label, label) != label:
            label = merged[label]
        return label

    for block in blocks if by_size else []:
        if block["kind"] in ("definite", "ring", "possible"):
            same = of_size.setdefault((block["kind"] == "possible", block["bytes"]),
                                      block["label"])
            if find(block["label"]) != find(same):
                merged[find(block["label"])] = find(same)
    owners = []
    for group in groups:
        labels = sorted(label_of(group, by_address))
        for label in labels:
            if find(label) != find(labels[0]):
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
    parser.add_argument("--by-size", action="store_true")
    parser.add_argument("--begins", action="store_true")
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
    if options.begins:
        take_begins(blocks, groups)
    by_address = {int(block["address"], 16): block for block in blocks}
    compare_sums(truth_sums(blocks), leaks, before, None if options.busy else others,
                 not options.begins)
    compare_labels(blocks, groups, by_address, options.by_size)
    if options.sites:
        compare_sites(blocks, groups, by_address,
                      {site["id"]: site for site in document["sites"]})
    for text in problems[:30]:
        print(text)
    print(f"{len(blocks)} blocks, {len(groups)} groups of lost ones, {len(problems)} problems")
    sys.exit(1 if problems else 0)


main()
