# SPDX-License-Identifier: MIT
"""symbols_speed.py: names of addresses of a large C++ program, how fast, and whether they are
llvm-symbolizer's.

Builds a program of --units (big_program.py), or takes --program, asks tests/tools/symbols and
llvm-symbolizer for --count addresses all over its functions, and compares each answer: the number
of frames, and of each frame function, file, line and column. llvm-symbolizer's names
are demangled by c++filt. Prints a table and how answers differ; exit status 1 if one does.
"""
import argparse
import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

import big_program
import symbols

Run = collections.namedtuple("Run", "output cpu wall peak")
MEGABYTE = 1 << 20


def measured(folder, command, text):
    """What it prints, and what it took: CPU time, wall time, peak memory in MiB."""
    paths = [os.path.join(folder, name) for name in ("asked", "answered")]
    with open(paths[0], "w", encoding="utf-8") as file:
        file.write(text)
    begin = time.monotonic()
    with open(paths[0], "rb") as asked, open(paths[1], "wb") as answered:
        child = subprocess.Popen(command, stdin=asked, stdout=answered)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"{command[0]} failed: {child.returncode}")
    with open(paths[1], encoding="utf-8", errors="surrogateescape") as file:
        return Run(file.read(), usage.ru_utime + usage.ru_stime, time.monotonic() - begin,
                   usage.ru_maxrss // 1024)


def function_addresses(path, count):
    """At even steps in what the symbol table calls functions."""
    spans = symbols.Code(path).functions
    step = max(1, sum(high - low for low, high in spans) // count)
    found, ahead = set(), 0
    for low, high in spans:
        found.update(range(low + ahead, high, step))
        ahead = (ahead - (high - low)) % step
    return sorted(found)


def demangled(answers):
    """All names by the demangler that memattach has, in one go."""
    names = sorted({frame.function for frames in answers.values() for frame in frames
                    if frame.function})
    shown = symbols.run(["c++filt", "-i"], "".join(f"{name}\n" for name in names)).splitlines()
    table = dict(zip(names, shown))
    return {address: [frame._replace(function=table.get(frame.function)) for frame in frames]
            for address, frames in answers.items()}


def plain(name):
    """Without what a compiler adds to the symbol of a function's part or copy."""
    return re.sub(r"( \[clone [^]]*\])+$", "", name or "")


def difference(ours, theirs):
    """In what the answers differ; None: in nothing."""
    if not ours or not theirs:
        return "no answer"
    if len(ours) != len(theirs):
        return "number of frames"
    for part in ("line", "column"):
        if any(getattr(a, part) != getattr(b, part) for a, b in zip(ours, theirs)):
            return part
    if any(plain(a.function) != plain(b.function) for a, b in zip(ours, theirs)):
        return "function"
    if any(not symbols.same_path(a.file, b.file) for a, b in zip(ours, theirs)):
        return "file"
    return None


class Aliases:
    """Functions that a compiler or linker made one: several symbols at the same code."""

    def __init__(self, path):
        self.names, self.places = collections.defaultdict(set), collections.defaultdict(set)
        raw = re.findall(r"^([0-9a-f]+) [TtWw] (\S+)", symbols.run(["nm", path]), re.M)
        shown = symbols.run(["c++filt", "-i"], "".join(f"{name}\n" for _, name in raw))
        for (place, _), name in zip(raw, shown.splitlines()):
            self.names[place].add(plain(name))
            self.places[plain(name)].add(place)

    def are_one(self, one, other):
        return any(plain(one) in self.names[place] for place in self.places[plain(other)])


class Comparison:
    """Answers to the same addresses, by us and by llvm-symbolizer."""

    def __init__(self, ours, theirs, addresses, aliases):
        self.count, self.examples = collections.Counter(), collections.defaultdict(list)
        self.frames = sum(len(ours.get(address, [])) for address in addresses)
        self.aliases = 0
        for address in addresses:
            kind = difference(ours.get(address), theirs.get(address))
            if kind == "function" and self.is_alias(ours[address], theirs[address], aliases):
                self.aliases += 1
            elif kind:
                self.count[kind] += 1
                self.examples[kind].append((address, ours.get(address), theirs.get(address)))

    @staticmethod
    def is_alias(ours, theirs, aliases):
        """Only the last is named by its symbol, and that is one of several."""
        return all(plain(a.function) == plain(b.function)
                   for a, b in zip(ours[:-1], theirs[:-1])) and \
            aliases.are_one(ours[-1].function, theirs[-1].function)

    def explain(self, examples):
        for kind, count in self.count.most_common():
            print(f"{count} differ in: {kind}")
            for address, ours, theirs in self.examples[kind][:examples]:
                print(f"  {address:#x}")
                for who, frames in (("memattach", ours), ("llvm", theirs)):
                    for frame in frames or []:
                        print(f"    {who:9} {frame.function} {frame.file}:{frame.line}:"
                              f"{frame.column}")


class Lab:
    """A program, and who is asked about it."""

    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.path = options.program or big_program.make(
            folder, options.units, options.types,
            [*options.cxx.split(), "-std=c++17", "-w", *options.flags.split()])
        self.addresses = function_addresses(self.path, options.count)[:options.count]

    def ask(self, tool, addresses):
        commands = {
            "memattach": [self.options.symbols, self.path],
            "memattach, by a child": [self.options.symbols, "-a", self.path],
            "llvm-symbolizer": ["llvm-symbolizer", "--addresses", "--inlines", "--no-demangle",
                                "-e", self.path],
            "addr2line": ["addr2line", "-a", "-f", "-i", "-e", self.path]}
        return measured(self.folder, commands[tool],
                        "".join(f"{address:#x}\n"[2 if tool != "llvm-symbolizer" else 0:]
                                for address in addresses))

    def compare(self):
        ours = symbols.parse_ours(self.ask("memattach", self.addresses).output)
        theirs = symbols.parse_pairs(self.ask("llvm-symbolizer", self.addresses).output)
        return Comparison(ours, demangled(theirs), self.addresses, Aliases(self.path))


def section_sizes(path):
    """MiB of the file, of its code and of its debug information."""
    sizes = collections.Counter()
    for name, size in re.findall(r"\] (\.\S+) +\S+ +[0-9a-f]+ [0-9a-f]+ ([0-9a-f]+) ",
                                 symbols.run(["readelf", "-SW", path])):
        kind = "debug" if name.startswith(".debug") else "code" if name == ".text" else "rest"
        sizes[kind] += int(size, 16)
    return os.path.getsize(path) / MEGABYTE, sizes["code"] / MEGABYTE, sizes["debug"] / MEGABYTE


def speed_table(lab):
    """CPU seconds and MiB, each tool for a thousand addresses and for all."""
    few = lab.addresses[::max(1, len(lab.addresses) // 1000)][:1000]
    rows = [f"{'':24}{'1,000 addresses':>24}{len(lab.addresses):>12,} addresses"]
    tools = ["memattach", "memattach, by a child"]
    tools += [tool for tool in ("llvm-symbolizer", "addr2line") if shutil.which(tool)]
    for tool in tools:
        short, full = lab.ask(tool, few), lab.ask(tool, lab.addresses)
        rows.append(f"{tool:24}{short.cpu:>9.2f} s {short.peak:>8} MiB{full.cpu:>13.2f} s "
                    f"{full.peak:>8} MiB")
    return "\n".join(rows)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--symbols", required=True, help="tests/tools/symbols")
    parser.add_argument("--cxx", default="c++")
    parser.add_argument("--flags", default="-O2 -g")
    parser.add_argument("--units", type=int, default=22, help="of the program, 5 MiB each")
    parser.add_argument("--types", type=int, default=8, help="in each unit")
    parser.add_argument("--program", help="a program that there is")
    parser.add_argument("--count", type=int, default=20000, help="addresses")
    parser.add_argument("--examples", type=int, default=3, help="of each difference, shown")
    parser.add_argument("--keep", help="a folder for the program")
    parser.add_argument("--check", action="store_true", help="no table of times")
    return parser.parse_args()


def main():
    options = parse_arguments()
    with tempfile.TemporaryDirectory() as folder:
        if options.keep:
            os.makedirs(options.keep, exist_ok=True)
        lab = Lab(options, options.keep or folder)
        size, code, debug = section_sizes(lab.path)
        print(f"{size:.0f} MiB: code {code:.0f}, debug information {debug:.0f}; "
              f"{options.cxx} {options.flags}")
        if not options.check:
            print(speed_table(lab))
        found = lab.compare()
        print(f"{len(lab.addresses):,} addresses, {found.frames:,} frames, "
              f"{sum(found.count.values())} answered otherwise than by llvm-symbolizer; "
              f"{found.aliases} by another of several symbols of the same code")
        found.explain(options.examples)
    return 1 if found.count or not found.frames else 0


if __name__ == "__main__":
    sys.exit(main())
