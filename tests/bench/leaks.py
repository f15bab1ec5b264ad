#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""leaks.py MARK [DOCUMENT]: what a leak report costs: how long it stops the target, how fast a heap
is searched, and with how much memory.

MARK is the built leak_mark. Prints what leak_pause.py and MARK print, and puts it into the
document between its two `leaks` markers.
"""
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
BEGIN = "<!-- leaks: leaks.py writes from here -->\n"
END = "<!-- leaks: to here -->\n"


def run(*command):
    """Its output; it may fail where a limit is not kept, which the output then shows."""
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False,
                          stdin=subprocess.DEVNULL)
    if not done.stdout:
        sys.exit(f"{command[0]} says nothing")
    return done.stdout


def section(mark):
    load = os.getloadavg()[0]
    pause = run(sys.executable, os.path.join(HERE, "leak_pause.py"))
    speed = run(mark, "512")
    when = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())
    return (f"\n{when}, load average {load:.1f} at the start.\n\n"
            f"How long the target stood still for the picture, seven reports each:\n\n"
            f"```\n{pause}```\n\n"
            f"How fast a heap of 512 MiB is marked, and with how much memory (`leak_mark`):\n\n"
            f"```\n{speed}```\n\n")


def main(arguments):
    if not 1 <= len(arguments) <= 2:
        sys.exit(__doc__)
    text = section(arguments[0])
    print(text)
    if len(arguments) < 2:
        return
    with open(arguments[1], encoding="utf-8") as document:
        before, _, rest = document.read().partition(BEGIN)
    old, marker, after = rest.partition(END)
    if not marker:
        sys.exit(f"{arguments[1]} has no place for it")
    del old
    with open(arguments[1], "w", encoding="utf-8") as document:
        document.write(before + BEGIN + text + END + after)


main(sys.argv[1:])
