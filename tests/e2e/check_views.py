#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_views.py TRUTH MODULES FOLDER

Compares the views of an exact recording with a victim's own books. FOLDER has VIEW.json for
each view, flame.txt, tree-reverse.json. Paths are compared by the functions in MODULES
(comma-separated base names), outermost first.
"""
import json
import os
import sys
from collections import Counter

from truth_match import base_name, match_sites, truth_key

METRICS = {"live": "live_bytes", "live-count": "live_count", "bytes": "alloc_bytes",
           "calls": "alloc_count", "frees": "free_count", "temporary": "temporary_count"}
MOST_BLOCKS = 20000  # that a recording keeps
problems = []


def expect(what, seen, wanted):
    if seen != wanted:
        problems.append(f"{what}: {seen}, truth {wanted}")


def load(folder, name):
    return json.load(open(os.path.join(folder, name + ".json"), encoding="utf-8"))


def truth_path(site):
    return tuple(frame["function"] for frame in reversed(site["stack"]))


def by_path(truth, field):
    sums = Counter()
    for site in truth["sites"]:
        sums[truth_path(site)] += site[field]
    return sums


def nonzero(counter):
    return {key: value for key, value in counter.items() if value}


def check_sums(truth, totals, view, name):
    for metric, field in METRICS.items():
        expect(f"{name}: sum of {metric}", view[metric], totals[field])
    expect(f"{name}: sum at the peak", view["peak"], totals["peak_live_bytes"])


def check_sites(truth, view, modules, name):
    found = match_sites(truth, view, modules)
    for site in truth["sites"]:
        seen = found[id(site)]
        title = f"{name}: {truth_key(site)[0]}"
        for field in list(METRICS.values()) + ["at_peak_bytes"]:
            expect(f"{title}: {field}", sum(one[field] for one in seen), site[field])
    for site in found[None]:
        problems.append(f"{name}: a site that is none: {site['frames'][0]['title']}")


def check_order(view, metric, name):
    fields = dict(METRICS, peak="at_peak_bytes")
    values = [site[fields[metric]] for site in view["sites"]]
    expect(f"{name}: metric", view["metric"], metric)
    expect(f"{name}: order", values, sorted(values, reverse=True))


def check_tree(truth, view, modules, name):
    nodes = {node["id"]: node for node in view["nodes"]}
    below = Counter()
    for node in view["nodes"]:
        if node["parent"] is not None:
            below[node["parent"]] += node["total"]["bytes"]
    paths = {None: ()}
    ends = Counter()
    for node in view["nodes"]:
        expect(f"{name}: node {node['id']}", node["total"]["bytes"],
               node["self"]["bytes"] + below[node["id"]])
        path = paths[node["parent"]]
        frame = node["frame"]
        if frame and os.path.basename(frame["module"]) in modules:
            path += (base_name(frame["function"]),)
        paths[node["id"]] = path
        ends[tuple(reversed(path)) if view["reverse"] else path] += node["self"]["bytes"]
    check_sums(truth, truth["totals"], nodes[0]["total"], name)
    wanted = by_path(truth, "alloc_bytes")
    seen = Counter()
    for path, value in ends.items():
        seen[path[path.index("main"):] if "main" in path else path] += value
    wanted = Counter({path[path.index("main"):] if "main" in path else path: 0
                      for path in wanted}) + sum_from_main(wanted)
    expect(f"{name}: bytes by path", nonzero(seen), nonzero(wanted))


def sum_from_main(counter):
    sums = Counter()
    for path, value in counter.items():
        sums[path[path.index("main"):] if "main" in path else path] += value
    return sums


def check_flame(truth, text):
    names = {frame["function"] for site in truth["sites"] for frame in site["stack"]}
    seen = Counter()
    for line in text.splitlines():
        path, value = line.rsplit(" ", 1)
        functions = [base_name(one) for one in path.split(";")]
        seen[tuple(one for one in functions if one in names)] += int(value)
    wanted = by_path(truth, "alloc_count")
    expect("flame: sum", sum(seen.values()), truth["totals"]["alloc_count"])
    expect("flame: calls by path", nonzero(sum_from_main(seen)), nonzero(sum_from_main(wanted)))


def check_histogram(truth, powers, exact):
    calls, size = truth["totals"]["alloc_count"], truth["totals"]["alloc_bytes"]
    for view in (powers, exact):
        expect("histogram: calls", view["calls"], calls)
        expect("histogram: bars", sum(bar["calls"] for bar in view["histogram"]), calls)
    expect("histogram: bytes",
           sum(bar["size_low"] * bar["calls"] for bar in exact["histogram"]), size)
    for bar in powers["histogram"]:
        inside = sum(one["calls"] for one in exact["histogram"]
                     if bar["size_low"] <= one["size_low"] <= bar["size_high"])
        expect(f"histogram: from {bar['size_low']}", bar["calls"], inside)


def check_timeline(truth, view):
    points = view["timeline"]
    for field in ("alloc_count", "alloc_bytes", "free_count"):
        expect(f"timeline: {field}", sum(point[field] for point in points),
               truth["totals"][field])
    expect("timeline: live at the end", points[-1]["live_bytes"], truth["totals"]["live_bytes"])
    expect("timeline: so far", points[-1]["alloc_bytes_so_far"], truth["totals"]["alloc_bytes"])


def check_lifetimes(truth, view):
    freed = truth["totals"]["free_count"]
    expect("lifetimes: freed", view["freed"], freed)
    expect("lifetimes: histogram", sum(bar["blocks"] for bar in view["histogram"]), freed)
    expect("lifetimes: by site",
           sum(life["site"]["free_count"] for life in view["lifetimes"]), freed)
    for life in view["lifetimes"]:
        shares = [point["share"] for point in life["survival"]]
        expect("lifetimes: survival falls", shares, sorted(shares, reverse=True))


def check_blocks(truth, view):
    totals = truth["totals"]
    sizes = [block["size"] for block in view["blocks"]]
    expect("blocks: number", view["block_count"], min(totals["live_count"], MOST_BLOCKS))
    expect("blocks: order", sizes, sorted(sizes, reverse=True))
    if totals["live_count"] > MOST_BLOCKS:
        return
    expect("blocks: bytes", sum(block["size"] for block in view["blocks"]), totals["live_bytes"])
    wanted = Counter()
    for site in truth["sites"]:
        wanted[site["stack"][0]["function"]] += site["live_count"]
    seen = Counter(base_name(block["caller"]["function"]) for block in view["blocks"])
    for function, count in nonzero(wanted).items():
        if function in seen:
            expect(f"blocks of {function}", seen[function], count)
    addresses = [block["address"] for block in view["blocks"]]
    expect("blocks: addresses", len(set(addresses)), len(addresses))


def check_source(truth, view, source):
    """Innermost lines of the victim; library code without sources is its caller's."""
    wanted = Counter()
    for site in truth["sites"]:
        wanted[site["stack"][0]["line"]] += site["alloc_count"]
    seen = Counter()
    for file in view["files"]:
        if os.path.basename(file["file"]) == source:
            expect(f"source: {source} can be read", file["readable"], True)
            for line in file["lines"]:
                seen[line["line"]] += line["self"]["calls"]
                if line["self"]["calls"]:
                    expect(f"source: line {line['line']} allocates", "(" in line["text"], True)
    expect("source: calls by line", nonzero(seen), nonzero(wanted))
    expect("source: sum", view["sum"]["calls"], truth["totals"]["alloc_count"])


