#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""leaks.py MARK [DOCUMENT]: what a leak report costs: how long it stops the target, how fast a heap
is searched, and with how much memory.

MARK is the built leak_mark. Prints what leak_pause.py and MARK print, and puts it into the
document between its two `leaks` markers.
"""
import os
import sys

import printed

HERE = os.path.dirname(os.path.abspath(__file__))
BEGIN = "<!-- leaks: leaks.py writes from here -->\n"
END = "<!-- leaks: to here -->\n"


def section(mark):
    head = printed.moment()
    pause = printed.run(sys.executable, os.path.join(HERE, "leak_pause.py"))
    speed = printed.run(mark, "512")
    return (f"{head}How long the target stood still for the picture, seven reports each:\n\n"
            f"```\n{pause}```\n\n"
            f"How fast a heap of 512 MiB is marked, and with how much memory (`leak_mark`):\n\n"
            f"```\n{speed}```\n\n")


def main(arguments):
    if not 1 <= len(arguments) <= 2:
        sys.exit(__doc__)
    text = section(arguments[0])
    print(text)
    if len(arguments) == 2:
        printed.put(text, arguments[1], BEGIN, END)


main(sys.argv[1:])
