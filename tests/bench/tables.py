#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tables.py FOLDER [--document FILE]: the newest run as tables, and all runs in one line each.

Prints them; with --document also replaces what stands between the markers of that file. A figure
is the median of the repetitions, with the smallest and the largest in brackets. A ratio is taken
inside each repetition, to what ran without a tool in the same one.
"""
import argparse
import glob
import json
import os
import statistics

BEGIN = "<!-- measured: tables.py writes from here -->"
END = "<!-- measured: to here -->"
RUNS_SHOWN = 10


# --- Figures -----------------------------------------------------------------

def spread(values, unit):
    """Median (smallest to largest), each by the function unit; a dash if there are none."""
    values = [value for value in values if value is not None]
    if not values:
        return "–"
    low, high = unit(min(values)), unit(max(values))
    middle = unit(statistics.median(values))
    return middle if low == high else f"{middle} ({low}–{high})"


def milliseconds(us):
    ms = us / 1000
    return f"{ms:.2f}" if ms < 10 else f"{ms:.0f}"


def ratio(value):
    return f"{value:.2f}" if value < 10 else f"{value:.0f}"


def mebibytes(kib):
    return f"{kib / 1024:.0f}"


def seconds(value):
    return f"{value:.2f}"


def whole(value):
    return f"{value:,.0f}"


def table(head, rows):
    lines = ["| " + " | ".join(row) + " |" for row in [head, *rows]]
    return "\n".join([lines[0], "|" + "---|" * len(head), *lines[1:]])


def failures(rows):
    """How many ended in another way than they should, and how; "" if none did."""
    bad = [row["outcome"] for row in rows if row.get("outcome", "ok") != "ok"]
    bad += [f"target {row['target_end']}" for row in rows if row.get("target_end", "ok") != "ok"]
    kinds = sorted(set(bad))
    return "; ".join(f"{bad.count(kind)} of {len(rows)}: {kind}" for kind in kinds)


def good(rows):
    return [row for row in rows if row.get("outcome", "ok") == "ok"]


# --- The machine -------------------------------------------------------------

def machine_text(run):
    m, tools = run["machine"], run["versions"]
    missing = [name for name, version in tools.items() if not version]
    lines = [
        f"{run['date']}, {m['cpu']}, {m['cores']} cores{', virtual' if m['virtual'] else ''}, "
        f"{m['memory_gib']} GiB, Linux {m['kernel']}, {m['libc']}; load average "
        f"{run['load_begin']:.1f} at the start, {run['load_end']:.1f} at the end; "
        f"{run['repetitions']} repetitions in {run['took_s']:.0f} s.",
        "Versions: " + "; ".join(version for version in tools.values() if version) + "."]
    if run["scale"] != 1:
        lines.append(f"Work shortened to {run['scale']:g} of the usual: not for comparison.")
    if not all(row.get("realtime", True) for row in run["attach"]):
        lines.append("The target's threads could not be made real-time ones: that they had to wait "
                     "for a CPU counts as held.")
    if missing:
        lines.append("Not installed, left out: " + ", ".join(missing) + ".")
    return "\n".join(lines)


# --- Attach ------------------------------------------------------------------

def attach_rows(run, target, tool):
    return [row for row in run["attach"] if (row["target"], row["tool"]) == (target, tool)]


def gaps(rows, window):
    return spread([row["gap_us"].get(window) for row in good(rows) if "gap_us" in row],
                  milliseconds)


def left_text(rows):
    left = [row["left"] for row in good(rows) if row.get("left")]
    words = {"maps": "map lines", "threads": "threads", "fds": "descriptors"}
    found = [f"{max(item[key] for item in left)} {word}" for key, word in words.items()
             if left and max(item[key] for item in left) > 0]
    return ", ".join(found) or "nothing"


def attach_line(run, target, tool):
    rows = attach_rows(run, target, tool)
    first = attach_rows(run, target, "memattach, first snapshot") if tool == "memattach" else rows
    own = [spread([row.get(key) for row in good(rows)], milliseconds)
           for key in ("attach_stop_us_max", "detach_stop_us_max")]
    ends = [{"outcome": row.get("outcome", "ok"), "target_end": row["target_end"]}
            for row in rows + (first if first is not rows else [])]
    return [target, tool, gaps(rows, "attach"), own[0], gaps(rows, "watched"),
            gaps(rows, "detach"), own[1],
            spread([row.get("first_ms", 0) * 1000 or None for row in good(first)], milliseconds),
            left_text(rows) if tool != "nothing" else "–", failures(ends) or "none"]


def attach_table(run):
    pairs = dict.fromkeys((row["target"], row["tool"]) for row in run["attach"])
    tools = ("nothing", "memattach", "heaptrack")
    targets = dict.fromkeys(target for target, _ in pairs)
    head = ["target", "tool", "held at attach", "own figure", "while watched", "held at detach",
            "own figure", "until first snapshot", "left behind", "failures"]
    lines = [attach_line(run, target, tool) for target in targets for tool in tools
             if (target, tool) in pairs]
    return "In milliseconds.\n\n" + table(head, lines)


# --- Overhead ----------------------------------------------------------------

def overhead_rows(run, program, way, config):
    return [row for row in run["overhead"]
            if (row["program"], row["way"], row["config"]) == (program, way, config)]


def wall(row):
    return row["wall"] / row["part"]


def program_cpu(row):
    return row["cpu"] / row["part"]


def all_cpu(row):
    return row["cpu"] + row["tool_cpu"]


def ratios(rows, base, figure):
    """figure(row) by that of base's row of the same repetition."""
    known = {row["repetition"]: row for row in good(base)}
    return [figure(row) / figure(known[row["repetition"]]) for row in good(rows)
            if row["repetition"] in known]


