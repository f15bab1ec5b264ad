# SPDX-License-Identifier: MIT
"""Names of addresses by memattach, by binutils addr2line and by backtrace_symbols(), compared.

Builds tests/victims/symbols_library.cc at several levels of optimisation, with and without debug
information, asks for the return addresses of real stacks, of which the library knows the truth,
and for addresses all over its code, and counts what each gives. Prints the tables of
docs/SYMBOLS.md; --document brings them up to date there; --check fails where memattach gives less
than addr2line, or is wrong.

Where two differ llvm-symbolizer is asked as a third, if it is installed.
"""
import argparse
import bisect
import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile

Frame = collections.namedtuple("Frame", "function file line column")
Stack = collections.namedtuple("Stack", "returns calls")
Build = collections.namedtuple("Build", "level debug path")

LEVELS = ("-O0", "-O1", "-O2", "-O3", "-Os")
TOOLS = ("ours", "addr2line", "backtrace_symbols")
SOURCE = "symbols_library.cc"
BEGIN = "<!-- measured: symbols.py writes from here -->"
END = "<!-- to here -->"


def run(command, text=None):
    return subprocess.run(command, input=text, stdout=subprocess.PIPE, text=True, check=True).stdout


# --- What is compared --------------------------------------------------------

class Lab:
    """The compilers, the programs and where they are put."""

    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.victims = os.path.join(options.source, "tests", "victims")
        self.program = os.path.join(folder, "program")
        run([*options.cc.split(), "-std=gnu11", "-D_GNU_SOURCE", "-g", "-I", options.source, "-o",
             self.program, os.path.join(self.victims, "symbols_program.c"), "-ldl"])

    def build(self, level, debug):
        path = os.path.join(self.folder, f"library{level}{'-g' if debug else ''}.so")
        run([*self.options.cxx.split(), "-std=c++17", level, *(["-g"] if debug else []), "-fPIC",
             "-shared", "-I", self.options.source, "-o", path, os.path.join(self.victims, SOURCE)])
        return Build(level, debug, path)


def read_stacks(lines):
    stacks = []
    for line in lines:
        word, *rest = line.split(" ", 2)
        if word == "stack":
            stacks.append(Stack([], []))
        elif word == "return":
            stacks[-1].returns.append((int(rest[0], 16), rest[1]))
        elif word == "call":
            stacks[-1].calls.append((rest[0], int(rest[1])))
    return stacks


