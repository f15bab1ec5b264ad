#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_stacks.py REPORT [PERCENT]: from 200 samples on, 90 % of the stacks, or so many, reach
their thread's start."""
import json
import sys

ENOUGH = 200
PERCENT = 90
# The fields of every report, whose sums must agree with each other.
SUMS = ("alloc_count", "live_count", "live_bytes")


def check_sums(report):
    """With everything recorded and no losses, totals are the sum of the sites."""
    if report["session"]["mode"] != "exact" or any(report["session"]["lost"].values()):
        return
    for field in SUMS:
        total = report["totals"][field]
        sites = sum(site[field] for site in report["sites"] if site["kind"] == "malloc")
        if total != sites:
            sys.exit(f"totals.{field} is {total}, the sites' sum {sites}")


def main():
    report = json.load(open(sys.argv[1], encoding="utf-8"))
    stacks = report["session"]["stacks"]
    # what there was no room for is told as lost: a matter of the machine's pace
    cut = max(0, stacks["truncated"] - report["session"]["lost"]["stack"])
    seen = stacks["unwound"] + cut
    percent = int(sys.argv[2]) if len(sys.argv) > 2 else PERCENT
    if seen >= ENOUGH and stacks["unwound"] * 100 < percent * seen:
        sys.exit(f"{cut} of {seen} stacks are truncated")
    check_sums(report)
    print(f"{seen} stacks, {cut} truncated")


main()