def lost_text(rows):
    """How many of the allocations found no room in the ring."""
    shares = [row["lost"] / row["allocs"] for row in good(rows) if "lost" in row]
    return spread(shares, lambda share: "0" if share == 0 else
                  "<0.1%" if share < 0.001 else f"{share:.1%}")


def overhead_line(run, program, way, config):
    rows = overhead_rows(run, program, way, config)
    base = overhead_rows(run, program, way, "nothing")
    part = rows[0]["part"]
    name = config if part == 1 else f"{config}, {part:g} of the work, scaled"
    figures = good(rows)
    # Valgrind is one process with the program, and its start would not scale with the work.
    with_tool = all_cpu if part == 1 else program_cpu
    return [name, *(spread(ratios(rows, base, figure), ratio)
                    for figure in (wall, program_cpu, with_tool)),
            spread([row["rss_kib"] for row in figures], mebibytes),
            spread([row["tool_kib"] or None for row in figures], mebibytes),
            spread([row.get("seen") for row in figures], whole), lost_text(rows),
            spread([row.get("blocked_s") for row in figures], seconds), failures(rows) or "none"]


def compared(run, program, way):
    """heaptrack by memattach --exact: both record every event."""
    peer = overhead_rows(run, program, way, "heaptrack")
    exact = overhead_rows(run, program, way, "memattach --exact")
    if not good(peer) or not good(exact):
        return ""
    return (f"\n\nheaptrack by `memattach --exact`: wall "
            f"{spread(ratios(peer, exact, wall), ratio)}, all CPU "
            f"{spread(ratios(peer, exact, all_cpu), ratio)}.")


def overhead_table(run, program, way):
    configs = dict.fromkeys(row["config"] for row in run["overhead"]
                            if (row["program"], row["way"]) == (program, way))
    base = good(overhead_rows(run, program, way, "nothing"))
    head = ["under", "wall", "CPU, program", "CPU, with the tool's", "peak MiB, program",
            "peak MiB, tool", "allocations recorded", "lost", "waited, s", "failures"]
    began = ("from its start" if way == "run" else "attached before the work, `-p PID`")
    made = f"{whole(base[0]['allocs'])} allocations" if base else "no run without a tool ended"
    return (f"### {program}, {began}\n\n{run['programs'][program]['text']}; {made}, alone "
            f"{spread([row['wall'] for row in base], seconds)} s wall, "
            f"{spread([row['cpu'] for row in base], seconds)} s CPU.\n\n" +
            table(head, [overhead_line(run, program, way, config) for config in configs]) +
            compared(run, program, way))


def overhead_tables(run):
    kinds = dict.fromkeys((row["program"], row["way"]) for row in run["overhead"])
    kinds = sorted(kinds, key=lambda kind: kind[1] != "run")
    return "\n\n".join(overhead_table(run, program, way) for program, way in kinds)


# --- All runs ----------------------------------------------------------------

def median_of(values, unit):
    return unit(statistics.median(values)) if values else "–"


def history_line(run):
    held = [median_of([row["gap_us"]["attach"] for row in good(
        attach_rows(run, "busy target", tool)) if "gap_us" in row], milliseconds)
        for tool in ("memattach", "heaptrack")]
    walls = [" ".join(median_of(ratios(overhead_rows(run, program, "run", config),
                                       overhead_rows(run, program, "run", "nothing"), wall),
                                ratio) for program in run["programs"])
             for config in ("memattach --sample=512K", "memattach --exact", "heaptrack")]
    version = (run["versions"]["memattach"] or "–").removeprefix("memattach ").split()[0]
    return [run["date"], version, f"{run['load_begin']:.1f}", *held, *walls]


def history(runs):
    programs = ", ".join(runs[-1]["programs"])
    head = ["run", "version", "load", "memattach holds", "heaptrack holds",
            "wall `--sample=512K`", "wall `--exact`", "wall heaptrack"]
    return (f"Medians. Held at attach, in milliseconds: busy target. Wall: {programs}, each from "
            "its start.\n\n" +
            table(head, [history_line(run) for run in runs[-RUNS_SHOWN:]]))


# --- The document ------------------------------------------------------------

def text_of(runs):
    run = runs[-1]
    return "\n\n".join([
        "## The run", machine_text(run), "## Attach and detach", attach_table(run),
        "## Cost", overhead_tables(run), "## Runs so far", history(runs)]) + "\n"


def replace_in(path, text, begin=BEGIN, end=END):
    with open(path, encoding="utf-8") as file:
        before, rest = file.read().split(begin)
    after = rest.split(end)[1]
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{before}{begin}\n\n{text}\n{end}{after}")


def load(folder):
    runs = []
    for path in sorted(glob.glob(os.path.join(folder, "*.json"))):
        with open(path, encoding="utf-8") as file:
            runs.append(json.load(file))
    return runs


def write_section(text_of, begin=BEGIN, end=END):
    """The command line of what writes tables: text_of(runs, folder for pictures) is printed, and
    put between the document's markers."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", help="of the results")
    parser.add_argument("--document", help="with markers, to be brought up to date")
    options = parser.parse_args()
    runs = load(options.folder)
    if not runs:
        parser.exit(1, "no results\n")
    pictures = options.folder
    if options.document:
        pictures = os.path.join(os.path.dirname(options.document), "pictures")
    text = text_of(runs, pictures)
    print(text)
    if options.document:
        replace_in(options.document, text, begin, end)


if __name__ == "__main__":
    write_section(lambda runs, _: text_of(runs))
