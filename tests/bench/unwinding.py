# SPDX-License-Identifier: MIT
"""unwinding.py: how fast stack copies are unwound and addresses named, and whether rightly.

Prints what unwind_speed and symbols_speed.py print, and puts it into --document between its two
`unwinding` markers.
"""
import argparse
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
BEGIN = "<!-- unwinding: unwinding.py writes from here -->\n"
END = "<!-- unwinding: to here -->\n"


def run(*command):
    """Its output. It may fail where answers differ, which the output then shows."""
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False,
                          stdin=subprocess.DEVNULL)
    if not done.stdout:
        sys.exit(f"{command[0]} says nothing")
    return done.stdout


def section(options):
    load = os.getloadavg()[0]
    when = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())
    speed = run(os.path.join(options.tools, "unwind_speed"), "2")
    names = [sys.executable, os.path.join(HERE, "symbols_speed.py"), "--symbols",
             os.path.join(options.tools, "symbols"), "--cxx", options.cxx]
    if options.program:
        names += ["--program", options.program]
    return (f"\n{when}, load average {load:.1f} at the start.\n\n"
            f"Stack copies, each compared with libunwind (`unwind_speed`), CPU time:\n\n"
            f"```\n{speed}```\n\n"
            f"Names of addresses all over a C++ program (`symbols_speed.py`), CPU time:\n\n"
            f"```\n{run(*names)}```\n\n")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tools", required=True, help="the folder of unwind_speed and symbols")
    parser.add_argument("--cxx", default="c++")
    parser.add_argument("--program", help="instead of one that is made")
    parser.add_argument("--document", help="with markers, to be brought up to date")
    return parser.parse_args()


def main():
    options = parse_arguments()
    text = section(options)
    print(text)
    if not options.document:
        return
    with open(options.document, encoding="utf-8") as document:
        before, _, rest = document.read().partition(BEGIN)
    _, marker, after = rest.partition(END)
    if not marker:
        sys.exit(f"{options.document} has no place for it")
    with open(options.document, "w", encoding="utf-8") as document:
        document.write(before + BEGIN + text + END + after)


main()
