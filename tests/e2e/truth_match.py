#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Which sites of a report are which of a victim's books: by the whole stack.

Only frames in the given modules (base names) count, so library frames, and
operator new among them, may stand in between.
"""
import os
import re

STARTS = {"_start", "__libc_start_main", "__libc_start_main_impl", "__libc_start_call_main"}


def base_name(function):
    """Namespace, class, template and parameters off: Pool<T>::fill(int) -> fill."""
    name = re.sub(r"\(anonymous namespace\)::", "", function or "?")
    name = re.sub(r" \[clone [^]]*\]", "", name)
    while True:
        shorter = re.sub(r"<[^<>]*>|\([^()]*\)( const)?", "", name)
        if shorter == name:
            break
        name = shorter
    return name.split("::")[-1].split(" ")[-1].split(".")[0]


def report_key(site, modules):
    frames = [frame for frame in site["frames"]
              if os.path.basename(frame.get("module") or "").split(" ")[0] in modules]
    return tuple((base_name(frame.get("function")), frame.get("line")) for frame in frames)


def truth_key(site):
    return tuple((frame["function"], frame["line"]) for frame in site["stack"])


def matches(key, frames):
    """frames begin with key; below main there is nothing but the start code."""
    if frames[:len(key)] != key:
        return False
    return key[-1][0] != "main" or all(name in STARTS for name, _ in frames[len(key):])


def match_sites(truth, report, modules):
    """{id(truth site): [sites of the report with its stack]}; None: those with no truth."""
    by_length = sorted(truth["sites"], key=lambda site: -len(site["stack"]))
    found = {id(site): [] for site in truth["sites"]}
    found[None] = []
    for site in report["sites"]:
        if site["kind"] != "malloc":
            continue
        frames = report_key(site, modules)
        match = next((one for one in by_length if matches(truth_key(one), frames)), None)
        found[id(match) if match else None].append(site)
    return found
