#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_truth.py TRUTH REPORT MODULES

Compares an exact report with a victim's own books: totals, and each site by its
whole stack of (function, line) in MODULES (comma-separated base names).
"""
import json
import sys

from truth_match import match_sites, report_key, truth_key

SUMMED = ("alloc_count", "alloc_bytes", "free_count", "live_count", "live_bytes",
          "temporary_count")
problems = []


def problem(text):
    problems.append(text)


def show(key):
    return " < ".join(f"{name}:{line}" for name, line in key)


def compare_site(site, sites, peaks):
    name = show(truth_key(site))
    if not sites:
        problem(f"site not found: {name}")
        return
    for field in SUMMED:
        seen = sum(one[field] for one in sites)
        if seen != site[field]:
            problem(f"{name}: {field} is {seen}, truth {site[field]}")
    if peaks and len(sites) == 1 and sites[0]["peak_live_bytes"] != site["peak_live_bytes"]:
        problem(f"{name}: peak_live_bytes is {sites[0]['peak_live_bytes']}, "
                f"truth {site['peak_live_bytes']}")


def compare_totals(truth, report):
    fields = list(SUMMED) + ["free_unknown_count"]
    if truth["claims"]["peaks"]:
        fields.append("peak_live_bytes")
    for field in fields:
        if report["totals"][field] != truth["totals"][field]:
            problem(f"totals: {field} is {report['totals'][field]}, "
                    f"truth {truth['totals'][field]}")


def main():
    truth = json.load(open(sys.argv[1], encoding="utf-8"))
    report = json.load(open(sys.argv[2], encoding="utf-8"))
    modules = set(sys.argv[3].split(","))
    lost = report["session"]["lost"]
    if any(lost.values()):
        problem(f"events lost in exact mode: {lost}")
    if truth["interrupts"]:
        problem(f"the victim saw {truth['interrupts']} EINTR")
    found = match_sites(truth, report, modules)
    for site in truth["sites"]:
        compare_site(site, found[id(site)], truth["claims"]["peaks"])
    if truth["claims"]["totals"]:
        compare_totals(truth, report)
        for site in found[None]:
            problem(f"site that is none: {show(report_key(site, modules))} "
                    f"{site['alloc_count']} allocations; "
                    f"frames {[frame.get('function') for frame in site['frames'][:6]]}")
    for text in problems[:25]:
        print(text)
    print(f"{len(truth['sites'])} sites, {truth['totals']['alloc_count']} allocations, "
          f"{len(problems)} problems")
    sys.exit(1 if problems else 0)


main()
