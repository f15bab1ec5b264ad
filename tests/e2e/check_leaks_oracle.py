#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_leaks_oracle.py memcheck|lsan BOOK OUTPUT

Compares a victim's book (tests/victims/leaky.h) with what another checker says of the same
blocks: for each allocation site the number of blocks of each kind, and their bytes.
memcheck's output is XML, LeakSanitizer's its report on the standard error.
"""
import collections
import re
import sys
import xml.etree.ElementTree

from leaks_book import count_kinds, kind_for, read_book
from truth_match import base_name

MEMCHECK = {"Leak_DefinitelyLost": "definite", "Leak_IndirectlyLost": "indirect",
            "Leak_PossiblyLost": "possible", "Leak_StillReachable": "reachable"}


def memcheck_records(path):
    """(kind, blocks, direct bytes, [(function, line), ...] innermost first)"""
    for error in xml.etree.ElementTree.parse(path).getroot():
        if error.tag == "clientmsg":
            return  # what follows was searched at the end
        kind = MEMCHECK.get(error.findtext("kind"))
        if not kind:
            continue
        what = error.find("xwhat")
        direct = re.search(r"\(([\d,]+) direct", what.findtext("text"))
        size = int(direct[1].replace(",", "")) if direct else int(what.findtext("leakedbytes"))
        frames = [(base_name(frame.findtext("fn")), int(frame.findtext("line") or 0))
                  for frame in error.find("stack").iter("frame")]
        yield kind, int(what.findtext("leakedblocks")), size, frames


def lsan_records(path):
    record = None
    for line in open(path, encoding="utf-8", errors="replace"):
        head = re.match(r"(Direct|Indirect) leak of (\d+) byte\(s\) in (\d+) object", line)
        frame = re.match(r"\s+#\d+ 0x[0-9a-f]+ in (.*?) (?:/\S+?:(\d+)|\()", line)
        if head:
            if record:
                yield record
            kind = "definite" if head[1] == "Direct" else "indirect"
            record = (kind, int(head[3]), int(head[2]), [])
        elif record and frame:
            record[3].append((base_name(frame[1]), int(frame[2] or 0)))
    if record:
        yield record


def main():
    checker, book, output = sys.argv[1:]
    blocks, _ = read_book(book)
    truth = count_kinds(blocks, checker)
    size = collections.Counter()
    for block in blocks:
        if kind_for(block, checker) in ("definite", "possible"):
            size[block["function"], block["line"], kind_for(block, checker)] += block["requested"]
    seen = collections.defaultdict(collections.Counter)
    seen_size = collections.Counter()
    problems = []
    records = memcheck_records if checker == "memcheck" else lsan_records
    for kind, count, direct, frames in records(output):
        key = next((frame for frame in frames if frame in truth), None)
        if key:
            seen[key][kind] += count
            seen_size[key + (kind,)] += direct
        elif kind in ("definite", "indirect"):
            problems.append(f"not in the book: {count} {kind} of {frames[:6]}")
    kinds = ("definite", "indirect") + (("possible", "reachable") if checker == "memcheck" else ())
    for key in sorted(truth):
        wanted = {kind: truth[key][kind] for kind in kinds}
        found = {kind: seen[key][kind] for kind in kinds}
        # Libraries may have allocated there, too.
        found["reachable"] = min(found.get("reachable", 0), wanted.setdefault("reachable", 0))
        if wanted != found:
            problems.append(f"{key[0]}:{key[1]}: {checker} says {found}, expected {wanted}")
    for key, bytes_ in size.items():
        if key[2] in kinds and seen_size[key] != bytes_:
            problems.append(f"{key}: {seen_size[key]} bytes, expected {bytes_}")
    print("\n".join(problems[:30]))
    print(f"{len(blocks)} blocks, {len(truth)} sites, {len(problems)} problems")
    sys.exit(1 if problems else 0)


main()
