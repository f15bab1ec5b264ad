#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_export.py READER REPORT OUTPUT [EVENT]
MERGED, in the environment: so many blocks are one event in heaptrack's file, where there are many.

Compares what another tool printed of an export with the document of `memattach report --json`
of the same recording: the figures of each stack, or of each function where the tool prints no
stacks. Blocks only, as the exports are made.
"""
import collections
import csv
import json
import os
import re
import sys

MERGED = int(os.environ.get("MERGED") or 1)
FIGURES = ("alloc_count", "alloc_bytes", "live_count", "live_bytes")


def fail(text):
    sys.exit(f"{sys.argv[1]}: {text}")


def title(frame):
    if frame["function"]:
        return frame["function"]
    return f"{frame['module'].rsplit('/', 1)[-1]}+0x{frame['offset']:x}"


def stack(site):
    """Innermost first."""
    return tuple(title(frame) for frame in site["frames"])


def expected(report, key, figures):
    sums = collections.defaultdict(lambda: [0] * len(figures))
    for site in report["sites"]:
        if site["kind"] == "mmap":
            continue
        for i, figure in enumerate(figures):
            sums[key(site)][i] += site[figure]
    return {name: tuple(values) for name, values in sums.items()}


def innermost(site):
    return stack(site)[0]


def with_own_code(site):
    """The innermost function that has code of its own."""
    return title(next(f for f in site["frames"] if not f["inlined"]))


def caller(site):
    """The innermost function that does not merely allocate for its caller."""
    helper = r"operator new\b|(__GI_)?_*(strn?dup|v?asprintf|getdelim|getline|realpath)\b"
    frames = site["frames"]
    return title(next((f for f in frames if not re.match(helper, f["function"] or "")), frames[0]))


def compare(seen, wanted):
    """Without what is 0 in all figures, which some tools leave out."""
    seen = {key: tuple(values) for key, values in seen.items() if any(values)}
    wanted = {key: values for key, values in wanted.items() if any(values)}
    if not wanted:
        fail("nothing to compare")
    compare_all(seen, wanted)


def compare_all(seen, wanted):
    seen = {key: values for key, values in seen.items() if any(values)}
    wanted = {key: values for key, values in wanted.items() if any(values)}
    for key in wanted:
        if seen.get(key) != wanted[key]:
            fail(f"{key} has {seen.get(key)}, ours {wanted[key]}")
    if seen.keys() != wanted.keys():
        fail(f"it has more: {sorted(seen.keys() - wanted.keys())[:3]}")


def number(text):
    return int(text.replace(",", ""))


def total(report, name, text):
    """A figure of the totals, as printed somewhere in text by a pattern with one group."""
    found = re.search(name[1], text)
    if not found:
        fail(f"no line like {name[1]}")
    if number(found.group(1)) != report["totals"][name[0]]:
        fail(f"{name[0]} is {found.group(1)}, ours {report['totals'][name[0]]}")


def check_peak(report, value, tolerance=0):
    """Until a moment of a recording, a peak between two snapshots is not known by site."""
    peak = report["totals"]["peak_live_bytes"]
    low = report["totals"]["live_bytes"] if "recorded_seconds" in report["session"] else peak
    if not low - tolerance <= value <= peak + tolerance:
        fail(f"the peak is {value}, ours {peak}")


def check_folded(report, text):
    seen = collections.defaultdict(lambda: [0])
    for line in text.splitlines():
        names, value = line.rsplit(" ", 1)
        seen[tuple(reversed(names.split(";")))][0] += int(value)
    compare(seen, expected(report, stack, ["live_bytes"]))


def check_pprof(report, text):
    """pprof -raw: samples with numbers of locations, then locations, each with its functions."""
    locations, samples = {}, []
    part = last = None
    for line in text.splitlines():
        if line in ("Samples:", "Locations", "Mappings"):
            part = line
        elif part == "Samples:" and (found := re.match(r"((?: +\d+){4}): ([\d ]+)$", line)):
            samples.append(([int(v) for v in found[1].split()], found[2].split()))
        elif part == "Locations":
            if found := re.match(r" +(\d+): 0x[0-9a-f]+ M=\d+ (\S+)", line):
                last = locations.setdefault(found[1], [])
                last.append(found[2])
            elif found := re.match(r" {13}(\S+)", line):
                last.append(found[1])
    seen = collections.defaultdict(lambda: [0] * 4)
    for values, numbers in samples:
        key = tuple(name for one in numbers for name in locations[one])
        seen[key] = [a + b for a, b in zip(seen[key], values)]
    compare(seen, expected(report, stack, FIGURES))
    mappings = text[text.index("\nMappings"):].splitlines()
    if report["target"]["exe"] not in mappings[2] or "1: 0x" not in mappings[2]:
        fail(f"the first mapping is not the program: {mappings[2]}")
    build_id = next(f["build_id"] for s in report["sites"] for f in s["frames"]
                    if f["module"] == report["target"]["exe"])
    if build_id not in mappings[2]:
        fail(f"the program has another build id: {mappings[2]}")


def figures_of_top(text):
    """A line a function, its own figure first."""
    seen = {}
    for line in text.splitlines():
        found = re.match(r" *(\d+)B? +[\d.]+%? +[\d.]+% +(\d+)B? +[\d.]+%? +(.*?)(?: \(inline\))?$",
                         line)
        if not found:
            found = re.match(r" *(\d+) +[\d.]+% +[\d.]+% +(\d+) +[\d.]+% +(.*)$", line)
        if found:
            seen[found[3]] = (int(found[1]),)
    return seen


def check_top(report, text, figure):
    """pprof -top."""
    compare(figures_of_top(text), expected(report, innermost, [figure]))


def check_google(report, text, figure):
    """google-pprof --text: it names no inlined function where it can't ask for them (2.16)."""
    seen = figures_of_top(text)
    inlined = {innermost(site) for site in report["sites"] if site["frames"][0]["inlined"]}
    key = innermost if inlined & seen.keys() else with_own_code
    compare(seen, expected(report, key, [figure]))


