#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs a command in a seccomp filter in which perf_event_open fails, as most containers do."""
import ctypes
import os
import struct
import sys

PR_SET_SECCOMP, SECCOMP_MODE_FILTER, PR_SET_NO_NEW_PRIVS = 22, 2, 38
LOAD, JUMP_EQUAL, RETURN = 0x20, 0x15, 0x06
ERRNO_EPERM, ALLOW = 0x00050001, 0x7FFF0000
PERF_EVENT_OPEN = 298


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


def main():
    steps = [(LOAD, 0, 0, 0), (JUMP_EQUAL, 0, 1, PERF_EVENT_OPEN),
             (RETURN, 0, 0, ERRNO_EPERM), (RETURN, 0, 0, ALLOW)]
    code = b"".join(struct.pack("HBBI", *step) for step in steps)
    buffer = ctypes.create_string_buffer(code, len(code))
    program = Program(len(steps), ctypes.cast(buffer, ctypes.c_void_p))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or \
            libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0):
        sys.exit("prctl: " + os.strerror(ctypes.get_errno()))
    os.execvp(sys.argv[1], sys.argv[1:])


main()
