#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""program_tables.py FOLDER [--document FILE]: the newest run of programs.py as tables and charts.

Prints the tables and puts the charts beside the results; with --document both go into that
file's folder. Every ratio is taken inside a repetition, to the same program, threads and way
without the tool (with the same allocator, for those that are allocators themselves).
"""
import math
import os
import statistics

import chart
import tables
from configs import ATTACH, RUN
from tables import good, ratio, spread, whole

BEGIN = "<!-- programs: program_tables.py writes from here -->"
END = "<!-- programs: to here -->"
# What the charts show of each way: eight lines at the most.
CHARTED = ("memattach (default)", "memattach --exact", "memattach --sample=512K",
           "memattach --sample=4096", "heaptrack", "memattach --counts",
           "jemalloc, prof 512K", "tcmalloc, sampling 512K")
PICTURES = {RUN: "programs-run.svg", ATTACH: "programs-attached.svg"}
WORDS = {RUN: "from the start of each program", ATTACH: "attached before the work"}


# --- Figures -----------------------------------------------------------------

class Run:
    """A run's rows, found by what they are of."""

    def __init__(self, run):
        self.run, self.threads = run, run["threads"]
        self.programs = run["programs"]
        self.base = {config["name"]: config["base"] for config in run["configs"]}
        self.parts = {config["name"]: config["part"] for config in run["configs"]}
        self.exact = [config["name"] for config in run["configs"] if config["exact"]]
        self.found = {}
        for row in run["rows"]:
            self.found.setdefault(self.key(row), []).append(row)
        for row in good(run["rows"]):
            self.set_truth(row)

    def set_truth(self, row):
        """The work is the same each time: what counts is what the program says of itself
        without a tool. heaptrack, attached, sets pointers to malloc anew that the program had
        set to functions of its own, those of jansson: they count nothing any more."""
        for other in good(self.rows(row["program"], row["threads"], "nothing", row["way"])):
            if other["units"] == row["units"] and other["allocs"] != row["allocs"]:
                row |= {"allocs": other["allocs"], "frees": other["frees"], "bypassed": True}

    @staticmethod
    def key(row):
        return row["program"], row["threads"], row["config"], row["way"]

    def rows(self, program, threads, config, way):
        return self.found.get((program, threads, config, way), [])

    def all_rows(self, program, config, way):
        return [row for threads in self.threads
                for row in self.rows(program, threads, config, way)]

    def kinds(self):
        """(config, way) of all that was measured: from the start, then attached."""
        known = [config["name"] for config in self.run["configs"]]
        seen = {(row["config"], row["way"]) for row in self.run["rows"]}
        return [(name, way) for way in (RUN, ATTACH) for name in known if (name, way) in seen]

    def ratios(self, program, threads, kind, figure):
        """{repetition: ratio} to the base of the same repetition."""
        config, way = kind
        base = {row["repetition"]: row
                for row in good(self.rows(program, threads, self.base[config], way))}
        return {row["repetition"]: figure(row) / figure(base[row["repetition"]])
                for row in good(self.rows(program, threads, config, way))
                if row["repetition"] in base}

    def means(self, program, kind, figure):
        """Of each repetition that has them all: the mean ratio over the numbers of threads."""
        each = [self.ratios(program, threads, kind, figure) for threads in self.threads]
        return [statistics.mean(part[repetition] for part in each)
                for repetition in each[0] if all(repetition in part for part in each)]


def wall(row):
    return row["wall"] / row["part"]


def all_cpu(row):
    return (row["cpu"] + row.get("tool_cpu", 0)) / row["part"]


def name_of(run, kind):
    config, way = kind
    part = run.parts[config]
    return ((f"{config}, attached" if way == ATTACH else config) +
            ("" if part == 1 else f", {part:g} of the work"))


def median_text(values, unit):
    return tables.median_of([value for value in values if value is not None], unit)


def size_text(count):
    for unit, name in ((2**30, "GB"), (2**20, "MB"), (2**10, "kB")):
        if count >= unit:
            return f"{count / unit:.1f} {name}"
    return f"{count:.0f} B"