def check_top_diff(report, text, base):
    """pprof -top -diff_base: what each function has more than in the document base."""
    with open(base, encoding="utf-8") as file:
        before = expected(json.load(file), innermost, ["alloc_bytes"])
    after = expected(report, innermost, ["alloc_bytes"])
    wanted = {name: (after.get(name, (0,))[0] - before.get(name, (0,))[0],)
              for name in after.keys() | before.keys()}
    seen = {found[2]: (int(found[1]),) for found in re.finditer(
        r"^ *(-?\d+)B? +[-\d.]+%? +[-\d.]+% +-?\d+B? +[-\d.]+%? +(.*?)(?: \(inline\))?$",
        text, re.M)}
    if not any(growth for growth, in wanted.values()):
        fail("nothing has changed")
    compare_all(seen, wanted)


def check_heaptrack_calls(report, shown):
    """Where blocks were merged, each group begins anew with each moment and site."""
    wanted = report["totals"]["alloc_count"]
    if abs(shown * MERGED - wanted) > (wanted / 100 if MERGED > 1 else 0):
        fail(f"alloc_count is {shown} times {MERGED}, ours {wanted}")


def check_temporary(report, shown, busy):
    """busy: threads were at work while snapshots were taken. Of temporary blocks that live at one
    heaptrack's events tell one: all others of each thread are missing at the most."""
    wanted = report["totals"]["temporary_count"]
    torn = report["target"]["threads"] * len(report["timeline"]) if busy else 0
    # Few of a site and moment, merged, are one more than their share.
    if not wanted / MERGED - torn <= shown <= wanted:
        fail(f"temporary_count is {shown} times {MERGED}, ours {wanted}")


