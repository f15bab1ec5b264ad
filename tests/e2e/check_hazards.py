#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_hazards.py CASES REPORT

CASES has lines "case FUNCTION TIMES", one victim's own count of what it allocates under each
function. The report must show exactly that, each site counted once for a function.
"""
import collections
import json
import sys


def main():
    report = json.load(open(sys.argv[2], encoding="utf-8"))
    seen = collections.Counter()
    problems = cases = 0
    for site in report["sites"]:
        if site["kind"] != "malloc":
            continue
        for name in {frame.get("function") for frame in site["frames"]}:
            seen[name] += site["alloc_count"]
    for line in open(sys.argv[1], encoding="utf-8"):
        word = line.split()
        if len(word) != 3 or word[0] != "case":
            continue
        cases += 1
        if seen[word[1]] != int(word[2]):
            print(f"{word[1]}: {seen[word[1]]} allocations, in truth {word[2]}")
            problems += 1
    if any(report["session"]["lost"].values()):
        print(f"lost: {report['session']['lost']}")
        problems += 1
    print(f"{cases} functions, {problems} problems")
    sys.exit(1 if problems or not cases else 0)


main()
