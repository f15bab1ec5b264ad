#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""allocator_tables.py FOLDER [--document FILE]: the newest run of allocators.py as a table and a
chart, which is put beside the results, or into the pictures of the document."""
import os
import statistics

import chart
import tables
from tables import good

BEGIN = "<!-- allocators: allocator_tables.py writes from here -->"
END = "<!-- allocators: to here -->"
PICTURE = "allocators.svg"
CHARTED = ("memattach (default)", "memattach --exact", "memattach --sample=512K")


class Run:
    """A run's rows, found by what they are of."""

    def __init__(self, run):
        self.run = run
        self.allocators, self.configs, self.rounds = (
            list(dict.fromkeys(row[key] for row in run["rows"]))
            for key in ("allocator", "config", "rounds"))
        # The order of a later repetition is another.
        self.configs.sort(key=lambda name: (name != "nothing", name))

    def rows(self, allocator, config, rounds):
        return [row for row in self.run["rows"] if (row["allocator"], row["config"],
                                                    row["rounds"]) == (allocator, config, rounds)]

    def ns(self, allocator, config, rounds):
        """CPU time of the program for a round, in ns, of each repetition."""
        return {row["repetition"]: row["cpu"] * 1e9 / rounds
                for row in good(self.rows(allocator, config, rounds))}

    def median(self, allocator, config, rounds):
        values = self.ns(allocator, config, rounds).values()
        return statistics.median(values) if values else None

    def added(self, allocator, config):
        """What is added to a round in the longest run, in ns, of each repetition."""
        alone = self.ns(allocator, "nothing", self.rounds[-1])
        return [value - alone[number]
                for number, value in self.ns(allocator, config, self.rounds[-1]).items()
                if number in alone]


def count_word(count):
    for unit, name in ((1000000, "M"), (1000, "k")):
        if count >= unit:
            return f"{count / unit:g}{name}"
    return str(count)


def nanoseconds(value):
    return f"{value:.1f}" if abs(value) < 100 else f"{value:.0f}"


def miscounted(run, allocator, config):
    """Of the runs that recorded every call: how many did not count as the program does."""
    if config != "memattach --exact":
        return "–"
    rows = [row for rounds in run.rounds for row in good(run.rows(allocator, config, rounds))]
    wrong = [row for row in rows if row["seen"] + row["lost"] != row["allocs"]]
    return f"{len(rows) - len(wrong)} of {len(rows)} equal"


def line(run, allocator, config):
    every = [row for rounds in run.rounds for row in run.rows(allocator, config, rounds)]
    return [allocator, config,
            *(nanoseconds(value) if value else "–" for value in
              (run.median(allocator, config, rounds) for rounds in run.rounds)),
            "–" if config == "nothing" else tables.spread(run.added(allocator, config),
                                                          nanoseconds),
            miscounted(run, allocator, config), tables.failures(every) or "none"]


def picture(run):
    panels = [(allocator, {config: [run.median(allocator, config, rounds)
                                    for rounds in run.rounds] for config in run.configs})
              for allocator in run.allocators]
    # In the colours that they have in the charts of programs.
    names = sorted(run.configs, key=lambda name: (name not in CHARTED, name))
    return chart.draw("CPU time of the program for a round, in ns, by the number of rounds",
                      panels, [count_word(count) for count in run.rounds], names)


def text_of(run):
    head = ["malloc of", "under", *(count_word(count) for count in run.rounds), "added",
            "counts", "failures"]
    lines = [line(run, allocator, config) for allocator in run.allocators
             for config in run.configs]
    return "\n\n".join([tables.machine_text(run.run | {"attach": []}),
                        f"![CPU time for a round](pictures/{PICTURE})",
                        tables.table(head, lines)]) + "\n"


def section(runs, folder):
    run = Run(runs[-1])
    with open(os.path.join(folder, PICTURE), "w", encoding="utf-8") as file:
        file.write(picture(run))
    return text_of(run)


if __name__ == "__main__":
    tables.write_section(section, BEGIN, END)