def check_heaptrack(report, text, busy=None):
    """heaptrack_print: calls and temporary ones to one; bytes are rounded there."""
    calls = re.search(r"calls to allocation functions: (\d+)", text)
    check_heaptrack_calls(report, number(calls[1]) if calls else -1)
    check_temporary(report, number(re.search(r"temporary memory allocations: (\d+)", text)[1]),
                    busy)

    def shown(pattern):
        """With how much of it was rounded away."""
        value = re.search(pattern, text)[1]
        scale = {"B": 1, "K": 1e3, "M": 1e6, "G": 1e9}[value[-1]]
        return float(value[:-1]) * scale, 0.0051 * scale
    check_peak(report, *shown(r"peak heap memory consumption: (\S+)"))
    value, tolerance = shown(r"total memory leaked: (\S+)")
    if abs(value - report["totals"]["live_bytes"]) > tolerance:
        fail(f"live_bytes is {value}, ours {report['totals']['live_bytes']}")


def check_heaptrack_stacks(report, text, figure):
    """heaptrack_print -F: "main (file.c);f (file.c); 12". It begins at main, and has inlined
    functions the other way round than the rest: stacks are compared without their order."""
    seen = collections.defaultdict(lambda: [0])
    for line in text.splitlines():
        names, value = line.rsplit(" ", 1)
        names = [name.split(" (")[0] for name in names.strip(";").split(";")]
        seen[tuple(sorted(names))][0] += int(value)

    def from_main(site):
        names = stack(site)
        return tuple(sorted(names[:names.index("main") + 1]))
    compare(seen, expected(report, from_main, [figure]))


def check_massif(report, text):
    """ms_print: the table of snapshots, and the functions that allocate at the last one."""
    rows = re.findall(r"^ *\d+ +([\d,]+) +([\d,]+) +([\d,]+) +([\d,]+) +0$", text, re.M)
    if not rows:
        fail("no snapshots")
    if number(rows[-1][2]) != report["totals"]["live_bytes"]:
        fail(f"the last snapshot has {rows[-1][2]}, ours {report['totals']['live_bytes']}")
    check_peak(report, max(number(row[2]) for row in rows))
    if number(rows[-1][3]) != report["totals"]["overhead_bytes"]:
        fail(f"the last snapshot has {rows[-1][3]} extra bytes")
    seen = collections.defaultdict(lambda: [0])
    tree = text[text.rindex("(heap allocation functions)"):]
    for value, name in re.findall(r"^->[\d.]+% \(([\d,]+)B\) 0x[0-9A-F]+: (.*?) \(", tree, re.M):
        seen[name][0] += number(value)
    wanted = expected(report, caller, ["live_bytes"])
    least = report["totals"]["live_bytes"] / 100
    # Lines below a hundredth are put together, without a name.
    small = collections.Counter()
    for site in report["sites"]:
        if site["kind"] != "mmap" and site["live_bytes"] < least:
            small[caller(site)] += site["live_bytes"]
    for name, (value,) in seen.items():
        if not wanted.get(name, (0,))[0] - small[name] <= value <= wanted[name][0]:
            fail(f"{name} has {value}, ours {wanted.get(name)}")
    if any(value > small[name] and name not in seen for name, (value,) in wanted.items()):
        fail("a function is missing")


CALLGRIND = ("live_bytes", "live_count", "alloc_bytes", "alloc_count")


def check_callgrind(report, text):
    """callgrind_annotate --threshold=100: figures of each function, then of the program."""
    value = r"([\d,]+|\.) \( ?[\d.]+%\) *"
    seen = {}
    for line in text.splitlines():
        found = re.match(r" *" + value * 4 + r"(.*)$", line)
        found = found or re.match(r" *([\d,]+|\.) (?:\([^)]*\))? *" * 4 + r"(.*)$", line)
        if not found:
            continue
        values = tuple(0 if v == "." else number(v) for v in found.groups()[:4])
        if found[5].strip() == "PROGRAM TOTALS":
            wanted = tuple(report["totals"][name] for name in CALLGRIND)
            if values != wanted:
                fail(f"totals are {values}, ours {wanted}")
            seen["totals"] = None
        elif ":" in found[5]:
            name = found[5].split(":", 1)[1].split(" [")[0].strip()
            seen[name] = tuple(a + b for a, b in zip(seen.get(name, (0,) * 4), values))
    if "totals" not in seen:
        fail("no program totals")
    del seen["totals"]
    compare(seen, expected(report, innermost, CALLGRIND))


