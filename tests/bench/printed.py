# SPDX-License-Identifier: MIT
"""printed.py: what measuring programs print, put into a document as it is."""
import os
import subprocess
import sys
import time


def run(*command):
    """Its output; it may fail where a limit is not kept, or answers differ, which that shows."""
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False,
                          stdin=subprocess.DEVNULL)
    if not done.stdout:
        sys.exit(f"{command[0]} says nothing")
    return done.stdout


def moment():
    """When, and how busy the machine is: before the first is run."""
    when = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())
    return f"\n{when}, load average {os.getloadavg()[0]:.1f} at the start.\n\n"


def put(text, path, begin, end):
    """Between two markers of the document at path; what stood there goes."""
    with open(path, encoding="utf-8") as document:
        before, _, rest = document.read().partition(begin)
    _, marker, after = rest.partition(end)
    if not marker:
        sys.exit(f"{path} has no place for it")
    with open(path, "w", encoding="utf-8") as document:
        document.write(before + begin + text + end + after)
