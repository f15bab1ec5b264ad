# SPDX-License-Identifier: MIT
"""unwinding.py: how fast stack copies are unwound and addresses named, and whether rightly.

Prints what unwind_speed and symbols_speed.py print, and puts it into --document between its two
`unwinding` markers.
"""
import argparse
import os
import sys

import printed

HERE = os.path.dirname(os.path.abspath(__file__))
BEGIN = "<!-- unwinding: unwinding.py writes from here -->\n"
END = "<!-- unwinding: to here -->\n"


def section(options):
    head = printed.moment()
    speed = printed.run(os.path.join(options.tools, "unwind_speed"), "2")
    names = [sys.executable, os.path.join(HERE, "symbols_speed.py"), "--symbols",
             os.path.join(options.tools, "symbols"), "--cxx", options.cxx]
    if options.program:
        names += ["--program", options.program]
    return (f"{head}Stack copies, each compared with libunwind (`unwind_speed`), CPU time:\n\n"
            f"```\n{speed}```\n\n"
            f"Names of addresses all over a C++ program (`symbols_speed.py`), CPU time:\n\n"
            f"```\n{printed.run(*names)}```\n\n")


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
    if options.document:
        printed.put(text, options.document, BEGIN, END)


main()
