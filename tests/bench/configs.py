# SPDX-License-Identifier: MIT
"""configs.py - what programs are measured under: a table, and what each tool is told.

A new option of memattach, or a new setting of another tool, is a row of CONFIGS; a new tool is a
row and a class in TOOLS. Whatever is not installed, or a memattach that does not know an
option, is left out; the tables say so. Everything that a tool writes goes to one folder, whose
size is that of its output.
"""
import dataclasses
import glob
import json
import os
import re
import subprocess

RUN, ATTACH = "run", "attached"
BOTH = (RUN, ATTACH)


@dataclasses.dataclass(frozen=True)
class Config:
    """One row: a tool with its settings, and how much of the work it can be asked to do."""
    name: str
    tool: str
    options: tuple = ()
    preload: str = ""           # an allocator in the place of libc's
    base: str = "nothing"       # what it is compared with: the same allocator without the tool
    ways: tuple = (RUN,)
    part: float = 1.0           # of the work; its times are divided by it
    slow: bool = False          # in the first repetition only
    exact: bool = False         # sees every call: its counts must be the program's own


CONFIGS = (
    Config("nothing", "nothing", ways=BOTH),
    Config("memattach --counts=totals", "memattach", ("--counts=totals",), ways=BOTH, exact=True),
    Config("memattach --counts", "memattach", ("--counts",), ways=BOTH, exact=True),
    Config("memattach (default)", "memattach", ways=BOTH),
    Config("memattach --sample=512K", "memattach", ("--sample=512K",), ways=BOTH),
    Config("memattach --sample=4096", "memattach", ("--sample=4096",), ways=BOTH),
    Config("memattach --exact, drops", "memattach", ("--exact",), ways=BOTH),
    Config("memattach --exact", "memattach", ("--exact", "--on-overflow=block"), ways=BOTH,
           exact=True),
    Config("heaptrack", "heaptrack", ways=BOTH, exact=True),
    Config("jemalloc", "nothing", preload="jemalloc"),
    Config("jemalloc, prof 512K", "jemalloc", (19,), "jemalloc", "jemalloc"),
    Config("jemalloc, prof 4K", "jemalloc", (12,), "jemalloc", "jemalloc"),
    Config("tcmalloc", "nothing", preload="tcmalloc"),
    Config("tcmalloc, sampling 512K", "tcmalloc", (524288,), "tcmalloc", "tcmalloc"),
    Config("tcmalloc, HEAPPROFILE", "heapprofile", (), "tcmalloc", "tcmalloc",
           part=0.02, slow=True),
    Config("massif", "massif", part=0.1, slow=True),
    Config("dhat", "dhat", part=0.05, slow=True),
    Config("bpftrace", "bpftrace", part=0.02, slow=True),
)

LIBRARIES = {"jemalloc": "libjemalloc.so.2", "tcmalloc": "libtcmalloc.so.4",
             "mimalloc": "libmimalloc.so.2"}


def library(name):
    """The path of an allocator; None: it is not installed."""
    found = [path for folder in ("/usr/lib/*-linux-gnu", "/usr/lib64", "/usr/local/lib")
             for path in glob.glob(os.path.join(folder, LIBRARIES[name]))]
    return found[0] if found else None


def preloaded(name, *variables):
    """The beginning of a command line that has a program use the allocator."""
    return ["env", "LD_PRELOAD=" + library(name), *variables]


# --- The tools ---------------------------------------------------------------

class Nothing:
    """The program alone."""
    own_memory = False      # whether the tool has processes of its own, whose memory counts
    mixed = False           # whether its figures may be on the standard error

    def __init__(self, tools, config):
        self.tools, self.config = tools, config

    def here(self):
        return True

    def command(self, target, _):
        return target

    def figures(self, _):
        return {}


class Memattach(Nothing):
    own_memory = True

    def here(self):
        """An option it does not know is a wrong usage."""
        done = subprocess.run([self.tools["memattach"], "run", *self.config.options, "--",
                               "true"], capture_output=True, check=False, timeout=60)
        return done.returncode != 2

    def told(self, out):
        return ["--json", "-o", os.path.join(out, "recording"), *self.config.options]

    def command(self, target, out):
        return [self.tools["memattach"], "run", *self.told(out), "--", *target]

    def attach_command(self, pid, out):
        return [self.tools["memattach"], "-p", str(pid), *self.told(out)]

    def figures(self, text):
        try:
            report = json.loads(text)
        except ValueError:
            return {}
        session, totals = report.get("session", {}), report.get("totals", {})
        events, lost = session.get("events", {}), session.get("lost", {})
        if session.get("mode") == "counts":     # there are no events
            events = {"alloc": totals.get("alloc_count"), "free": totals.get("free_count")}
        known = {"seen": events.get("alloc"), "seen_frees": events.get("free"),
                 "seen_bytes": totals.get("alloc_bytes"), "lost": lost.get("alloc"),
                 "lost_frees": lost.get("free"), "blocked_s": session.get("blocked_seconds"),
                 "interval": session.get("sample_interval_bytes"),
                 "own_percent": session.get("overhead_percent")}
        return {key: value for key, value in known.items() if value is not None}


