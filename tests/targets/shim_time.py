#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""shim_time.py PERF_DATA SHIM: where a watched program's time goes, of samples by `perf record`.

Prints milliseconds: in the shim's recognition (from where the stack ends to the path's name), in
the rest of the shim, in everything. The shim is a file without a name, so perf has no symbols for
it: what it maps, and nm of the shim, tell.
"""
import bisect
import re
import subprocess
import sys

RECOGNITION = re.compile(
    r"shim_path_|shim_recall|shim_rule|shadow_|step_guess|shim_stack_proven|proven_bytes|probe")
MAPPED = re.compile(r"MMAP2? .*: \[0x([0-9a-f]+)\(0x([0-9a-f]+)\) @ (0x[0-9a-f]+|0) .*"
                    r"r-xp /memfd:memattach-shim")
SAMPLE = re.compile(r"\s+([0-9]+) +([0-9a-f]+) ")


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, errors="replace",
                          check=True).stdout


class Shim:
    """Its functions, and where it is mapped."""

    def __init__(self, path):
        rows = [line.split() for line in run("nm", path).splitlines()]
        rows = sorted((int(row[0], 16), row[2]) for row in rows if len(row) == 3 and row[1] in "tT")
        self.starts, self.names = [row[0] for row in rows], [row[1] for row in rows]
        self.maps = []

    def map(self, start, size, offset):
        self.maps.append((start, start + size, offset))

    def function(self, address):
        """None: not the shim's. Its text lies in the file where it lies in memory."""
        for start, end, offset in self.maps:
            if start <= address < end:
                at = bisect.bisect_right(self.starts, address - start + offset) - 1
                return self.names[at] if at >= 0 else ""
        return None


def main():
    data, shim = sys.argv[1], Shim(sys.argv[2])
    recognition = rest = everything = 0
    for line in run("perf", "script", "-i", data, "-F", "period,ip", "--show-mmap-events",
                    ).splitlines():
        if mapped := MAPPED.search(line):
            shim.map(int(mapped[1], 16), int(mapped[2], 16), int(mapped[3], 16))
        elif sample := SAMPLE.match(line + " "):
            nanoseconds, name = int(sample[1]), shim.function(int(sample[2], 16))
            everything += nanoseconds
            if name is not None and RECOGNITION.match(name):
                recognition += nanoseconds
            elif name is not None:
                rest += nanoseconds
    print(*(f"{n / 1e6:.1f}" for n in (recognition, rest, everything)))


if __name__ == "__main__":
    main()
