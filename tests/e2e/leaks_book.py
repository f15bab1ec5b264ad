# SPDX-License-Identifier: MIT
"""The book that a leaky victim prints (tests/victims/leaky.h)."""
import collections
import json


def read_book(path):
    """([block, ...], how many blocks libraries have allocated as well; None: not known)"""
    blocks, others = [], None
    for line in open(path, encoding="utf-8"):
        if line.startswith("block "):
            blocks.append(json.loads(line[6:]))
        elif line.startswith("others "):
            others = int(line[7:])
    if others is None:
        raise SystemExit(f"{path} is no book")
    return blocks, others if others < 1000000 else None


def kind_for(block, checker):
    """What a checker ("kind", "memcheck", "lsan") should say of a block."""
    kind = block.get(checker, "same")
    return block["kind"] if kind == "same" else kind


def count_kinds(blocks, checker="kind"):
    """{(function, line): Counter of kinds}; of each ring one block is definite."""
    rings = set()
    counts = collections.defaultdict(collections.Counter)
    for block in blocks:
        kind = kind_for(block, checker)
        if kind == "ring":
            ring = (block["label"], block["ring"])
            kind = "indirect" if ring in rings else "definite"
            rings.add(ring)
        counts[block["function"], block["line"]][kind] += 1
    return counts


def definite_count(blocks):
    """Definitely and possibly lost blocks: two of {(function, line): count}."""
    counts = count_kinds(blocks)
    return tuple({key: kinds[kind] for key, kinds in counts.items() if kinds[kind]}
                 for kind in ("definite", "possible"))
