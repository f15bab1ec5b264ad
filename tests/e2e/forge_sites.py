#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""forge_sites.py RECORDING SITES SNAPSHOTS

Adds to a recording as many sites as no test can wait for, with stacks as programs have them (a
common root, libraries, depths of 8 to 40), how they stood at some snapshots, and names that try to
break out of a page. The same arguments give the same rows.
"""
import random
import sqlite3
import sys

NAMES = [
    "</script><script>document.title='broken'</script>",
    "</SCRIPT ><img src=x onerror=\"document.title='broken'\">",
    "<!--<script>", "-->", "]]>", "${document.title='broken'}", "a\u2028b\u2029c", "\"'`\\",
    "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::"
    "_M_append(char const*, unsigned long) [clone .isra.0]", "\x01\x7f\x1b[31m", "&lt;b&gt;&amp;",
]
FUNCTIONS = 3000
MODULES = ["/usr/bin/forged", "/usr/lib/libone.so.1", "/usr/lib/libtwo.so.2",
           "/usr/lib/libthree.so.3", "/opt/app/plugin<b>.so"]


class Forge:
    def __init__(self, db, seed):
        self.db = db
        self.random = random.Random(seed)
        self.last = {table: db.execute(f"SELECT coalesce(max(id), 0) FROM {table}").fetchone()[0]
                     for table in ("frames", "stacks", "sites", "snapshots")}
        self.end = db.execute("SELECT duration FROM session").fetchone()[0]

    def insert(self, table, **values):
        marks = ", ".join("?" * len(values))
        self.db.execute(f"INSERT INTO {table}({', '.join(values)}) VALUES({marks})",
                        tuple(values.values()))

    def function(self, number):
        """What a frame is called, and where it is: a function in two lines."""
        name = NAMES[number] if number < len(NAMES) else \
            f"app::module{number % 60}::Worker<{number % 7}>::step{number}(int)"
        module = MODULES[number % len(MODULES)]
        for half in range(2):
            frame = self.last["frames"] + 1 + 2 * number + half
            self.insert("frames", id=frame, module=0, offset=frame * 16, flags=1)
            self.insert("symbols", frame=frame, depth=0, function=name, function_offset=8,
                        file=f"/src/module{number % 60}.cc", line=10 + number % 900 + half,
                        column=3, module=module, build_id="ab" * 20, offset=frame * 16,
                        inlined=0)

    def frames(self):
        for number in range(FUNCTIONS):
            self.function(number)

    def stack(self, number):
        """Innermost first; callers of a function are few, so that stacks share their ends."""
        depth = self.random.randint(8, 40)
        at, path = 11, []
        for _ in range(depth):
            path.append(self.last["frames"] + 1 + 2 * at + self.random.randint(0, 1))
            at = (at * 7 + self.random.choice((0, 0, 0, 1, 2, 3)) * 11) % FUNCTIONS
        if number < len(NAMES):
            path.append(self.last["frames"] + 1 + 2 * number)
        self.insert("stacks", id=self.last["stacks"] + 1 + number, flags=0)
        self.db.executemany("INSERT INTO stack_frames VALUES(?, ?, ?)", (
            (self.last["stacks"] + 1 + number, i, frame)
            for i, frame in enumerate(reversed(path))))

    def site(self, number):
        size = int(2 ** self.random.uniform(4, 20))
        live, calls = self.random.randint(0, 200), self.random.randint(200, 5000)
        exact = {"alloc_count": calls, "alloc_bytes": calls * size, "free_count": calls - live,
                 "live_count": live, "peak_live_bytes": live * size * 2,
                 "temporary_count": calls // 10}
        ends = {key + end: value for key, value in exact.items() for end in ("_low", "_high")}
        self.stack(number)
        self.insert("sites", id=self.last["sites"] + 1 + number,
                    stack=self.last["stacks"] + 1 + number, kind=0, skip_frames=0,
                    verdict=number % 5, live_count=live, live_bytes=live * size,
                    live_bytes_low=live * size, live_bytes_high=live * size, alloc_count=calls,
                    alloc_bytes=calls * size, free_count=calls - live,
                    peak_live_bytes=live * size * 2, temporary_count=calls // 10, samples=calls,
                    threads=1 + number % 8, lifetime_p50=.001, lifetime_p90=.1,
                    lifetime_max=self.end / 2, first_time=0, last_time=self.end, growth=number,
                    growth_low=0, growth_high=number, at_peak_bytes=live * size,
                    at_peak_count=live, size_low=size, size_high=size, **ends)
        return live, size, calls

    def snapshot(self, number, time, live):
        """A copy of the last one, with more that lives: live is (bytes, blocks)."""
        columns = [row[1] for row in self.db.execute("PRAGMA table_info(snapshots)")
                   if row[1] not in ("id", "time", "live_bytes", "live_count")]
        self.db.execute(
            f"INSERT INTO snapshots(id, time, live_bytes, live_count, {', '.join(columns)}) "
            f"SELECT ?, ?, live_bytes + ?, live_count + ?, {', '.join(columns)} "
            "FROM snapshots WHERE id = ?",
            (self.last["snapshots"] + 1 + number, time, *live, self.last["snapshots"]))
        self.insert("timeline", time=time, alloc_count=1000 * number, free_count=900 * number,
                    alloc_bytes=live[0] // 10, live_bytes=live[0], rss_bytes=live[0] * 5 // 4,
                    vsz_bytes=live[0] * 2)

    def snapshots(self, count, sites):
        """Each site in one of them, with half of what it has in the end."""
        before = self.db.execute("SELECT max(time) FROM snapshots").fetchone()[0]
        total = 0
        for i in range(count):
            total += sum(live * size // 2 for live, size, _ in sites[i::count])
            self.snapshot(i, before + (i + 1) * .5, (total, 0))
        self.snapshot(count, before + (count + 1) * .5, (
            sum(live * size for live, size, _ in sites), sum(live for live, _, _ in sites)))
        for number, (live, size, calls) in enumerate(sites):
            self.insert("snapshot_sites", snapshot=self.last["snapshots"] + 1 + number % count,
                        site=self.last["sites"] + 1 + number, live_count=live,
                        live_bytes=live * size // 2, alloc_count=calls, alloc_bytes=calls * size,
                        free_count=calls - live)
        self.db.execute("UPDATE session SET duration = ?", (before + (count + 1) * .5,))


def main():
    path, sites, snapshots = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    db = sqlite3.connect(path)
    forge = Forge(db, seed=4)
    forge.frames()
    forge.snapshots(snapshots, [forge.site(number) for number in range(sites)])
    db.commit()
    db.close()


main()
