#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_arenas.py info MALLOC_INFO VIEW | smaps SMAPS VIEW

Compares the view arenas with what malloc_info(3) wrote, or the view regions with smaps: every
figure that both have. malloc_info's sums hold the lowest bit of each free chunk's size, but for
top's.
"""
import json
import re
import sys
import xml.etree.ElementTree as ElementTree

problems = []


def expect(what, seen, wanted):
    if seen != wanted:
        problems.append(f"{what}: {seen}, truth {wanted}")


def number(node, name):
    return int(node.get(name))


def total(node, kind):
    found = [one for one in node.findall("total") if one.get("type") == kind][0]
    return number(found, "count"), number(found, "size")


def system(node, kind):
    return [number(one, "size") for one in node.findall("system") if one.get("type") == kind][0]


def truth_bins(heap):
    """(size_low, size_high, count, bytes) of all but tcache."""
    bins = []
    for node in heap.find("sizes"):
        low, high, count = number(node, "from"), number(node, "to"), number(node, "count")
        size = number(node, "total")
        if low % 16 == 1 and high % 16 == 0:  # a fastbin: from one more than the size before
            bins.append(("fast", high, high, count, size))
        else:
            kind = "unsorted" if node.tag == "unsorted" else "small" if low < 1024 else "large"
            bins.append((kind, low & ~7, high & ~7, count, size - count))
    return sorted(bins)


def seen_bins(arena):
    return sorted((b["bin"], b["size_low"], b["size_high"], b["count"], b["bytes"])
                  for b in arena["bins"] if b["bin"] != "tcache")


def check_parts(arena, title):
    parts = ["used", "tcache", "fast", "unsorted", "small", "large", "top", "own"]
    expect(f"{title}: sum of its parts", sum(arena[part]["bytes"] for part in parts),
           arena["system_bytes"])
    expect(f"{title}: resident sum", sum(arena[part]["resident_bytes"] for part in parts),
           arena["resident_bytes"])
    for part in parts[1:-2]:
        bins = [b for b in arena["bins"] if b["bin"] == part]
        for field in ("count", "bytes", "resident_bytes"):
            expect(f"{title}: {field} of {part}", sum(b[field] for b in bins),
                   arena[part][field])


def check_arena(heap, arena, title):
    free = ["unsorted", "small", "large"]
    count, size = total(heap, "rest")
    expect(f"{title}: fast", (arena["fast"]["count"], arena["fast"]["bytes"]),
           total(heap, "fast"))
    expect(f"{title}: chunks of rest", sum(arena[p]["count"] for p in free) + 1, count)
    expect(f"{title}: bytes of rest",
           sum(arena[p]["bytes"] for p in free) + arena["top"]["bytes"], size - (count - 1))
    expect(f"{title}: system", arena["system_bytes"], system(heap, "current"))
    expect(f"{title}: most of it", arena["max_system_bytes"], system(heap, "max"))
    expect(f"{title}: bins", seen_bins(arena), truth_bins(heap))
    check_parts(arena, title)


def check_info(path, view):
    root = ElementTree.parse(path).getroot()
    heaps = root.findall("heap")
    allocator = view["allocators"][0]
    expect("allocator", allocator["allocator"], "glibc")
    expect("arenas", len(view["arenas"]), len(heaps))
    expect("mapped", (allocator["mapped"]["count"], allocator["mapped"]["bytes"]),
           total(root, "mmap"))
    expect("system", sum(a["system_bytes"] for a in view["arenas"]), system(root, "current"))
    for i, (heap, arena) in enumerate(zip(heaps, view["arenas"])):
        check_arena(heap, arena, f"arena {i}")


def truth_maps(path):
    maps = {}
    for line in open(path, encoding="utf-8", errors="surrogateescape"):
        head = re.match(r"([0-9a-f]+)-([0-9a-f]+) (\S+) (\S+) \S+ (\d+) *(.*)\n", line)
        if head:
            sizes = maps.setdefault((int(head[1], 16), int(head[2], 16)), {"head": head})
        else:
            field = re.match(r"(\w+): +(\d+) kB", line)
            if field:
                sizes[field[1]] = int(field[2]) * 1024
    return maps


def check_smaps(path, view):
    maps = truth_maps(path)
    seen = {(int(m["start"], 16), int(m["end"], 16)): m for m in view["mappings"]}
    expect("mappings", sorted(seen), sorted(maps))
    for place, sizes in maps.items():
        one = seen.get(place)
        if not one:
            continue
        title = f"{place[0]:x} {sizes['head'][6]}"
        expect(f"{title}: size", one["size"], sizes["Size"])
        expect(f"{title}: protection", one["protection"], sizes["head"][3])
        expect(f"{title}: resident", one["resident_bytes"], sizes["Rss"])
        expect(f"{title}: own", one["own_bytes"], sizes["Anonymous"])
        expect(f"{title}: swapped", one["swapped_bytes"], sizes["Swap"])
        if one["huge_bytes"] is not None:
            expect(f"{title}: huge", one["huge_bytes"], sizes["AnonHugePages"])
        if one["kind"] != "bss" and not one["deleted"]:
            expect(f"{title}: path", one["path"] or "", sizes["head"][6])
    for field, name in (("size", "Size"), ("resident_bytes", "Rss")):
        wanted = sum(sizes[name] for sizes in maps.values())
        expect(f"all: {name}", view["all"][field], wanted)
        expect(f"kinds: {name}", sum(kind[field] for kind in view["kinds"]), wanted)


def main():
    what, truth, view = sys.argv[1:]
    with open(view, encoding="utf-8") as file:
        {"info": check_info, "smaps": check_smaps}[what](truth, json.load(file))
    for problem in problems[:20]:
        print(problem)
    return 1 if problems else 0


sys.exit(main())