def rounded(text, base):
    """"1.9MB" or "1.8 MiB": the value, and how much of it may have been rounded away."""
    found = re.fullmatch(r"([\d.]+) ?([kKMG]?)i?B", text)
    if not found:
        fail(f"not a size: {text}")
    scale = base ** " KMG".index(found[2].upper() or " ")
    return float(found[1]) * scale, 0.051 * scale


def check_heaptrack_gui(report, text):
    """What was read off its picture: calls "30,082 (10,023/s)", temporary "7,917 (26.32%, ...",
    and, in a column of their own, peak and leaked bytes."""
    calls = re.search(r"([\d,.]+) \([\d,.]+/s\)", text)
    temporary = re.search(r"([\d,.]+) \([\d.,]+%", text)
    sizes = re.findall(r"\b(\d[\d.]*[kMG]?B)(?: after .*)?$", text, re.M)
    if not calls or not temporary:
        fail("no calls, no temporary allocations")
    check_heaptrack_calls(report, int(re.sub("[,.]", "", calls[1])))
    check_temporary(report, int(re.sub("[,.]", "", temporary[1])), True)
    for name in ("peak_live_bytes", "live_bytes"):
        wanted = report["totals"][name]
        if not any(abs(value - wanted) <= tolerance
                   for value, tolerance in (rounded(size, 1000) for size in sizes)):
            fail(f"no {name} of {wanted} among {sizes}")
    for name in ("debuggee", "Peak Contributions", "Largest Memory Leaks"):
        if name not in text:
            fail(f"no {name}")


def check_massif_visualizer(report, text):
    """What it says of a file that it has loaded."""
    command = re.search(r'^command: "(.*)"$', text, re.M)
    if not command or command[1] != report["target"]["cmdline"]:
        fail(f"the command is {command and command[1]}")
    if not re.search(r"^snapshots: [1-9]", text, re.M):
        fail("no snapshots")
    cost = re.search(r'^peak cost: "(.*?)" heap "(.*?)" heap extra', text, re.M)
    if not cost:
        fail("no peak")
    value, tolerance = rounded(cost[1], 1024)
    check_peak(report, value, tolerance)


def check_speedscope(report, text):
    document = json.loads(text)
    names = [frame["name"] for frame in document["shared"]["frames"]]
    for profile, figure in zip(document["profiles"],
                               ("live_bytes", "live_count", "alloc_bytes", "alloc_count")):
        seen = collections.defaultdict(lambda: [0])
        for sample, weight in zip(profile["samples"], profile["weights"], strict=True):
            seen[tuple(names[i] for i in reversed(sample))][0] += weight
        compare(seen, expected(report, stack, [figure]))
        if profile["endValue"] != sum(profile["weights"]):
            fail("endValue is not the sum")


def check_csv_ends(row, site):
    """The document's, and they enclose their figure; empty where it has none."""
    for key in ("live_bytes", "alloc_count", "alloc_bytes", "free_count", "live_count",
                "peak_live_bytes", "temporary_count"):
        for end, sign in (("_low", 1), ("_high", -1)):
            wanted, found = site[key + end], row[key + end]
            if found != ("" if wanted is None else str(wanted)):
                fail(f"{key}{end} of site {row['id']} is {found}, ours {wanted}")
            if found and (int(row[key]) - int(found)) * sign < 0:
                fail(f"{key} of site {row['id']}: {row[key]} is beyond {end}, {found}")


def check_csv(report, text):
    seen = {}
    for row in csv.DictReader(text.splitlines()):
        key = (int(row["id"]), tuple(reversed(row["stack"].split(";"))))
        seen[key] = tuple(int(row[figure]) for figure in FIGURES)
        check_csv_ends(row, {str(site["id"]): site for site in report["sites"]}[row["id"]])
    compare(seen, expected(report, lambda site: (site["id"], stack(site)), FIGURES))


def main():
    report = json.load(open(sys.argv[2], encoding="utf-8"))
    with open(sys.argv[3], encoding="utf-8", newline="") as file:
        text = file.read()
    globals()["check_" + sys.argv[1]](report, text, *sys.argv[4:])


main()
