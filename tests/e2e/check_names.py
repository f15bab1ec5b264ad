#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_names.py FULL SHORT NAMED FILE...

FULL and SHORT are --json documents of one recording, without and with --just-function-name and
--shorten-templates: the same frames under other names. No FILE shows a name in full that has a
shorter form; those that are called as NAMED says (a pattern; "-": none need to) show a short one.
"""
import fnmatch
import gzip
import html
import json
import os
import re
import sys


def frames(path):
    document = json.load(open(path, encoding="utf-8"))
    return [frame for site in document["sites"] for frame in site["frames"]]


def spellings(name):
    """As they are written in text, JSON, XML, in the page of the HTML report."""
    quoted = json.dumps(name)[1:-1]
    return {name, quoted, html.escape(name), html.escape(name, quote=False),
            html.escape(name).replace("&#x27;", "&#39;"), name.replace(";", ":"),
            re.sub("[<>&]", lambda found: f"\\u{ord(found[0]):04x}", quoted)}


def read(path):
    data = open(path, "rb").read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    return data.decode("utf-8", "replace")


def main():
    full, short = frames(sys.argv[1]), frames(sys.argv[2])
    problems = []
    changed = {}
    if len(full) != len(short):
        problems.append(f"{len(full)} frames, shortened {len(short)}")
    for old, new in zip(full, short):
        if {**old, "function": 0} != {**new, "function": 0}:
            problems.append(f"{new} is not {old}")
        if old["function"] != new["function"]:
            changed[old["function"]] = new["function"]
    for name in changed.values():
        if "(" in name.replace("(anonymous namespace)", "").replace("operator()", ""):
            problems.append(f"not the function alone: {name}")
    for path in sys.argv[4:]:
        text = read(path)
        told = [name for name in changed for spelling in spellings(name) if spelling in text]
        if told:
            problems.append(f"{path} has {told[0]}")
        if fnmatch.fnmatch(os.path.basename(path), sys.argv[3]) and not any(
                spelling in text for name in changed.values() if "<>" in name
                for spelling in spellings(name)):
            problems.append(f"{path} has no short name")
    for text in problems[:10]:
        print(text)
    print(f"{len(changed)} names made shorter, {len(sys.argv) - 4} files, {len(problems)} problems")
    sys.exit(1 if problems or len(changed) < 5 else 0)


main()
