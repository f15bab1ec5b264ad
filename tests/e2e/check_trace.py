#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_trace.py TRUTH LOG MODULE

Compares a log of calls (JSON lines) with what the victim wrote down: each thread's calls one by
one, and, over all threads, that the log can be replayed: no block is given that lives, none is
taken that does not. Totals and unfreed blocks must be what the lines add up to.
"""
import collections
import json
import sys

problems = []


def number(value):
    """Pointers are text; signed 32-bit numbers are noted unsigned."""
    if isinstance(value, str):
        return int(value, 16)
    return value & 0xffffffff if isinstance(value, int) and value < 0 else value or 0


def by_thread(calls, module):
    threads = collections.defaultdict(list)
    for call in calls:
        frames = call["frames"]
        if frames and frames[-1]["module"].rsplit("/", 1)[-1] == module:
            threads[call["thread"]].append(call)
    return threads


def compare_call(tid, at, noted, call):
    name, line, result, arguments = noted
    seen = [call["call"], [number(one) for one in call["arguments"]], number(call["result"])]
    if seen != [name, arguments, result]:
        problems.append(f"thread {tid}, call {at}: {seen}, truth {noted}")
    elif call["frames"][0]["line"] != line:
        problems.append(f"thread {tid}, call {at}: {name} at line {call['frames'][0]['line']}, "
                        f"truth {line}")
    if not call["returned"] or not call["inside"] > 0:
        problems.append(f"thread {tid}, call {at}: not returned, or in no time: {call}")


def compare_threads(truth, calls, module):
    threads = by_thread(calls, module)
    for thread in truth["threads"]:
        seen = threads.pop(thread["tid"], [])
        if len(seen) != len(thread["calls"]):
            problems.append(f"thread {thread['tid']}: {len(seen)} calls, "
                            f"truth {len(thread['calls'])}")
        for at, (noted, call) in enumerate(zip(thread["calls"], seen)):
            compare_call(thread["tid"], at, noted, call)
    if threads:
        problems.append(f"threads that are none: {list(threads)}")


def replay(calls):
    live, older = {}, 0
    for call in calls:
        if call["kind"] != "malloc":
            continue
        if call["freed"] and live.pop(call["freed"], None) is None:
            older += 1
        if call["address"] in live:
            problems.append(f"{call['address']} is given twice, at {call['time']}")
        if call["address"]:
            live[call["address"]] = call["size"]
    return live, older


def compare_totals(events, calls):
    totals = [one for one in events if one["event"] == "totals"][0]
    blocks = {one["address"]: one["size"] for one in events if one["event"] == "unfreed"}
    live, older = replay(calls)
    given = [one["size"] for one in calls if one["kind"] == "malloc" and one["address"]]
    taken = [one["freed_size"] for one in calls
             if one["kind"] == "malloc" and one["freed"] and one["freed_size"] is not None]
    expected = {
        "calls": len(calls), "filtered": 0, "detached": "pristine",
        "allocated_count": len(given), "allocated_total": sum(given),
        "freed_count": len(taken), "freed_total": sum(taken), "freed_older_count": older,
        "unfreed_count": len(live), "unfreed_total": sum(live.values()),
    }
    for key, value in expected.items():
        if totals[key] != value:
            problems.append(f"totals: {key} is {totals[key]}, the lines say {value}")
    if abs(totals["allocated_avg"] * max(len(given), 1) - sum(given)) > 1e-6 * sum(given) + 1e-6:
        problems.append(f"totals: allocated_avg is {totals['allocated_avg']}")
    if any(totals["lost"].values()):
        problems.append(f"lost: {totals['lost']}")
    if blocks != live:
        problems.append(f"unfreed blocks {sorted(blocks)[:5]}, the lines say {sorted(live)[:5]}")


def main():
    truth = json.load(open(sys.argv[1], encoding="utf-8"))
    events = [json.loads(line) for line in open(sys.argv[2], encoding="utf-8")]
    calls = [one for one in events if one["event"] == "call"]
    times = [one["time"] for one in events if "time" in one and one["event"] != "unfreed"]
    if times != sorted(times):
        problems.append("times go back")
    compare_threads(truth, calls, sys.argv[3])
    compare_totals(events, calls)
    for text in problems[:25]:
        print(text)
    print(f"{len(calls)} calls, {len(problems)} problems")
    sys.exit(1 if problems else 0)


main()
