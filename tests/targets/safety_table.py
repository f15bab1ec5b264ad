#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the table of docs/SAFETY.md: which kinds of targets are tested, by what, and what these
tests printed when they ran last. kinds.tsv lists them: class, kind of target, test; a test is a
script of tests/e2e, from whose log in the build folder its result comes, or a name in the results
of `make check-targets`, or "-" where there is none yet.

    safety_table.py BUILD-FOLDER [--results FILE]... SAFETY.md
"""
import argparse
import os
import re
import sys

BEGIN = "<!-- targets: safety_table.py writes from here -->\n"
END = "<!-- targets: to here -->\n"
LONGEST = 150
# What the harness says, and the shell of processes that were killed on purpose.
NOISE = re.compile(r"(PASS|FAIL|SKIP|ERROR) \S+ \(exit|\S*\.sh: line \d+:|\s*$")
HERE = os.path.dirname(os.path.abspath(__file__))


def lines_of(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as f:
            return f.read().splitlines()
    except FileNotFoundError:
        return None


def of_check(build, test):
    """Result and last words of a test of `make check`."""
    base = os.path.join(build, "tests", "e2e", test.removesuffix(".sh"))
    log, trs = lines_of(base + ".log"), lines_of(base + ".trs")
    if log is None or not trs:
        return "not run", ""
    result = trs[0].rsplit(" ", 1)[-1]
    said = [line for line in log if not NOISE.match(line)]
    return result, said[-1] if said else ""


def of_targets(files):
    """Label: (result, last line, how many passed, how many failed)."""
    all_of = {}
    for path in files:
        for line in lines_of(path) or []:
            fields = line.split("\t")
            if len(fields) != 4:
                sys.exit(f"{path}: not a line of results: {line}")
            _, result, label, said = fields
            before = all_of.get(label, ("", "", 0, 0))
            all_of[label] = (result, said, before[2] + (result == "PASS"),
                             before[3] + (result != "PASS"))
    return all_of


def row(build, targets, kind, test):
    if test == "-":
        return f"| {kind} | | no test yet | |"
    if test.endswith(".sh"):
        result, said = of_check(build, test)
        name = f"`{test}`"
    else:
        result, said, passed, failed = targets.get(test, ("not run", "", 0, 0))
        name = f"`make check-targets`: {test}"
        if passed + failed > 1:
            result = f"{result} ({passed} of {passed + failed})"
    said = re.sub(r"[|`<>]", " ", said).strip()
    return f"| {kind} | {name} | {result} | {said[:LONGEST]} |"


def table(build, targets):
    out, before = [], None
    for line in lines_of(os.path.join(HERE, "kinds.tsv")):
        group, kind, test = line.split("\t")
        if group != before:
            out += ["", f"**{group}**", "", "| target | test | result | what it said last |",
                    "|---|---|---|---|"]
            before = group
        out.append(row(build, targets, kind, test))
    return "\n".join(out[1:]) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--results", action="append", default=[])
    parser.add_argument("document")
    options = parser.parse_args()
    with open(options.document, encoding="utf-8") as f:
        text = f.read()
    if BEGIN not in text or END not in text:
        sys.exit(f"{options.document}: no place for the table")
    head, rest = text.split(BEGIN, 1)
    tail = rest.split(END, 1)[1]
    body = table(options.build, of_targets(options.results))
    with open(options.document, "w", encoding="utf-8") as f:
        f.write(head + BEGIN + "\n" + body + "\n" + END + tail)


main()
