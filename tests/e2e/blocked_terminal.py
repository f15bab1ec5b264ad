# SPDX-License-Identifier: MIT
"""blocked_terminal.py stop|unread FOLDER COMMAND...: runs it on a terminal that gets stuck.

The terminal is read until FOLDER/block exists. Then it is stopped as by Ctrl-S, or simply not read
any more while keys make the screen draw, until FOLDER/unblock exists. FOLDER/pid has the
command's process id, FOLDER/output what it wrote, FOLDER/status its exit status at last.
"""
import errno
import fcntl
import os
import pty
import select
import struct
import sys
import termios

LINES, COLUMNS = 60, 200


def exists(folder, name):
    return os.path.exists(os.path.join(folder, name))


def put(folder, name, text):
    path = os.path.join(folder, name)
    with open(path + ".new", "wb") as file:
        file.write(text)
    os.rename(path + ".new", path)


def read_some(master, output):
    """False: the other side has been closed."""
    if not select.select([master], [], [], 0.02)[0]:
        return True
    try:
        data = os.read(master, 65536)
    except OSError as error:
        if error.errno != errno.EIO:
            raise
        return False
    output.append(data)
    return bool(data)


def main():
    how, folder, command = sys.argv[1], sys.argv[2], sys.argv[3:]
    child, master = pty.fork()
    if child == 0:
        os.execvp(command[0], command)
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    put(folder, "pid", b"%d\n" % child)
    output = []
    alive = True
    while alive and not exists(folder, "block"):
        alive = read_some(master, output)
    if how == "stop":
        os.write(master, b"\x13")
    while alive and not exists(folder, "unblock"):
        if how == "unread" and select.select([], [master], [], 0)[1]:
            os.write(master, b"?x")  # help and back: all of the screen is drawn again
        select.select([], [], [], 0.02)
    if how == "stop":
        os.write(master, b"\x11")
    while alive:
        alive = read_some(master, output)
    put(folder, "output", b"".join(output))
    put(folder, "status", b"%d\n" % os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


main()
