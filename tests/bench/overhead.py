# SPDX-License-Identifier: MIT
"""overhead.py - a fixed amount of work under each tool, from the start and attached.

The program times its own work; the tool's CPU time is that of all its processes, its start and
its report included. Valgrind gets a part of the work and its times are multiplied.
"""
import json
import os
import signal
import subprocess

from attach import await_armed
from runner import Command

PATIENCE = 60.0
# Units that take about half a second with no tool, and the program's description.
PROGRAMS = {
    "slots": {"units": 6000000, "text": "C, 1 thread, malloc and free only, 20,000 live blocks"},
    "containers": {"units": 200000, "text": "C++, 1 thread, strings, maps and vectors"},
    "threads": {"units": 6000000, "text": "C, 8 threads, malloc and free only, "
                                          "every 4th block freed by another thread"},
}
ATTACHED = "threads"    # the program that is also attached to
MEMATTACH = {
    "memattach --sample=512K": ["--sample=512K"],
    "memattach --sample=4096": ["--sample=4096"],
    "memattach (default)": [],
    "memattach --exact": ["--exact", "--on-overflow=block"],
}
PARTS = {"massif": 0.1}


def read_json(path):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return None


def memattach_figures(text):
    """What of memattach's report belongs into a table."""
    try:
        session = json.loads(text)["session"]
    except ValueError:
        return {}
    return {"seen": session["events"]["alloc"], "lost": session["lost"]["alloc"],
            "blocked_s": session["blocked_seconds"], "interval": session["sample_interval_bytes"]}


def heaptrack_figures(text):
    for line in text.splitlines():
        if line.strip().startswith("allocations:"):
            return {"seen": int(line.split()[1]), "lost": 0}
    return {}


def command_for(tools, config, target):
    if config in MEMATTACH:
        return [tools["memattach"], "run", "--json", *MEMATTACH[config], "--", *target]
    if config == "heaptrack":
        return [tools["heaptrack"], "-o", os.path.join(tools["work"], "preloaded"), *target]
    if config == "massif":
        return [tools["valgrind"], "-q", "--tool=massif",
                "--massif-out-file=" + os.path.join(tools["work"], "massif.out"), *target]
    return target


def figures_of(config, text):
    if config in MEMATTACH:
        return memattach_figures(text)
    return heaptrack_figures(text) if config == "heaptrack" else {}


def with_result(row, path):
    """Adds what the program wrote about itself; what it did not write is a failure."""
    program = read_json(path)
    if program:
        row |= program
        if row.pop("with_program", False):
            row["tool_cpu"] = max(0.0, row["tool_cpu"] - program["cpu_total"])
    elif row["outcome"] == "ok":
        row["outcome"] = "no result"
    return row


def fresh_path(tools, name):
    path = os.path.join(tools["work"], name)
    if os.path.exists(path):
        os.unlink(path)
    return path


def run(tools, name, config, scale):
    """The program from its start to its end under a tool."""
    result = fresh_path(tools, "result.json")
    part = PARTS.get(config, 1.0)
    units = int(PROGRAMS[name]["units"] * scale * part)
    target = [tools[name], str(units), result]
    command = Command(command_for(tools, config, target), program=tools[name],
                      mixed=config == "heaptrack")
    outcome, text = command.wait(PATIENCE)
    cpu, peak = command.cost()
    row = {"outcome": outcome, "part": part, "tool_cpu": cpu, "with_program": True,
           "tool_kib": 0 if config == "massif" else peak, "complaint": command.complaint()}
    return with_result(row | figures_of(config, text), result)


class Waiting:
    """A program that waits for a tool before its work, and for its leave after it."""

    def __init__(self, tools, name, scale):
        self.result = fresh_path(tools, "result.json")
        units = int(PROGRAMS[name]["units"] * scale)
        self.command = Command([tools[name], str(units), self.result, "wait"],
                               stdin=subprocess.PIPE)
        self.pid = self.command.pid
        self.command.read_line("ready", PATIENCE)

    def work(self):
        """Returns whether it came to the end of its work."""
        self.command.write("g")
        return self.command.read_line("done", PATIENCE) is not None

    def end(self):
        self.command.write("q")
        return self.command.wait(PATIENCE)[0]


def attach_command(tools, config, pid):
    if config in MEMATTACH:
        return [tools["memattach"], "-p", str(pid), "--json", *MEMATTACH[config]]
    return ["bash", tools["heaptrack"], "-o", os.path.join(tools["work"], "attached"),
            "-p", str(pid)]


def attached(tools, name, config, scale):
    """The work alone under a tool that was attached before it."""
    program = Waiting(tools, name, scale)
    row = {"part": 1.0, "tool_cpu": 0.0, "tool_kib": 0, "outcome": "ok"}
    if config == "nothing":
        program.work()
    else:
        row |= attached_session(tools, program, config)
    outcome = program.end()
    if outcome != "ok":
        row["outcome"] = "program " + outcome
    return with_result(row, program.result)


def attached_session(tools, program, config):
    tool = Command(attach_command(tools, config, program.pid), program=tools[ATTACHED],
                   mixed=config == "heaptrack")
    armed = (await_armed(tools, program.pid) if config in MEMATTACH else
             tool.read_line("injection finished", PATIENCE))
    done = program.work()
    tool.process.send_signal(signal.SIGINT)
    outcome, text = tool.wait(PATIENCE)
    cpu, peak = tool.cost(alive=[program.pid])
    if config == "heaptrack" and outcome == "killed by SIGINT":
        outcome = "ok"
    if not armed or not done:
        outcome = "work not done" if armed else "not attached"
    return {"outcome": outcome, "tool_cpu": cpu, "tool_kib": peak,
            "complaint": tool.complaint(), **figures_of(config, text)}


def configs(tools):
    """All that can be measured here, nothing first."""
    return ["nothing", *MEMATTACH, *(["heaptrack"] if tools["heaptrack"] else []),
            *(["massif"] if tools["valgrind"] else [])]


def attached_configs(tools):
    both = tools["heaptrack"] and tools["gdb"]
    return ["nothing", *MEMATTACH, *(["heaptrack"] if both else [])]