# --- One program ---------------------------------------------------------------

def pair_ns(run, program, kind):
    """CPU time added to each allocation and its free with the fewest threads, in ns."""
    threads = run.threads[0]
    config, way = kind
    base = {row["repetition"]: row
            for row in good(run.rows(program, threads, run.base[config], way))}
    rows = [row for row in good(run.rows(program, threads, config, way))
            if row["repetition"] in base]
    return [(row["cpu"] / row["allocs"] - base[row["repetition"]]["cpu"] /
             base[row["repetition"]]["allocs"]) * 1e9 for row in rows]


def program_line(run, program, kind):
    config, way = kind
    rows = run.all_rows(program, config, way)
    alone = config == run.base[config]
    figures = good(rows)
    return [name_of(run, kind),
            *(spread(run.ratios(program, threads, kind, wall).values(), ratio)
              for threads in run.threads),
            spread(run.means(program, kind, wall), ratio),
            spread(run.means(program, kind, all_cpu), ratio),
            "–" if alone else median_text(pair_ns(run, program, kind), nanoseconds),
            median_text([row["rss_kib"] for row in figures], tables.mebibytes),
            median_text([row["tool_kib"] or None for row in figures], tables.mebibytes),
            tables.failures(rows) or "none"]


def program_table(run, program):
    head = ["under", *(f"wall, P = {threads}" for threads in run.threads), "mean",
            "all CPU, mean", "ns a pair", "MiB, program", "MiB, tool", "failures"]
    base = good(run.rows(program, run.threads[0], "nothing", RUN))
    alone = (f"{whole(base[0]['allocs'])} allocations with P = {run.threads[0]}, alone "
             f"{spread([row['wall'] for row in base], tables.seconds)} s wall"
             if base else "no run without a tool ended")
    return (f"#### {program}\n\n{run.programs[program]['text']}; {alone}.\n\n" +
            tables.table(head, [program_line(run, program, kind) for kind in run.kinds()]))


# --- All programs ----------------------------------------------------------------

def geometric(values):
    values = [value for value in values if value]
    return math.exp(statistics.mean(map(math.log, values))) if values else None


def mean_of(run, program, kind, figure):
    means = run.means(program, kind, figure)
    return statistics.median(means) if means else None


def summary_table(run, figure):
    """Of every program the mean over P, and the geometric mean of them all."""
    lines = []
    for kind in run.kinds():
        if kind[0] == run.base[kind[0]]:
            continue
        means = [mean_of(run, program, kind, figure) for program in run.programs]
        every = geometric(means) if all(means) else None
        lines.append([name_of(run, kind),
                      *(ratio(mean) if mean else "–" for mean in means),
                      ratio(every) if every else "–"])
    return tables.table(["under", *run.programs, "geometric mean"], lines)


def pair_table(run):
    """CPU time added to each allocation and its free, in the program, with the fewest threads."""
    lines = [[name_of(run, kind), *(spread(pair_ns(run, program, kind), nanoseconds)
                                    for program in run.programs)]
             for kind in run.kinds() if kind[0] != run.base[kind[0]]
             and kind[0] not in run.base.values()]
    return tables.table(["under", *run.programs], lines)


def nanoseconds(value):
    return f"{value:.1f}" if abs(value) < 10 else f"{value:.0f}"


def added_ratios(run, config, program, threads, way):
    """What heaptrack adds to the wall time by what config adds, of each repetition."""
    peer, own = (run.ratios(program, threads, (name, way), wall)
                 for name in ("heaptrack", config))
    return [(peer[number] - 1) / (own[number] - 1) for number in peer
            if own.get(number, 0) > 1]


def added_table(run, config):
    lines = [[program, *(spread(added_ratios(run, config, program, threads, way), ratio)
                         for way in (RUN, ATTACH) for threads in run.threads)]
             for program in run.programs]
    head = [f"P = {threads}{', attached' if way == ATTACH else ''}"
            for way in (RUN, ATTACH) for threads in run.threads]
    return tables.table(["program", *head], lines)