class Heaptrack(Nothing):
    own_memory = mixed = True

    def here(self):
        return self.tools["heaptrack"]

    def can_attach(self):
        return self.tools["gdb"]

    def command(self, target, out):
        return [self.tools["heaptrack"], "-o", os.path.join(out, "heaptrack"), *target]

    def attach_command(self, pid, out):
        """By bash: under Debian's sh it does not clean up after Ctrl-C."""
        return ["bash", self.tools["heaptrack"], "-o", os.path.join(out, "heaptrack"),
                "-p", str(pid)]

    def figures(self, text):
        found = {name: int(number) for name, number in re.findall(
            r"^\s*(allocations|leaked allocations):\s*(\d+)", text, re.MULTILINE)}
        if "allocations" not in found:
            return {}
        return {"seen": found["allocations"], "lost": 0, "lost_frees": 0,
                "seen_frees": found["allocations"] - found.get("leaked allocations", 0)}


class Preloaded(Nothing):
    """An allocator that can profile itself, told to by a variable."""

    def here(self):
        return library(self.config.preload)

    def variables(self, _):
        return []

    def command(self, target, out):
        return preloaded(self.config.preload, *self.variables(out)) + target


class Jemalloc(Preloaded):
    def variables(self, out):
        return ["MALLOC_CONF=prof:true,prof_final:true,prof_prefix:" +
                os.path.join(out, "jeprof") +
                f",lg_prof_sample:{self.config.options[0]}"]

    def here(self):
        """Whether it is there, and was built to profile: else it complains of the setting."""
        if not library("jemalloc"):
            return False
        done = subprocess.run(preloaded("jemalloc", "MALLOC_CONF=prof:true") + ["true"],
                              capture_output=True, text=True, check=False, timeout=60)
        return "Invalid" not in done.stderr


class Tcmalloc(Preloaded):
    def variables(self, _):
        return [f"TCMALLOC_SAMPLE_PARAMETER={self.config.options[0]}"]


class Heapprofile(Preloaded):
    def variables(self, out):
        return ["HEAPPROFILE=" + os.path.join(out, "heap")]


class Valgrind(Nothing):
    """It is one process with the program: its memory is the program's."""

    def here(self):
        return self.tools["valgrind"]

    def command(self, target, out):
        tool = self.config.tool
        return [self.tools["valgrind"], "-q", f"--tool={tool}",
                f"--{tool}-out-file=" + os.path.join(out, tool), *target]


class Bpftrace(Nothing):
    """Counts and bytes of each stack, live blocks in a map: the least that a profiler does."""
    own_memory = True
    SCRIPT = ("uprobe:LIBC:malloc { @size[tid] = arg0; @stack[tid] = ustack; } "
              "uretprobe:LIBC:malloc /@size[tid]/ { @calls[@stack[tid]] = count(); "
              "@live[retval] = @size[tid]; delete(@size[tid]); } "
              "uprobe:LIBC:free /arg0/ { delete(@live[arg0]); } END { clear(@live); }")

    def here(self):
        return self.tools["bpftrace"] and os.geteuid() == 0

    def command(self, target, out):
        libc = next(iter(glob.glob("/lib/*-linux-gnu/libc.so.6")), "libc")
        return [self.tools["bpftrace"], "-q", "-o", os.path.join(out, "bpftrace"),
                "-e", self.SCRIPT.replace("LIBC", libc), "-c", " ".join(target)]


TOOLS = {"nothing": Nothing, "memattach": Memattach, "heaptrack": Heaptrack,
         "jemalloc": Jemalloc, "tcmalloc": Tcmalloc, "heapprofile": Heapprofile,
         "massif": Valgrind, "dhat": Valgrind, "bpftrace": Bpftrace}


def tool_of(tools, config):
    if config.tool == "nothing" and config.preload:
        return Preloaded(tools, config)
    return TOOLS[config.tool](tools, config)


def here(tools, rows=CONFIGS):
    """The rows that can be measured here."""
    return [row for row in rows if tool_of(tools, row).here()]


def can_attach(tools, config):
    tool = tool_of(tools, config)
    return ATTACH in config.ways and getattr(tool, "can_attach", lambda: True)()
