# SPDX-License-Identifier: MIT
"""Keeps the places of a server filled: argv is PATH or HOST:PORT, the number of user ids (0: this
user alone), connections of each, and what each sends, a byte a second ("": nothing). Those that are
closed are made again. Says "ready" once all have been made, then how many were closed by the server
when its standard input ends."""
import os
import select
import socket
import sys
import time

FIRST_UID = 100000


def connect(place):
    if "/" in place:
        made = socket.socket(socket.AF_UNIX)
        made.setblocking(False)
        made.connect(place)
        return made
    host, port = place.rsplit(":", 1)
    made = socket.create_connection((host, int(port)), 5)
    made.setblocking(False)
    return made


class Attacker:
    """One connection of one user, made again whenever it is closed."""

    def __init__(self, place, uid, text):
        self.place, self.uid, self.text = place, uid, text
        self.connection, self.sent, self.closed = None, 0, 0

    def begin(self):
        if self.uid:
            os.seteuid(self.uid)
        try:
            self.connection, self.sent = connect(self.place), 0
        except OSError:
            self.connection = None
        finally:
            if self.uid:
                os.seteuid(0)

    def is_closed(self):
        if not select.select([self.connection], [], [], 0)[0]:
            return False
        try:
            return not self.connection.recv(4096)
        except BlockingIOError:
            return False
        except OSError:
            return True

    def turn(self):
        if self.connection and self.is_closed():
            self.connection.close()
            self.connection = None
            self.closed += 1
        if not self.connection:
            self.begin()
        elif self.text and self.sent < len(self.text):
            try:
                self.connection.send(self.text[self.sent:self.sent + 1])
                self.sent += 1
            except OSError:
                pass


def main():
    place, users, each, text = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4].encode()
    uids = [FIRST_UID + i for i in range(users)] or [0]
    attackers = [Attacker(place, uid, text) for uid in uids for _ in range(each)]
    for attacker in attackers:
        attacker.begin()
    print("ready", flush=True)
    end = time.monotonic() + 120
    while time.monotonic() < end and not select.select([sys.stdin], [], [], 1)[0]:
        for attacker in attackers:
            attacker.turn()
    print("closed", sum(attacker.closed for attacker in attackers), flush=True)


main()
