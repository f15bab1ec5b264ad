#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_wrong_frees.py REPORT SOURCE WRONG...: the report's wrong frees are exactly these.

WRONG is KIND:REASON:CALL:COUNT:BYTES:FREED:FIRST:ALLOCATED. The last three are stacks: names
of functions joined by '<', innermost first; NAME@MARK asks for the line that has the comment
"@MARK" in SOURCE; "-" for no stack. The order does not matter; more frames than are named do
not either, but a stack that ends in "." has no more. BYTES is "usableN" for a block from before the
attach."""
import json
import re
import sys


def lines_by_mark(source):
    marks = {}
    with open(source, encoding="utf-8") as text:
        for number, line in enumerate(text, 1):
            for mark in re.findall(r"/\* @([\w-]+) \*/", line):
                marks[mark] = number
    return marks


def stack_fits(wanted, call, marks):
    if wanted == "-":
        return call is None
    if call is None:
        return False
    frames = [frame for frame in call["frames"]]
    ends = wanted.endswith(".")
    parts = wanted.rstrip(".").split("<")
    if len(frames) < len(parts) or ends and len(frames) != len(parts):
        return False
    for part, frame in zip(parts, frames):
        name, _, mark = part.partition("@")
        if frame["function"] != name or mark and frame["line"] != marks[mark]:
            return False
    return True


def bytes_of(block):
    if "usable_bytes" in block:
        return f"usable{block['usable_bytes']}"
    return str(block["bytes"])


def fits(wanted, found, marks):
    kind, reason, call, count, size, freed, first, allocated = wanted.split(":")
    block = found["block"]
    return (found["kind"] == kind and found["reason"] == reason and found["call"] == call
            and found["count"] == int(count)
            and (block is None if size == "-" else
                 block is not None and bytes_of(block) == size)
            and stack_fits(freed, found["freed"], marks)
            and stack_fits(first, found["freed_first"], marks)
            and stack_fits(allocated, found["allocated"], marks))


def main():
    with open(sys.argv[1], encoding="utf-8") as text:
        report = json.load(text)
    marks = lines_by_mark(sys.argv[2])
    left = list(report["wrong_frees"])
    missing = []
    for wanted in sys.argv[3:]:
        match = next((found for found in left if fits(wanted, found, marks)), None)
        if match is None:
            missing.append(wanted)
        else:
            left.remove(match)
    totals = report["totals"]
    counted = {kind: sum(found["count"] for found in report["wrong_frees"]
                         if found["kind"] == kind) for kind in ("double", "illegal")}
    for wanted in missing:
        print("not reported:", wanted)
    for found in left:
        print("reported, but not so:", json.dumps(found, indent=1))
    if (totals["double_free_count"], totals["illegal_free_count"]) != \
            (counted["double"], counted["illegal"]):
        print("totals differ:", totals, counted)
        return 1
    return 1 if missing or left else 0


if __name__ == "__main__":
    sys.exit(main())