def main():
    truth = json.load(open(sys.argv[1], encoding="utf-8"))
    modules = set(sys.argv[2].split(","))
    folder = sys.argv[3]
    for name in ("hotspots", "filter", "temporary", "peak"):
        check_sums(truth, truth["totals"], load(folder, name)["sum"], name)
    check_sites(truth, load(folder, "filter"), modules, "filter")
    check_order(load(folder, "hotspots"), "live", "hotspots")
    for metric in ("calls", "bytes", "peak"):
        check_order(load(folder, "hotspots-" + metric), metric, "hotspots by " + metric)
    check_order(load(folder, "temporary"), "temporary", "temporary")
    check_order(load(folder, "peak"), "peak", "peak")
    expect("peak", load(folder, "peak")["peak_live_bytes"], truth["totals"]["peak_live_bytes"])
    for name in ("tree", "tree-reverse"):
        check_tree(truth, load(folder, name), modules, name)
    check_flame(truth, open(os.path.join(folder, "flame.txt"), encoding="utf-8").read())
    check_histogram(truth, load(folder, "histogram"), load(folder, "histogram-exact"))
    check_timeline(truth, load(folder, "timeline"))
    check_lifetimes(truth, load(folder, "lifetimes"))
    check_blocks(truth, load(folder, "blocks"))
    if len(sys.argv) > 4:
        check_source(truth, load(folder, "source"), sys.argv[4])
    for text in problems[:25]:
        print(text[:1500])
    print(f"{len(truth['sites'])} sites, {len(problems)} problems")
    sys.exit(1 if problems else 0)


main()
