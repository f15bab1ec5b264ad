#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_threads.py TRUTH FOLDER

Compares the view threads, and views of single threads, of an exact recording with what the victim
handover says of itself. FOLDER has threads.json, and by thread id TID.filter.json, TID.tree.json
and TID.blocks.json; worker.filter.json is of two threads by their name.
"""
import json
import os
import sys
from collections import Counter

problems = []


def expect(what, seen, wanted):
    if seen != wanted:
        problems.append(f"{what}: {seen}, truth {wanted}")


def load(name):
    return json.load(open(os.path.join(sys.argv[2], name + ".json"), encoding="utf-8"))


def truth():
    """By id: name and figures; (id, function): figures; (owner, freer): count, bytes."""
    rows, parts, given = {}, {}, {}
    for line in open(sys.argv[1], encoding="utf-8"):
        word, *rest = line.split()
        if word == "thread":
            rows[int(rest[0])] = (rest[1], *map(int, rest[2:]))
        elif word == "part":
            parts[int(rest[0]), rest[1]] = tuple(map(int, rest[2:]))
        elif word == "given":
            given[int(rest[0]), int(rest[1])] = tuple(map(int, rest[2:]))
    return rows, parts, given


def check_rows(view, rows):
    fields = ("name", "alloc_count", "alloc_bytes", "free_count", "free_bytes",
              "freed_others_count", "live_count", "live_bytes")
    seen = {row["tid"]: tuple(row[field] for field in fields) for row in view["threads"]}
    expect("threads", seen, rows)
    expect("number of threads", view["thread_count"], len(rows))
    for row in view["threads"]:
        expect("ids seen", row["ids_seen"], 1)
        expect("time", 0 < row["first_time"] <= row["last_time"] <= view["duration"], True)
    sizes = [row["alloc_bytes"] for row in view["threads"]]
    expect("order", sizes, sorted(sizes, reverse=True))


def check_given(view, given):
    tid = {row["number"]: row["tid"] for row in view["threads"]}
    seen = {(tid[one["owner"]], tid[one["freer"]]): (one["count"], one["bytes"])
            for one in view["handovers"]}
    expect("who freed whose", seen, given)


def by_function(view):
    sums = {}
    for site in view["sites"]:
        name = site["frames"][0]["function"]
        old = sums.get(name, (0, 0, 0))
        new = (site["alloc_count"], site["alloc_bytes"], site["live_count"])
        sums[name] = tuple(map(sum, zip(old, new)))
    return sums


def check_parts(view, title, tids, parts):
    wanted = {}
    for (tid, function), figures in parts.items():
        if tid in tids and figures[0]:
            old = wanted.get(function, (0, 0, 0))
            wanted[function] = tuple(map(sum, zip(old, figures)))
    expect(f"{title}: sites", by_function(view), wanted)
    expect(f"{title}: nothing is untold", view["untold_calls"], 0)


def main():
    rows, parts, given = truth()
    view = load("threads")
    check_rows(view, rows)
    check_given(view, given)
    number = {row["tid"]: row["number"] for row in view["threads"]}
    for tid, figures in rows.items():
        one = load(f"{tid}.filter")
        check_parts(one, figures[0], {tid}, parts)
        expect("threads of the filter", one["only_threads"], [number[tid]])
        root = load(f"{tid}.tree")["nodes"][0]["total"]
        expect("calls in the tree", root["calls"], figures[1])
        expect("live bytes in the tree", root["live"], figures[7])
        blocks = load(f"{tid}.blocks")["blocks"]
        expect("blocks", len(blocks), figures[6])
        expect("bytes in blocks", sum(block["size"] for block in blocks), figures[7])
        expect("threads of blocks", Counter(block["thread"] for block in blocks),
               Counter({number[tid]: figures[6]}))
    workers = {tid for tid, figures in rows.items() if figures[0] == "worker"}
    check_parts(load("worker.filter"), "both workers", workers, parts)
    expect("two of one name", len(workers), 2)
    for text in problems[:25]:
        print(text[:1500])
    print(f"{len(rows)} threads, {len(problems)} problems")
    sys.exit(1 if problems else 0)


main()
