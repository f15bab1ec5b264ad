# SPDX-License-Identifier: MIT
"""overhead.py - a fixed amount of work under each tool, from the start and attached.

Three programs under the main configurations of configs.py; programs.py has more of both.
"""
import configs
import watched

# Units that take about half a second with no tool, and the program's description.
PROGRAMS = {
    "slots": {"units": 6000000, "text": "C, 1 thread, malloc and free only, 20,000 live blocks"},
    "containers": {"units": 200000, "text": "C++, 1 thread, strings, maps and vectors"},
    "threads": {"units": 6000000, "text": "C, 8 threads, malloc and free only, "
                                          "every 4th block freed by another thread"},
}
ATTACHED = "threads"    # the program that is also attached to
SHOWN = ("nothing", "memattach --sample=512K", "memattach --sample=4096", "memattach (default)",
         "memattach --exact", "heaptrack", "massif")
BY_NAME = {config.name: config for config in configs.CONFIGS}


def run(tools, name, config, scale):
    """The program from its start to its end under a tool."""
    row = BY_NAME[config]
    units = int(PROGRAMS[name]["units"] * scale * row.part)
    return {"part": row.part} | watched.run(tools, row, name, units)


def attached(tools, name, config, scale):
    """The work alone under a tool that was attached before it."""
    units = int(PROGRAMS[name]["units"] * scale)
    return {"part": 1.0} | watched.attached(tools, BY_NAME[config], name, units)


def shown(tools):
    return configs.here(tools, [BY_NAME[name] for name in SHOWN])


def names(tools):
    """All that can be measured here, nothing first."""
    return [config.name for config in shown(tools)]


def attached_names(tools):
    return [config.name for config in shown(tools) if configs.can_attach(tools, config)]
