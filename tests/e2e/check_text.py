# SPDX-License-Identifier: MIT
"""check_text.py HOTSPOTS MEMATTACH RECORDING: locations of frames stand in one column, counted as a
terminal counts; colour is there on a terminal, and neither in a pipe nor with NO_COLOR."""
import os
import pty
import re
import subprocess
import sys
import unicodedata

hotspots, memattach, recording = sys.argv[1:]


def columns(text):
    return sum(0 if unicodedata.combining(c) else
               2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def check_columns():
    frames = re.findall(r"(?m)^( {6}\S+(?:\(.*\))? +)(?:\S*/)?wide_names\.c:\d+", open(
        hotspots, encoding="utf-8").read())
    assert any(not frame.isascii() for frame in frames), "no name that is not ASCII"
    found = {columns(frame) for frame in frames}
    assert len(found) == 1, f"locations stand in columns {sorted(found)}"


def on_terminal(**environment):
    """What report prints on a terminal."""
    master, slave = pty.openpty()
    with subprocess.Popen([memattach, "report", recording, "hotspots"], stdout=slave,
                          env={**os.environ, **environment}) as process:
        os.close(slave)
        text = b""
        while True:
            try:
                part = os.read(master, 65536)
            except OSError:	# EIO: the last writer has gone
                break
            text += part
        assert process.wait() == 0
    return text


check_columns()
os.environ.pop("NO_COLOR", None)
os.environ["TERM"] = "xterm"
assert b"\x1b[" in on_terminal(), "no colour on a terminal"
assert b"\x1b" not in on_terminal(NO_COLOR="1"), "colour in spite of NO_COLOR"
assert b"\x1b" not in subprocess.run([memattach, "report", recording, "hotspots"],
                                     stdout=subprocess.PIPE, check=True).stdout, "colour in a pipe"
print("columns line up; colour on a terminal only, and not with NO_COLOR")
