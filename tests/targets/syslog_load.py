#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""syslog_load.py PORT: sends lines to a syslog server on the loopback, some 5,000 a second, until
SIGTERM; says how many."""
import signal
import socket
import sys
import time


def main():
    running = [True]
    signal.signal(signal.SIGTERM, lambda *_: running.clear())
    server = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    sent = 0
    while running:
        lines = [f"<13>Nov 26 00:00:00 host program: counted {sent + i} {'x' * (i % 50)}\n"
                 for i in range(50)]
        server.sendall("".join(lines).encode())
        sent += len(lines)
        time.sleep(0.01)
    server.close()
    print(sent, "sent")


main()
