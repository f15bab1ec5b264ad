#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""server_tables.py FOLDER [--document FILE]: the newest run of servers.py as tables.

Of each pair the ratio of CPU time per request, watched by bare; the interval is that of the mean
of their logarithms, by Student's t: it says how far the mean of more pairs like these may be off.
"""
import math
import statistics

import tables
from tables import spread

BEGIN = "<!-- servers: server_tables.py writes from here -->"
END = "<!-- servers: to here -->"
# Student's t, 97.5 %, by degrees of freedom from 1 on; beyond them the normal distribution's.
STUDENT = (12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179,
           2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064,
           2.060, 2.056, 2.052, 2.048, 2.045, 2.042)
PERCENTILES = ("p50_us", "p90_us", "p99_us", "p999_us")
BUDGET = 1.0        # percent


def interval(ratios):
    """(mean, low, high) of ratios, in percent more than 1; None: there are too few."""
    if len(ratios) < 2:
        return None
    logs = [math.log(ratio) for ratio in ratios]
    freedom = len(logs) - 1
    t = STUDENT[freedom - 1] if freedom <= len(STUDENT) else 1.96
    middle, reach = statistics.mean(logs), t * statistics.stdev(logs) / math.sqrt(len(logs))
    return tuple((math.exp(value) - 1) * 100
                 for value in (middle, middle - reach, middle + reach))


def interval_text(ratios):
    found = interval(ratios)
    return "{:+.2f} % ({:+.2f} to {:+.2f})".format(*found) if found else "–"


def good_pairs(server):
    return [pair for pair in server["pairs"] if pair["watched"]["outcome"] == "ok"]


def target_ratios(server):
    return [pair["watched"]["cpu_ns"] / pair["bare"]["cpu_ns"] for pair in good_pairs(server)]


def all_ratios(server):
    return [(pair["watched"]["cpu_ns"] + pair["watched"]["tool_ns"]) / pair["bare"]["cpu_ns"]
            for pair in good_pairs(server)]


def verdict(server):
    found = interval(all_ratios(server))
    if not found or found[1] <= BUDGET < found[2]:
        return "can't be told"
    return "yes" if found[2] <= BUDGET else "no"


def failures(server):
    return tables.failures([pair["watched"] for pair in server["pairs"]]) or "none"


def of_watched(server, key):
    return [pair["watched"][key] for pair in good_pairs(server)]


def cpu_line(name, server):
    each = server["requests"]
    return [name, f"{len(good_pairs(server))} × {each:,}",
            spread([pair["bare"]["cpu_ns"] / each / 1e3 for pair in good_pairs(server)],
                   lambda us: f"{us:.1f}"),
            interval_text(target_ratios(server)), interval_text(all_ratios(server)),
            verdict(server),
            spread(of_watched(server, "own_percent"), lambda value: f"{value:.2f}"),
            spread(of_watched(server, "interval"), lambda value: f"{value / 1024:,.0f}"),
            spread([(pair["watched"]["tool_all_s"] - pair["watched"]["tool_ns"] / 1e9) * 1e3
                    for pair in good_pairs(server)], tables.whole), failures(server)]


def cpu_table(run):
    head = ["server", "pairs × requests", "CPU a request, bare, us", "server's, more",
            "with memattach's, more", "within 1 %", "own figure, %", "interval, KiB",
            "attach and report, ms CPU", "failures"]
    return tables.table(head, [cpu_line(name, server)
                               for name, server in run["servers"].items()])


def microseconds(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}"


def latency_line(name, server, side):
    rows = [pair[side] for pair in good_pairs(server)]
    return [name, side, *(spread([row[key] for row in rows], microseconds)
                          for key in PERCENTILES),
            spread([row["requests"] / row["wall"] for row in rows], tables.whole)]


def compared_line(name, server):
    """Watched by bare, pair by pair."""
    pairs = good_pairs(server)
    return [name, "watched by bare",
            *(spread([pair["watched"][key] / pair["bare"][key] for pair in pairs], tables.ratio)
              for key in PERCENTILES),
            spread([pair["bare"]["wall"] / pair["watched"]["wall"] for pair in pairs],
                   tables.ratio)]


def latency_table(run):
    head = ["server", "", "50 %", "90 %", "99 %", "99.9 %", "requests a second"]
    return tables.table(head, [line for name, server in run["servers"].items()
                               for line in (latency_line(name, server, "bare"),
                                            latency_line(name, server, "watched"),
                                            compared_line(name, server))])


def text_of(run):
    what = "\n".join(f"- {name}: {server['text']}; {server['connections']} connection"
                     f"{'s' if server['connections'] > 1 else ''}; {server['version']}"
                     for name, server in run["servers"].items())
    return "\n\n".join([
        tables.machine_text(run | {"attach": []}), what, "### CPU time per request",
        cpu_table(run), "### Latency, in microseconds", latency_table(run)]) + "\n"


if __name__ == "__main__":
    tables.write_section(lambda runs, _: text_of(runs[-1]), BEGIN, END)