def output_table(run):
    lines = []
    for kind in run.kinds():
        cells = [median_text([row["out_bytes"] or None
                              for row in good(run.all_rows(program, *kind))], size_text)
                 for program in run.programs]
        if any(cell != "–" for cell in cells):
            lines.append([name_of(run, kind), *cells])
    return tables.table(["under", *run.programs], lines)


def miscounted(row):
    """By how many calls, allocations or frees, a tool's counts are off; None: it has none."""
    if "seen" not in row:
        return None
    beside = row.get("offset", [0, 0])
    return max(abs(row["seen"] + row.get("lost", 0) - beside[0] - row["allocs"]),
               abs(row["seen_frees"] + row.get("lost_frees", 0) - beside[1] - row["frees"]))


def count_text(rows):
    off = [miscounted(row) for row in good(rows)]
    known = [number for number in off if number is not None]
    if not known:
        return "–"
    wrong = [number for number in known if number]
    lost = max(row.get("lost", 0) / row["allocs"] for row in good(rows) if "lost" in row)
    said = f"{len(known)} of {len(off)} equal" if not wrong else \
        f"{len(wrong)} of {len(known)} off by up to {whole(max(wrong))}"
    if any(row.get("bypassed") for row in good(rows)):
        said += "; calls go past the program's own functions"
    return said + (f", {lost:.1%} counted as lost" if lost else "")


def count_table(run):
    kinds = [kind for kind in run.kinds() if kind[0] in run.exact]
    return tables.table(
        ["program", *(name_of(run, kind) for kind in kinds)],
        [[program, *(count_text(run.all_rows(program, *kind)) for kind in kinds)]
         for program in run.programs])


# --- The text ----------------------------------------------------------------

def picture(run, way):
    """The chart of one way; None: nothing was measured that way."""
    names = [name for name in CHARTED if (name, way) in run.kinds()]
    if not names:
        return None
    panels = []
    for program in run.programs:
        lines = {}
        for name in names:
            each = [run.ratios(program, threads, (name, way), wall).values()
                    for threads in run.threads]
            lines[name] = [statistics.median(values) if values else None for values in each]
            lines[name].append(mean_of(run, program, (name, way), wall))
        panels.append((program, lines))
    labels = [*map(str, run.threads), chart.MEAN]
    return chart.draw(f"Wall time by number of threads, 1 = no tool; {WORDS[way]}",
                      panels, labels, names)


def write_pictures(run, folder):
    written = []
    for way, name in PICTURES.items():
        drawn = picture(run, way)
        if drawn:
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(drawn)
            written.append(name)
    return written


def machine_text(run):
    """As of all runs, and what is of these only."""
    scaled = run.run["scale"] if run.run["scale"] else 1
    lines = [tables.machine_text(run.run | {"scale": scaled, "attach": []})]
    if not run.run["scale"]:
        lines.append("Each program in its full form.")
    if run.run["left_out"]:
        lines.append("Not here, left out: " + ", ".join(run.run["left_out"]) + ".")
    return "\n".join(lines)


def text_of(run, pictures):
    shown = "\n\n".join(f"![Wall time, {name}](pictures/{name})" for name in pictures)
    return "\n\n".join([
        machine_text(run), shown,
        "### Wall time, mean over P", summary_table(run, wall),
        "### CPU time of program and tool, mean over P", summary_table(run, all_cpu),
        "### CPU time added to an allocation and its free, in ns, P = "
        f"{run.threads[0]}", pair_table(run),
        "### Wall time that heaptrack adds, by what `--exact` adds, which drops and counts",
        added_table(run, "memattach --exact, drops"),
        "### The same, by what `--exact --on-overflow=block` adds, which has it all",
        added_table(run, "memattach --exact"),
        "### Counts against the truth", count_table(run),
        "### Size of the output", output_table(run), "### Each program",
        *(program_table(run, program) for program in run.programs)]) + "\n"


def section(runs, folder):
    run = Run(runs[-1])
    return text_of(run, write_pictures(run, folder))


if __name__ == "__main__":
    tables.write_section(section, BEGIN, END)
