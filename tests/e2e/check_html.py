#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_html.py REPORT PAGE

The page of `export --to=html` is whole, loads nothing, has no element that a name brought in, and
its data are those of REPORT, the document of `report --json` of the same recording.
"""
import base64
import collections
import hashlib
import html.parser
import json
import re
import sys

ELEMENTS = {"html", "head", "meta", "title", "style", "body", "header", "h1", "nav", "main",
            "noscript", "p", "script"}
KINDS = ["malloc", "mmap", "custom"]
FIGURES = ("live_bytes", "live_count", "alloc_bytes", "alloc_count", "free_count",
           "peak_live_bytes", "threads")
ENDS = ("live_bytes", "live_count", "alloc_bytes", "alloc_count", "free_count",
        "peak_live_bytes")


class Page(html.parser.HTMLParser):
    """What is in the page, as a browser would take it apart."""

    def __init__(self):
        super().__init__(convert_charrefs=False)
        self.blocks, self.policy, self.into = {}, "", None

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        expect(tag in ELEMENTS, f"an element {tag}")
        for name in ("src", "href", "srcdoc", "background"):
            expect(name not in attributes, f"{tag} has {name}")
        if attributes.get("http-equiv") == "Content-Security-Policy":
            self.policy = attributes["content"]
        self.into = None
        if tag in ("script", "style"):
            self.into = attributes.get("id", tag)
            expect(self.into not in self.blocks, f"{self.into} twice")
            self.blocks[self.into] = ""

    def handle_endtag(self, tag):
        self.into = None

    def handle_data(self, data):
        if self.into:
            self.blocks[self.into] += data


def expect(good, text):
    if not good:
        sys.exit(f"check_html.py: {text}")


def check_page(page):
    expect(set(page.blocks) == {"style", "script", "licences", "document", "sites"},
           f"blocks {sorted(page.blocks)}")
    expect("default-src 'none'" in page.policy, f"the policy {page.policy}")
    for kind in ("script", "style"):
        digest = base64.b64encode(hashlib.sha256(page.blocks[kind].encode()).digest()).decode()
        expect(f"{kind}-src 'sha256-{digest}'" in page.policy, f"the policy forbids its {kind}")
        expect(f"{kind}-src" in page.policy and "unsafe" not in page.policy, "unsafe-inline")
    expect(not re.search(r"@import|url\(", page.blocks["style"]), "the style loads something")
    for block in ("document", "sites"):
        expect(not re.search("[<>&]", page.blocks[block]), f"{block} is not escaped")
    for name in ("uplot", "d3-flame-graph", "@tanstack/virtual-core"):
        expect(f"{name} " in page.blocks["licences"], f"no licence of {name}")


def stack_of(data, site):
    """[(title, file, line), ...], innermost first."""
    functions, frames, nodes, texts = (data[key] for key in
                                       ("functions", "frames", "nodes", "texts"))
    stack, node = [], data["sites"]["node"][site]
    while node:
        expect(0 < nodes["up"][node] <= node, "a caller behind its callee")
        frame = nodes["frame"][node]
        function = frames["function"][frame]
        file = functions["file"][function]
        stack.append((texts[functions["title"][function]], texts[file] if file >= 0 else None,
                      frames["line"][frame]))
        node -= nodes["up"][node]
    return tuple(stack)


def title(frame):
    if frame["function"]:
        return frame["function"]
    return f"{(frame['module'] or '').rsplit('/', 1)[-1]}+0x{frame['offset']:x}"


def expected(report):
    return {site["id"]: (site["kind"], tuple(site[f] for f in FIGURES),
                         tuple((title(f), f["file"], f["line"] or 0) for f in site["frames"]))
            for site in report["sites"] if site["kind"] != "mmap"}


def check_sites(data, report):
    sites = data["sites"]
    found = {id: (KINDS[sites["kind"][i]], tuple(sites[f][i] for f in FIGURES),
                  stack_of(data, i)) for i, id in enumerate(sites["id"])}
    wanted = expected(report)
    expect(set(found) == set(wanted), "other sites")
    for id, site in wanted.items():
        if site[2]:
            expect(found[id] == site, f"site {id}: {found[id]} is not {site}")


def check_intervals(sites, report):
    """Ends are the document's, and enclose their figure; where it has none they are the figure."""
    by_id = {site["id"]: site for site in report["sites"]}
    for i, id in enumerate(sites["id"]):
        for key in ENDS:
            low, value, high = (sites[key + end][i] for end in ("_low", "", "_high"))
            expect(low <= value <= high, f"{key} of site {id}: {value}, not in {low} to {high}")
            wanted = [by_id[id][key + end] for end in ("_low", "_high")]
            expect(wanted in ([low, high], [None, None]), f"{key} of site {id}: other ends")


def check_moments(data, report):
    moments, changes = data["moments"], data["changes"]
    expect(moments["time"] == sorted(moments["time"]), "moments are not in order")
    expect(sum(moments["changes"]) == len(changes["site"]), "changes of no moment")
    expect(set(changes["site"]) <= {site["id"] for site in report["sites"]}, "changes of no site")
    counts = collections.Counter(len(column) for column in changes.values())
    expect(len(counts) == 1, "columns of different lengths")


def check_threads(threads, session):
    if session.get("recorded_seconds"):     # of a moment they are not known
        expect(threads is None, "threads of a moment")
        return
    rows = threads["rows"]
    expect(threads["total"] >= len(rows["number"]) > 0, "threads are missing")
    expect(len({len(column) for column in rows.values()}) == 1, "columns of different lengths")
    expect(rows["alloc_bytes"] == sorted(rows["alloc_bytes"], reverse=True), "order of threads")
    expect(set(threads["handovers"]["owner"]) <= set(rows["number"]) | {0}, "an unknown thread")


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        report = json.load(file)
    page = Page()
    with open(sys.argv[2], encoding="utf-8") as file:
        page.feed(file.read())
    check_page(page)
    data = json.loads(page.blocks["sites"])
    document = json.loads(page.blocks["document"])
    check_sites(data, report)
    check_intervals(data["sites"], report)
    check_moments(data, report)
    check_threads(data["threads"], report["session"])
    for key in ("target", "session", "totals", "timeline", "histogram", "leaks"):
        expect(document[key] == report[key], f"another {key}")
    print(f"{len(data['sites']['id'])} sites, {len(data['nodes']['up'])} nodes, "
          f"{len(data['moments']['time'])} moments")


main()
