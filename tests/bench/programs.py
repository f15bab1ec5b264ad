#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""programs.py --programs DIR --results DIR: programs that allocate, with 1 to 8 threads,
under every configuration of configs.py; into a JSON file, whose name it prints.

Repetition by repetition, program by program, every configuration in an order that shifts: a
ratio is taken between neighbours in time. Configurations that record every call are also run
without work, so that what a process allocates beside its work is known.
"""
import argparse
import math
import os
import signal
import sys
import tempfile
import time

import configs
import measure
import runner
import watched
from configs import ATTACH, RUN

SCHEMA = 1
LEAST_DEPTH = 4         # that binary_trees takes
FULL_PATIENCE = 1800.0  # seconds for a run of the full form

# units: the full form. usual: the part of it that takes half a second to a second with no tool.
PROGRAMS = {
    "threadtest": {"units": 1000, "usual": 0.25,
                   "text": "each thread: rounds of allocating 30,000/P objects of 64 bytes, "
                           "and of freeing them"},
    "linux_scalability": {"units": 10000000, "usual": 0.1,
                          "text": "each thread: so many allocations of 32 bytes, then their "
                                  "frees; the work grows with P"},
    "shbench": {"units": 2000000, "usual": 3.0,
                "text": "random sizes from 1 to 1,000 bytes in 1,000 slots a thread"},
    "binary_trees": {"units": 15, "usual": 1.0, "depth": True,
                     "text": "trees of a depth up to 15, one node an allocation"},
    "hash_table": {"units": 7000000, "usual": 0.1,
                   "text": "insertions of arrays of 8 to 512 bytes, all freed at the end"},
    "parse_json": {"units": 500000, "usual": 0.1,
                   "text": "jansson parses a generated file and frees the result"},
    "queue": {"units": 30000000, "usual": 0.05,
              "text": "random pushes and pops of objects of 16 to 256 bytes"},
    "deep_slots": {"units": 20000000, "usual": 0.2,
                   "text": "20,000 live blocks a thread, 13 frames deep on 64 call paths"},
}


def units_of(name, scale, part):
    """scale: 1 is the usual work; None: the full form."""
    program = PROGRAMS[name]
    share = (program["usual"] * scale if scale else 1.0) * part
    if program.get("depth"):
        # Each level doubles the work.
        return max(LEAST_DEPTH, program["units"] + round(min(0.0, math.log2(share))))
    return max(1, int(program["units"] * share))


def built(folder):
    """The programs that are there, in the order of the table."""
    return [name for name in PROGRAMS if os.access(os.path.join(folder, name), os.X_OK)]


class Measurement:
    """All runs of one call, and where their figures go."""

    def __init__(self, tools, options):
        self.tools, self.options, self.rows = tools, options, []
        self.configs = [row for row in configs.here(tools)
                        if not options.under or row.name in options.under]
        self.offsets = {}

    def row(self, kind, config, way, name, threads):
        """One run. kind is the repetition."""
        units = units_of(name, self.options.scale, config.part)
        one = watched.run if way == RUN else watched.attached
        row = one(self.tools, config, name, units, [threads])
        if config.exact and way == RUN:
            row["offset"] = self.offset(config, name, threads)
        row |= {"program": name, "threads": threads, "config": config.name, "way": way,
                "repetition": kind, "part": config.part, "units": units}
        self.rows.append(row)
        measure.note(f"  {name} {threads}, {way}, {config.name}: {row['outcome']}, "
                     f"{row.get('wall', 0):.3f} s")
        if row["outcome"] != "ok" and row.get("complaint"):
            measure.note("    " + row["complaint"].strip().splitlines()[-1])

    def offset(self, config, name, threads):
        """(allocations, frees) that the tool counts beside the work, in a run without any."""
        key = (config.name, name, threads)
        if key not in self.offsets:
            least = LEAST_DEPTH if PROGRAMS[name].get("depth") else 0
            row = watched.run(self.tools, config, name, least, [threads])
            self.offsets[key] = [row.get("seen", 0) - row.get("allocs", 0),
                                 row.get("seen_frees", 0) - row.get("frees", 0)]
        return self.offsets[key]

    def wanted(self, repetition, way):
        rows = [row for row in self.configs if way in row.ways
                and not (row.slow and repetition)
                and not (row.slow and self.options.quick)]
        if way == ATTACH:
            rows = [row for row in rows if configs.can_attach(self.tools, row)]
        return measure.rotated(rows, repetition)

    def repetition(self, number):
        for name in self.options.only:
            for threads in self.options.threads:
                for way in self.options.ways:
                    for config in self.wanted(number, way):
                        self.row(number, config, way, name, threads)


def measure_all(tools, options):
    known = measure.versions(tools)
    run = {"schema": SCHEMA, "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
           "machine": measure.machine(), "versions": known, "scale": options.scale,
           "repetitions": options.repetitions, "threads": options.threads,
           "programs": {name: PROGRAMS[name] for name in options.only},
           "load_begin": os.getloadavg()[0]}
    began = time.monotonic()
    what = Measurement(tools, options)
    run["configs"] = [{"name": row.name, "base": row.base, "part": row.part,
                       "exact": row.exact} for row in what.configs]
    run["left_out"] = [row.name for row in configs.CONFIGS if row not in what.configs]
    for repetition in range(options.repetitions):
        measure.note(f"repetition {repetition + 1} of {options.repetitions}")
        what.repetition(repetition)
    return run | {"rows": what.rows, "load_end": os.getloadavg()[0],
                  "took_s": time.monotonic() - began}


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", required=True, help="folder of the built programs")
    parser.add_argument("--results", required=True, help="folder for the figures")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--threads", default="1,2,4,8")
    parser.add_argument("--scale", type=float, default=1.0, help="part of the usual work")
    parser.add_argument("--full", action="store_true", help="the full form of each program")
    parser.add_argument("--quick", action="store_true", help="only what is fast")
    parser.add_argument("--patience", type=float, help="seconds that one run may take")
    parser.add_argument("--only", nargs="*", help="these programs")
    parser.add_argument("--under", nargs="*", help="these rows of configs.py")
    parser.add_argument("--ways", nargs="*", default=[RUN, ATTACH], help="run, attached")
    options = parser.parse_args()
    watched.patience = options.patience or (FULL_PATIENCE if options.full else watched.patience)
    options.threads = [int(number) for number in options.threads.split(",")]
    options.only = [name for name in built(options.programs)
                    if not options.only or name in options.only]
    if options.full:
        options.scale = None
    return options


def main():
    options = parse()
    runner.adopt_orphans()
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: sys.exit(1))
    with tempfile.TemporaryDirectory(prefix="memattach-bench-work.") as work:
        tools = measure.find_tools(options.programs, work, ("ringwatch", *options.only))
        try:
            run = measure_all(tools, options)
        finally:
            runner.end_all()
        print(measure.save(run, options.results))


if __name__ == "__main__":
    main()
