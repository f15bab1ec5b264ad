#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_counts.py TRUTH REPORT MODULES, or check_counts.py --same REPORT EXACT

Compares a report of --counts with a victim's own books: totals, the trend of live bytes, sizes, and
(--counts=sites) each site by its whole stack of (function, line) in MODULES. Or with the report of
an exact session of the same program: what both know is the same.
"""
import json
import sys

from truth_match import match_sites, report_key, truth_key

HEADER = 24         # usable bytes beyond those asked for, of a small block of glibc's
LARGE = 100000      # may be a mapping of its own: whole pages
UNKNOWN = ("live_count", "live_bytes", "live_bytes_low", "live_bytes_high", "peak_live_bytes",
           "temporary_count", "overhead_bytes", "free_unknown_count", "double_free_count")
problems = []


def same(what, seen, wanted):
    if seen != wanted:
        problems.append(f"{what} is {seen}, should be {wanted}")


def within(what, seen, low, high):
    if not low <= seen <= high:
        problems.append(f"{what} is {seen}, should be {low} to {high}")


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def check_trend(truth, report):
    counts, totals = report["counts"], truth["totals"]
    same("trend_count", counts["trend_count"],
         totals["alloc_count"] - totals["free_count"] - totals["free_unknown_count"])
    if counts["unsized_count"]:
        same("trend_bytes", counts["trend_bytes"], None)
        same("trend of the timeline", report["timeline"][-1]["trend_bytes"], None)
        return
    same("trend_bytes", counts["trend_bytes"],
         counts["alloc_usable_bytes"] - counts["free_usable_bytes"])
    glibc = report["target"]["allocators"][0]["name"] == "glibc"
    small = all(bar["size"] < LARGE for bar in report["histogram"])
    if totals["free_unknown_count"] == 0 and small:
        live, blocks = totals["live_bytes"], totals["live_count"]
        within("trend_bytes", counts["trend_bytes"], live,
               live + (HEADER * blocks if glibc else live // 2 + 64 * blocks))
    same("trend of the timeline", report["timeline"][-1]["trend_bytes"], counts["trend_bytes"])


def check_totals(truth, report):
    totals = truth["totals"]
    for field in ("alloc_count", "alloc_bytes"):
        same(field, report["totals"][field], totals[field])
    same("free_count", report["totals"]["free_count"],
         totals["free_count"] + totals["free_unknown_count"])
    for field in UNKNOWN:
        same(field, report["totals"][field], None)
    for field in ("alloc_count", "free_count", "alloc_bytes"):
        same(f"{field} of the timeline", sum(point[field] for point in report["timeline"]),
             report["totals"][field])


def check_histogram(report):
    bars = report["histogram"]
    if report["counts"]["kind"] == "totals":
        same("bars", len(bars), 0)
        return
    same("calls of the histogram", sum(bar["count"] for bar in bars),
         report["totals"]["alloc_count"])
    same("bytes of the histogram", sum(bar["count"] * bar["size"] for bar in bars),
         report["totals"]["alloc_bytes"])


def check_sizes(site):
    same("calls by size of a site", sum(step["count"] for step in site["sizes"]),
         site["alloc_count"])
    same("bytes by size of a site", sum(step["bytes"] for step in site["sizes"]),
         site["alloc_bytes"])
    for step in site["sizes"]:
        within("bytes of a step", step["bytes"], step["low"] * step["count"],
               step["high"] * step["count"])


def check_sites(truth, report, modules):
    blocks = [site for site in report["sites"] if site["kind"] == "malloc"]
    if report["counts"]["kind"] != "sites":
        same("sites", len(blocks), 0)
        return
    for rest in ("by_caller", "sites_left_out", "sizes_left_out"):
        same(rest, report["counts"][rest], {"count": 0, "bytes": 0})
    for site in blocks:
        check_sizes(site)
        for field in ("live_count", "live_bytes", "free_count", "verdict"):
            same(f"{field} of a site", site[field], None)
    found = match_sites(truth, report, modules)
    for site in truth["sites"]:
        name = " < ".join(f"{function}:{line}" for function, line in truth_key(site))
        for field in ("alloc_count", "alloc_bytes"):
            same(f"{name}: {field}", sum(one[field] for one in found[id(site)]), site[field])
    for site in found[None]:
        problems.append(f"site that is none: {report_key(site, modules)}")


def check_truth(truth, report, modules):
    if any(report["session"]["lost"].values()):
        problems.append(f"lost: {report['session']['lost']}")
    same("EINTR", truth["interrupts"], 0)
    check_totals(truth, report)
    check_trend(truth, report)
    check_histogram(report)
    check_sites(truth, report, modules)


def by_stack(report):
    sums = {}
    for site in report["sites"]:
        if site["kind"] != "malloc":
            continue
        key = tuple((frame["function"], frame["line"]) for frame in site["frames"])
        count, size = sums.get(key, (0, 0))
        sums[key] = (count + site["alloc_count"], size + site["alloc_bytes"])
    return sums


def check_same(counts, exact):
    for field in ("alloc_count", "alloc_bytes"):
        same(field, counts["totals"][field], exact["totals"][field])
    same("free_count", counts["totals"]["free_count"],
         exact["totals"]["free_count"] + exact["totals"]["free_unknown_count"])
    same("the histogram", counts["histogram"], exact["histogram"])
    seen, wanted = by_stack(counts), by_stack(exact)
    for key in sorted(set(seen) | set(wanted), key=str):
        same(f"{key[:4]}", seen.get(key), wanted.get(key))


if sys.argv[1] == "--same":
    check_same(load(sys.argv[2]), load(sys.argv[3]))
else:
    check_truth(load(sys.argv[1]), load(sys.argv[2]), set(sys.argv[3].split(",")))
for text in problems[:25]:
    print(text)
sys.exit(1 if problems else 0)