class Code:
    """Executable sections and functions of a file, by readelf."""

    def __init__(self, path):
        sections = re.findall(r"\] (\S+) +PROGBITS +([0-9a-f]+) [0-9a-f]+ ([0-9a-f]+) \S+ +AX",
                              run(["readelf", "-SW", path]))
        self.sections = [(name, int(low, 16), int(size, 16)) for name, low, size in sections]
        symbols = re.findall(r": ([0-9a-f]{16}) +(\d+) FUNC +\S+ +\S+ +\d+ ",
                             run(["readelf", "-sW", path]))
        self.functions = sorted({(int(low, 16), int(low, 16) + int(size))
                                 for low, size in symbols if int(size)})

    def is_function(self, address):
        at = bisect.bisect_right(self.functions, (address, 1 << 64))
        return any(low <= address < high for low, high in self.functions[max(0, at - 4):at])

    def addresses(self, count):
        step = max(1, sum(size for _, _, size in self.sections) // count)
        return [low + at for _, low, size in self.sections for at in range(0, size, step)]


# --- Who is asked ------------------------------------------------------------

def known(text):
    return None if text in ("", "?", "??") else text


def parse_ours(text):
    answers = {}
    for line in text.splitlines():
        if line.startswith("0x"):
            frames = answers.setdefault(int(line, 16), [])
            frames.clear()
        else:
            _, function, file, number, column = line.split("\t")
            frames.append(Frame(known(function), known(file), int(number), int(column)))
    return answers


def parse_pairs(text):
    """addr2line -afiC and llvm-symbolizer --addresses: an address, then two lines a frame."""
    answers, lines = {}, iter(text.splitlines())
    for line in lines:
        if line.startswith("0x"):
            frames = answers.setdefault(int(line, 16), [])
            frames.clear()
        elif line:
            place = re.sub(r" \(discriminator \d+\)$", "", next(lines))
            file, *numbers = re.fullmatch(r"(.*?):([0-9?]+)(?::(\d+))?", place).groups()
            number, column = (int(n) if n and n.isdigit() else 0 for n in numbers)
            frames.append(Frame(known(line), known(file), number, column))
    return answers


class Witness:
    """Answers of all tools about addresses of one build; return addresses are calls."""

    def __init__(self, lab, build, addresses, are_returns, texts):
        plain = "".join(f"{address - are_returns:#x}\n" for address in addresses)
        self.shift = 1 if are_returns else 0
        self.answers = {
            "ours": parse_ours(run([lab.options.symbols, build.path], "".join(
                f"{'r' if are_returns else ''}{address:x}\n" for address in addresses))),
            "addr2line": self.back(parse_pairs(run(
                ["addr2line", "-a", "-f", "-i", "-C", "-e", build.path], plain))),
            "backtrace_symbols": {address: [Frame(dynamic_name(texts[address]), None, 0, 0)]
                                  for address in addresses}}
        self.judge = {}
        if lab.options.llvm:
            self.judge = self.back(parse_pairs(run(
                ["llvm-symbolizer", "--addresses", "--inlines", "-e", build.path], plain)))

    def back(self, answers):
        return {address + self.shift: frames for address, frames in answers.items()}


def dynamic_name(text):
    """Of "library.so(name+0x12) [0x...]"."""
    found = re.search(r"\(([^)+]+)\+0x[0-9a-f]+\) \[", text)
    return found.group(1) if found else None


# --- The truth, and who is right ---------------------------------------------

def short_name(name):
    """The source's own: f of "int shop::f<int>(int) const [clone .cold]"."""
    if not name:
        return None
    name = name.replace("(anonymous namespace)", "_")
    name = re.sub(r" \[clone .*| \(\..*|\.[a-z]+[.\d]*$", "", name)
    name = re.sub(r"\{lambda\(.*?\)#\d+\}$", "operator()", name)
    name = name.replace("operator()", "operator@").replace("operator<", "operator@")
    while re.search(r"<[^<>]*>|\([^()]*\)", name):
        name = re.sub(r"<[^<>]*>|\([^()]*\)", "", name)
    name = re.sub(r"( const)?( \[.*)?$", "", name)
    return re.split(r"[ :&*]", name)[-1].replace("operator@", "operator()")


def common(left, right):
    """How many of left are in right, in the same order."""
    row = [0] * (len(right) + 1)
    for x in left:
        diagonal = 0
        for i, y in enumerate(right, 1):
            above = row[i]
            row[i] = diagonal + 1 if x == y else max(row[i], row[i - 1])
            diagonal = above
    return row[-1]


def mangled(name):
    """What __func__ is of _ZL5smalli: enough for the little that is exported."""
    found = re.match(r"_Z[A-Z]*?(\d+)", name or "")
    return name[found.end():found.end() + int(found.group(1))] if found else name


class Score(collections.Counter):
    """Figures of one build: by what and tool."""

    def add_stacks(self, stacks, witness):
        for stack in stacks:
            self["calls"] += len(stack.calls)
            for tool in TOOLS:
                frames = [frame for address, _ in stack.returns
                          for frame in witness.answers[tool].get(address, [])]
                names = [(short_name(mangled(f.function)), f.line) for f in frames]
                self["names", tool] += common([call[0] for call in stack.calls],
                                              [name for name, _ in names])
                self["lines", tool] += common(stack.calls, names)

    def add_answers(self, addresses, witness):
        self["addresses"] += len(addresses)
        for tool in TOOLS:
            for address in addresses:
                frames = witness.answers[tool].get(address, [])
                for part in Frame._fields:
                    self[part, tool] += bool(frames) and bool(getattr(frames[0], part))
                self["inlined", tool] += max(0, len(frames) - 1)


KINDS = {
    "padding": "addr2line names bytes between functions after the function before them",
    "missing": "addr2line knows what memattach does not",
    "frames": "another number of inlined functions",
    "line": "another line",
    "file": "another file",
    "inner": "addr2line gives the innermost inlined function the name of the one that it was "
             "inlined into",
    "name": "another function",
    "parameters": "addr2line leaves out parameters of a function",
}


def same_path(left, right):
    return left == right or (left and right and os.path.normpath(left) == os.path.normpath(right))


def kind_of(ours, theirs, is_function):
    """How the two answers differ: a key of KINDS, None if they do not."""
    pairs = list(zip(ours, theirs))
    lacks = any(getattr(theirs[0], part) and not getattr(ours[0], part)
                for part in ("function", "file", "line"))
    if not is_function:
        return "padding" if theirs[0].function and not ours[0].function else None
    if lacks or len(ours) < len(theirs):
        return "missing"
    if len(ours) > len(theirs):
        return "frames"
    for kind, differs in (
            ("line", lambda a, b: a.line != b.line),
            ("file", lambda a, b: not same_path(a.file, b.file))):
        if any(differs(a, b) for a, b in pairs):
            return kind
    names = [(a.function, b.function) for a, b in pairs]
    if any(short_name(a) != short_name(b) for a, b in names):
        return "inner" if short_name(names[0][1]) == short_name(names[-1][0]) else "name"
    return "parameters" if any(a != b for a, b in names) else None


def agrees(frames, judge):
    return len(frames) == len(judge) and all(
        short_name(a.function) == short_name(b.function) and a.line == b.line and
        os.path.basename(a.file or "") == os.path.basename(b.file or "")
        for a, b in zip(frames, judge))


class Disagreements:
    """By kind: how many, what llvm-symbolizer says, the first of them."""

    def __init__(self):
        self.count, self.sides, self.example = collections.Counter(), {}, {}

    def add(self, build, addresses, witness, code):
        for address in addresses:
            ours, theirs = (witness.answers[tool].get(address) for tool in TOOLS[:2])
            kind = kind_of(ours, theirs, code.is_function(address - witness.shift))
            if not kind:
                continue
            self.count[kind] += 1
            judge = witness.judge.get(address)
            if judge:
                sides = self.sides.setdefault(kind, collections.Counter())
                sides[agrees(ours, judge), agrees(theirs, judge)] += 1
            self.example.setdefault(kind, (build, address, ours, theirs, judge))


# --- All of it ---------------------------------------------------------------

def examine(lab, build, count, disagreements):
    code = Code(build.path)
    addresses = code.addresses(count)
    lines = run([lab.program, build.path],
                "".join(f"{address:x}\n" for address in addresses)).splitlines()
    texts = {int(line.split()[1], 16): line for line in lines if line.startswith("address")}
    stacks = read_stacks(lines)
    returns = {address: text for stack in stacks for address, text in stack.returns}
    score = Score(stacks=len(stacks))
    for asked, are_returns, known_texts in ((addresses, False, texts),
                                            (sorted(returns), True, returns)):
        witness = Witness(lab, build, asked, are_returns, known_texts)
        disagreements.add(build, asked, witness, code)
        score.add_answers([address for address in asked
                           if code.is_function(address - witness.shift)], witness)
    score.add_stacks(stacks, witness)
    return score


def table(head, rows):
    return "\n".join("| " + " | ".join(row) + " |"
                     for row in [head, ["---"] * len(head)] + rows)


def title(build):
    return f"`{build.level}{' -g' if build.debug else ''}`"


def cell(score, what, tools=TOOLS):
    return " / ".join(f"{score[what, tool]:,}" for tool in tools)


def stack_table(scores):
    return table(
        ["build", "stacks", "calls", "functions right", "functions and lines right"],
        [[title(build), str(score["stacks"]), f"{score['calls']:,}", cell(score, "names"),
          cell(score, "lines", TOOLS[:2])] for build, score in scores])


def answer_table(scores):
    return table(
        ["build", "addresses", "function", "file", "line", "column", "inlined frames"],
        [[title(build), f"{score['addresses']:,}"] +
         [cell(score, what, TOOLS if what == "function" else TOOLS[:2])
          for what in Frame._fields + ("inlined",)] for build, score in scores])


def shortened(name):
    return name if len(name) < 60 else name[:56] + " ..."


def shown(frames):
    return "; ".join(
        f"{shortened(frame.function or 'nothing')} {os.path.basename(frame.file or '')}"
        f"{':' + str(frame.line) if frame.line else ''}".strip() for frame in frames or [])


def who(sides):
    ours = sum(n for (us, them), n in sides.items() if us and not them)
    theirs = sum(n for (us, them), n in sides.items() if them and not us)
    both = sum(n for (us, them), n in sides.items() if us and them)
    parts = [f"memattach {ours:,}" if ours else "", f"addr2line {theirs:,}" if theirs else "",
             f"both {both:,}" if both else ""]
    rest = sum(sides.values()) - ours - theirs - both
    return ", ".join(part for part in parts + [f"none {rest:,}" if rest else ""] if part)


def disagreement_table(found):
    rows = []
    for kind, count in found.count.most_common():
        build, address, ours, theirs, _ = found.example[kind]
        rows.append([KINDS[kind], f"{count:,}", who(found.sides.get(kind, {})) or "–",
                     f"{title(build)} {address:#x}: `{shown(ours)}`, addr2line `{shown(theirs)}`"])
    return table(["how they differ", "addresses", "llvm-symbolizer sides with", "the first"], rows)


def versions(options):
    first = [run([*tool.split(), "--version"]).splitlines()[0]
             for tool in (options.cxx, "addr2line")]
    if options.llvm:
        first.append("llvm-symbolizer " + re.search(
            r"version ([\d.]+)", run(["llvm-symbolizer", "--version"])).group(1))
    return "; ".join(first)


def document(options, scores, found):
    return "\n\n".join([
        versions(options) + ".", "## Real stacks", stack_table(scores), "## All over the code",
        answer_table(scores), "## Where they differ", disagreement_table(found)]) + "\n"


def replace_in(path, text):
    with open(path, encoding="utf-8") as file:
        before, rest = file.read().split(BEGIN)
    after = rest.split(END)[1]
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{before}{BEGIN}\n\n{text}\n{END}{after}")


def problems(scores, found):
    """What --check calls wrong: an empty list if memattach is as good everywhere."""
    wrong = []
    if found.count["missing"]:
        build, address, ours, theirs, _ = found.example["missing"]
        wrong.append(f"{title(build)} {address:#x}: memattach {shown(ours)}, "
                     f"addr2line {shown(theirs)}")
    for kind, sides in found.sides.items():
        if any(them and not us for us, them in sides):
            wrong.append(f"{KINDS[kind]}: llvm-symbolizer sides with addr2line, "
                         f"{found.example[kind]}")
    for build, score in scores:
        right = [score["lines" if build.debug else "names", tool] for tool in TOOLS[:2]]
        if right[0] < right[1] or (build.debug and right[0] != score["calls"]):
            wrong.append(f"{title(build)}: of {score['calls']} calls {right[0]} right, "
                         f"addr2line {right[1]}")
        if not score["addresses"] or not score["calls"] or not score["function", "addr2line"]:
            wrong.append(f"{title(build)}: nothing was compared")
    return wrong


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", required=True, help="of memattach")
    parser.add_argument("--symbols", required=True, help="tests/tools/symbols")
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--cxx", default="c++")
    parser.add_argument("--count", type=int, default=4000, help="addresses a build, about")
    parser.add_argument("--levels", default=",".join(LEVELS))
    parser.add_argument("--document", help="with markers, to be brought up to date")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    options.llvm = bool(shutil.which("llvm-symbolizer"))
    return options


def main():
    options, found = parse_arguments(), Disagreements()
    with tempfile.TemporaryDirectory() as folder:
        lab = Lab(options, folder)
        builds = [lab.build(level, debug) for level in options.levels.split(",")
                  for debug in (True, False)]
        scores = [(build, examine(lab, build, options.count, found)) for build in builds]
    text = document(options, scores, found)
    print(text)
    if options.document:
        replace_in(options.document, text)
    wrong = problems(scores, found) if options.check else []
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
