#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""dns_load.py PORT: asks a name server on the loopback for h0.example to h999.example, one after
the other, until SIGTERM; says how many answers came. A wrong answer, or none in ten seconds, ends
it with status 1."""
import signal
import socket
import struct
import sys


def query(number):
    name = b"".join(bytes([len(part)]) + part for part in (b"h%d" % number, b"example"))
    return struct.pack(">HHHHHH", number, 0, 1, 0, 0, 0) + name + b"\0" + struct.pack(">HH", 1, 1)


def main():
    running = [True]
    signal.signal(signal.SIGTERM, lambda *_: running.clear())
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.settimeout(10)
    server.connect(("127.0.0.1", int(sys.argv[1])))
    answers = 0
    while running:
        number = answers % 1000
        server.send(query(number))
        reply = server.recv(4096)
        address = bytes([10, 0, number // 250, number % 250])
        if struct.unpack(">H", reply[:2])[0] != number or address not in reply:
            sys.exit(f"a wrong answer for h{number}: {reply!r}")
        answers += 1
    print(answers, "answers")


main()
