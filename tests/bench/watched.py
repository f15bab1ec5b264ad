# SPDX-License-Identifier: MIT
"""watched.py - one run of one program under one configuration, from its start or attached.

The program times its own work; the tool's CPU time is that of all its processes, its start and
its report included. How it ended is in "outcome": "ok", or what went wrong in words.
"""
import json
import os
import shutil
import signal
import subprocess

import configs
from attach import await_armed
from runner import Command

patience = 120.0        # seconds until something counts as hanging


def read_json(path):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return None


class Place:
    """Where one run writes: the program its result, the tool its output."""

    def __init__(self, work):
        self.out = os.path.join(work, "out")
        self.result = os.path.join(work, "result.json")
        shutil.rmtree(self.out, ignore_errors=True)
        os.mkdir(self.out)
        if os.path.exists(self.result):
            os.unlink(self.result)

    def out_bytes(self):
        return sum(entry.stat().st_size for entry in os.scandir(self.out) if entry.is_file())


def with_result(row, place, with_program):
    """Adds what the program wrote about itself; what it did not write is a failure."""
    program = read_json(place.result)
    row["out_bytes"] = place.out_bytes()
    if program:
        row |= program
        if with_program:
            row["tool_cpu"] = max(0.0, row["tool_cpu"] - program["cpu_total"])
    elif row["outcome"] == "ok":
        row["outcome"] = "no result"
    return row


def run(tools, config, program, units, threads=()):
    """The program from its start to its end under a tool."""
    place = Place(tools["work"])
    tool = configs.tool_of(tools, config)
    target = [tools[program], str(units), place.result, *map(str, threads)]
    command = Command(tool.command(target, place.out), program=tools[program], mixed=tool.mixed)
    outcome, text = command.wait(patience)
    cpu, peak = command.cost()
    row = {"outcome": outcome, "tool_cpu": cpu, "tool_kib": peak if tool.own_memory else 0,
           "complaint": command.complaint()}
    return with_result(row | tool.figures(text), place, True)


class Waiting:
    """A program that waits for a tool before its work, and for its leave after it."""

    def __init__(self, before, program, units, result, threads=()):
        self.command = Command([*before, program, str(units), result, *map(str, threads), "wait"],
                               stdin=subprocess.PIPE)
        self.pid, self.program = self.command.pid, program
        self.command.read_line("ready", patience)

    def work(self):
        """Returns whether it came to the end of its work."""
        self.command.write("g")
        return self.command.read_line("done", patience) is not None

    def end(self):
        self.command.write("q")
        return self.command.wait(patience)[0]


def attached(tools, config, program, units, threads=(), before=()):
    """The work alone under a tool that was attached before it. before: as configs.preloaded."""
    place = Place(tools["work"])
    waiting = Waiting(before, tools[program], units, place.result, threads)
    row = {"tool_cpu": 0.0, "tool_kib": 0, "outcome": "ok"}
    if config.tool == "nothing":
        waiting.work()
    else:
        row |= session(tools, waiting, configs.tool_of(tools, config), place)
    outcome = waiting.end()
    if outcome != "ok":
        row["outcome"] = "program " + outcome
    return with_result(row, place, False)


def session(tools, waiting, tool, place):
    """Attach, the work, detach."""
    command = Command(tool.attach_command(waiting.pid, place.out), program=waiting.program,
                      mixed=tool.mixed)
    heaptrack = isinstance(tool, configs.Heaptrack)
    armed = (command.read_line("injection finished", patience) if heaptrack else
             await_armed(tools, waiting.pid))
    done = waiting.work()
    command.process.send_signal(signal.SIGINT)
    outcome, text = command.wait(patience)
    cpu, peak = command.cost(alive=[waiting.pid])
    if heaptrack and outcome == "killed by SIGINT":
        outcome = "ok"      # its shell ends by the signal that asked it to
    if not armed or not done:
        outcome = "work not done" if armed else "not attached"
    return {"outcome": outcome, "tool_cpu": cpu, "tool_kib": peak,
            "complaint": command.complaint(), **tool.figures(text)}
