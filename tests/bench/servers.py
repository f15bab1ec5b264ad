#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""servers.py NAME --into FILE: one server under load, bare and watched at the default budget.

Pair by pair: the same number of requests over the same connections without memattach and with it
attached, in an order that changes from pair to pair, so that what drifts meets both alike. CPU
time is the task clock of all threads of the process (/proc/PID/task/*/schedstat); that of
memattach is of all its processes in the same window. What attach, detach and report take is
apart. servers.sh starts the servers; the figures are added to FILE.
"""
import argparse
import json
import os
import signal
import subprocess
import sys
import time

import measure
import runner
from attach import await_armed
from runner import Command

PATIENCE = 120.0
SETTLE = 0.5        # windows of load before the one that counts
SCHEMA = 1


def task_clock_ns(pids):
    """CPU time of all living threads of the processes."""
    total = 0
    for pid in pids:
        for path in task_paths(pid):
            try:
                with open(path, encoding="ascii") as file:
                    total += int(file.read().split()[0])
            except OSError:
                pass        # it has ended meanwhile
    return total


def task_paths(pid):
    try:
        return [f"/proc/{pid}/task/{task}/schedstat" for task in os.listdir(f"/proc/{pid}/task")]
    except OSError:
        return []


class Load:
    """A server_load process."""

    def __init__(self, programs, protocol, address, connections):
        self.process = subprocess.Popen(
            [os.path.join(programs, "server_load"), protocol, address, str(connections)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline() != "ready\n":
            sys.exit("the load does not start")

    def make(self, requests):
        """Returns its figures."""
        self.process.stdin.write(f"{requests}\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            sys.exit("the load ended early")
        return json.loads(line)

    def end(self):
        self.process.stdin.close()
        self.process.wait(PATIENCE)


class Server:
    """A server, what it is loaded with, and how many requests a window has."""

    def __init__(self, options, tools, load):
        self.options, self.tools, self.load = options, tools, load
        self.pid = options.pid or find(options.find)
        self.requests = self.calibrated(options.seconds)

    def calibrated(self, seconds):
        """So many that they take about so long; a first load fills caches and tables."""
        self.load.make(self.options.warm)
        figures = self.load.make(self.options.warm)
        return max(100, int(figures["requests"] / figures["wall"] * seconds))

    def settle(self):
        self.load.make(max(1, int(self.requests * SETTLE)))

    def window(self, others=()):
        """One window: figures of the load, CPU time of the server and of other processes."""
        before, others_before = task_clock_ns([self.pid]), task_clock_ns(others)
        figures = self.load.make(self.requests)
        return figures | {"cpu_ns": task_clock_ns([self.pid]) - before,
                          "tool_ns": task_clock_ns(others) - others_before}

    def bare(self):
        self.settle()
        return self.window()

    def watched(self):
        tool = Command([self.tools["memattach"], "-p", str(self.pid), "--json"])
        if not await_armed(self.tools, self.pid):
            tool.process.send_signal(signal.SIGINT)
            said = f"never armed, {tool.wait(PATIENCE)[0]}"
            return {"outcome": said, "complaint": tool.complaint()}
        self.settle()
        figures = self.window(runner.descendants(tool.pid))
        tool.process.send_signal(signal.SIGINT)
        outcome, text = tool.wait(PATIENCE)
        cpu, _ = tool.cost(alive=[self.pid, self.load.process.pid])
        if outcome != "ok":
            return {"outcome": outcome, "complaint": tool.complaint()}
        session = json.loads(text)["session"]
        return figures | {"outcome": "ok", "tool_all_s": cpu, "lost": session["lost"]["alloc"],
                          "own_percent": session["overhead_percent"],
                          "interval": session["sample_interval_bytes"],
                          "seen": session["events"]["alloc"]}

    def pair(self, number):
        """In this order or the other."""
        if number % 2:
            watched = self.watched()
            return {"bare": self.bare(), "watched": watched}
        bare = self.bare()
        return {"bare": bare, "watched": self.watched()}


def find(command):
    """The process that a shell command prints the id of, as soon as it does."""
    end = time.monotonic() + 20
    while time.monotonic() < end:
        done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
        if done.stdout.strip().isdigit():
            return int(done.stdout)
        time.sleep(0.1)
    sys.exit(f"no process: {command}")


def measured(options):
    tools = {"memattach": os.environ["MEMATTACH"],
             "ringwatch": os.path.join(options.programs, "ringwatch")}
    load = Load(options.programs, options.protocol, options.address, options.connections)
    server = Server(options, tools, load)
    pairs = []
    for number in range(options.pairs):
        pairs.append(server.pair(number))
        watched = pairs[-1]["watched"]
        bare = pairs[-1]["bare"]["cpu_ns"] / server.requests / 1e3
        measure.note(f"  {options.name}, pair {number + 1}: bare {bare:.2f} us, watched "
                     f"{watched.get('cpu_ns', 0) / server.requests / 1e3:.2f} us + "
                     f"{watched.get('tool_ns', 0) / server.requests / 1e3:.2f} us a request, "
                     f"{watched['outcome']} {watched.get('complaint', '')}")
    load.end()
    return {"connections": options.connections, "requests": server.requests,
            "version": options.version, "text": options.text, "pairs": pairs}


def opened(path):
    """The run so far; a new one if there is none."""
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except OSError:
        tools = {name: None for name in ("heaptrack", "gdb", "valgrind", "bpftrace")}
        versions = measure.versions(tools | {"memattach": os.environ["MEMATTACH"]})
        return {"schema": SCHEMA, "machine": measure.machine(),
                "versions": {name: versions[name] for name in ("memattach", "compiler")},
                "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()), "scale": 1,
                "load_begin": os.getloadavg()[0], "servers": {}, "began": time.time()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    for name in ("into", "programs", "protocol", "address"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--pid", type=int)
    parser.add_argument("--find", help="shell command that prints the process's id")
    parser.add_argument("--version", default="")
    parser.add_argument("--text", default="", help="what the requests are")
    parser.add_argument("--connections", type=int, default=4)
    parser.add_argument("--warm", type=int, default=5000, help="requests before all others")
    parser.add_argument("--pairs", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=1.5, help="a window without memattach")
    options = parser.parse_args()
    runner.adopt_orphans()
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: sys.exit(1))
    run = opened(options.into)
    try:
        run["servers"][options.name] = measured(options)
    finally:
        runner.end_all()
    run |= {"repetitions": options.pairs, "load_end": os.getloadavg()[0],
            "took_s": time.time() - run["began"]}
    with open(options.into, "w", encoding="utf-8") as file:
        json.dump(run, file, indent=1)


if __name__ == "__main__":
    main()
