#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""forge_recording.py KIND RECORDING FORGED: a small file that says much.

names: a long name in a frame that all stacks consist of, again and again
pages TABLE: pages of the table that refer to the same page, level for level: rows for ever
events: thousands of sites, each with more allocations than there can be
escapes: names that would take over a terminal
"""
import shutil
import sqlite3
import struct
import sys

LEVELS = 6
CHILDREN = 400
STACKS = 200
ESCAPE = "\x1b]0;forged\x07\x1b[2J\u009b31m\u202etxt.exe\n\r\t"


def names(db):
    frame = db.execute("SELECT min(frame) FROM symbols").fetchone()[0]
    db.execute("UPDATE symbols SET function = ? WHERE frame = ?", ("f" * 50000, frame))
    for table in ("stack_frames", "stacks", "sites", "snapshot_sites"):
        db.execute(f"DELETE FROM {table}")
    db.executemany("INSERT INTO stacks VALUES(?, 0)", ((i,) for i in range(1, STACKS)))
    db.executemany("INSERT INTO stack_frames VALUES(?, ?, ?)",
                   ((i, d, frame) for i in range(1, STACKS) for d in range(i, 500)))
    db.executemany("INSERT INTO sites(id, stack, live_bytes, live_count, alloc_count, alloc_bytes)"
                   "VALUES(?, ?, 1000, 1, 1, 1000)", ((i, i) for i in range(1, STACKS)))


def events(db):
    for table in ("sites", "snapshot_sites", "blocks"):
        db.execute(f"DELETE FROM {table}")
    db.executemany("INSERT INTO sites(id, stack, live_bytes, live_count, alloc_count, alloc_bytes)"
                   "VALUES(?, 1, 1000, 1, -1, -1)", ((i,) for i in range(1, 2000)))


def escapes(db):
    db.execute("UPDATE symbols SET function = ?1, file = ?1, module = ?1", (ESCAPE,))
    db.execute("UPDATE modules SET path = ?1, build_id = ?1", (ESCAPE,))
    db.execute("UPDATE target SET exe = ?1, cmdline = ?1", (ESCAPE,))
    db.execute("UPDATE threads SET name = ?1", (ESCAPE,))
    db.execute("UPDATE allocators SET name = ?1, version = ?1, module = ?1", (ESCAPE,))
    db.execute("UPDATE regions SET path = ?1", (ESCAPE,))
    db.execute("UPDATE heaps SET allocator = ?1, version = ?1", (ESCAPE,))
    db.execute("UPDATE leak_groups SET type = ?1, variable = ?1, held_by = ?1", (ESCAPE,))


def interior(size, child):
    """A page whose children are all the same page (SQLite's format of files, 1.6)."""
    page = bytearray(size)
    end = size
    for i in range(CHILDREN):
        end -= 5
        page[end:end + 5] = struct.pack(">IB", child, i % 100 + 1)
        page[12 + 2 * i:14 + 2 * i] = struct.pack(">H", end)
    page[0] = 5
    page[3:7] = struct.pack(">HH", CHILDREN, end)
    page[8:12] = struct.pack(">I", child)
    return bytes(page)


def pages(path, table):
    db = sqlite3.connect(path)
    size = db.execute("PRAGMA page_size").fetchone()[0]
    root = db.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()[0]
    db.close()
    with open(path, "rb") as file:
        data = bytearray(file.read())
    at = (root - 1) * size
    data += data[at:at + size]
    for _ in range(LEVELS):
        data[at:at + size] = interior(size, len(data) // size)
        data += data[at:at + size]
    data[28:32] = struct.pack(">I", len(data) // size)
    with open(path, "wb") as file:
        file.write(data)


def main():
    kind, recording, forged = sys.argv[1:4]
    shutil.copy(recording, forged)
    if kind == "pages":
        pages(forged, sys.argv[4])
        return
    with sqlite3.connect(forged) as db:
        {"names": names, "events": events, "escapes": escapes}[kind](db)


main()
