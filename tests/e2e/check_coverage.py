#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_coverage.py MODULE RUN...: do the 95 % intervals cover the truth often enough?

Each RUN is a path for which RUN.truth and RUN.json exist: one seeded run of truth_sites.
Counted are the sites of whose live blocks at least 5 are expected to be sampled;
93 % of their intervals must contain the truth. The threshold applies from
1,000 intervals on; below it, a 3 sigma margin is allowed for (few runs in a quick check).
Also the estimate of all runs together must be unbiased, within 4 standard errors.
"""
import json
import math
import sys

from truth_match import match_sites

EXPECTED = 5
SHARE = 0.93
MANY = 1000


def expected_samples(site, interval):
    """A truth_sites site has one size, so its live blocks are alike."""
    size = site["live_bytes"] / site["live_count"]
    return site["live_count"] * (1 - math.exp(-size / interval))


def judge_run(path, module):
    truth = json.load(open(path + ".truth", encoding="utf-8"))
    report = json.load(open(path + ".json", encoding="utf-8"))
    interval = report["session"]["sample_interval_bytes"]
    found = match_sites(truth, report, {module})
    covered = counted = 0
    for site in truth["sites"]:
        if site["live_count"] == 0 or expected_samples(site, interval) < EXPECTED:
            continue
        low = sum(one["live_bytes_low"] for one in found[id(site)])
        high = sum(one["live_bytes_high"] for one in found[id(site)])
        counted += 1
        covered += low <= site["live_bytes"] <= high
    return covered, counted, report["totals"]["live_bytes"] / truth["totals"]["live_bytes"]


def required(counted):
    margin = 0 if counted >= MANY else 3 * math.sqrt(SHARE * (1 - SHARE) / counted)
    return SHARE - margin


def main():
    module, runs = sys.argv[1], sys.argv[2:]
    judged = [judge_run(run, module) for run in runs]
    covered = sum(run[0] for run in judged)
    counted = sum(run[1] for run in judged)
    ratios = [run[2] for run in judged]
    mean = sum(ratios) / len(ratios)
    spread = math.sqrt(sum((r - mean) ** 2 for r in ratios) / max(1, len(ratios) - 1))
    error = spread / math.sqrt(len(ratios))
    print(f"{covered} of {counted} intervals cover the truth ({covered / counted:.1%}, "
          f"required {required(counted):.1%}); live bytes are {mean:.4f} of the truth "
          f"(standard error {error:.4f})")
    if covered < required(counted) * counted:
        sys.exit("intervals are too narrow")
    if len(ratios) >= 5 and abs(mean - 1) > 4 * error + 0.001:
        sys.exit("the estimate is biased")


main()
