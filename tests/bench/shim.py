# SPDX-License-Identifier: MIT
"""shim.py SHIM_COST: what the shim adds to a call, the least and the median of several runs.

Prints a table, and puts it into --document between its two `shim` markers.
"""
import argparse
import re
import statistics

import printed

BEGIN = "<!-- shim: shim.py writes from here -->\n"
END = "<!-- shim: to here -->\n"
RUNS = 9
ROW = re.compile(r"(.*\S) +(-?[0-9.]+) ns$", re.MULTILINE)


def table(program):
    figures = {}
    for _ in range(RUNS):
        for name, nanoseconds in ROW.findall(printed.run(program)):
            figures.setdefault(name, []).append(float(nanoseconds))
    rows = [f"| {name} | {min(ns):.1f} | {statistics.median(ns):.1f} |"
            for name, ns in figures.items()]
    return "\n".join(["| call | least | median |", "|---|---|---|", *rows])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", help="shim_cost")
    parser.add_argument("--document", help="with markers, to be brought up to date")
    options = parser.parse_args()
    text = f"{printed.moment()}Nanoseconds, {RUNS} runs:\n\n{table(options.program)}\n\n"
    print(text)
    if options.document:
        printed.put(text, options.document, BEGIN, END)


main()
