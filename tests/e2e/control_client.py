# SPDX-License-Identifier: MIT
"""Asks memattachd: argv[1] is its socket, argv[2] what to send, argv[3] as whom, if given. --abuse:
many that stall, send too much, hang up; fails if those are not cut off, or if somebody is kept
waiting for them. --followers: one user follows events as often as he may, and no more often; that
keeps nobody from asking."""
import json
import os
import pwd
import select
import socket
import sys

STATUS = b'{"memattach": 1, "command": "status"}\n'
MANY = 20
PATIENCE = 60


def connect():
    client = socket.socket(socket.AF_UNIX)
    client.connect(sys.argv[1])
    client.settimeout(PATIENCE)
    return client


def rest(client):
    """All that comes until it is closed; that it was reset is an end, too."""
    got = b""
    try:
        while True:
            part = client.recv(65536)
            if not part:
                return got
            got += part
    except ConnectionResetError:
        return got


def is_open(client):
    return not select.select([client], [], [], 0)[0]


def ask(text):
    client = connect()
    client.sendall(text)
    return rest(client)


def abuse():
    silent = [connect() for _ in range(8)]
    for client in silent:
        client.sendall(b'{"memattach": 1, ')
    assert "processes" in json.loads(ask(STATUS)), "no answer beside those who stall"
    for client in silent:
        assert is_open(client), "it was cut off before another was answered"
    silent += [connect() for _ in range(MANY - len(silent))]    # more than it takes at a time
    for client in silent:
        assert rest(client) == b"", "an answer to no question"
    client = connect()
    try:
        client.sendall(b"x" * 100000)
    except (BrokenPipeError, ConnectionResetError):
        pass
    assert rest(client) == b"", "an answer to a line that is too long"
    for _ in range(100):
        client = connect()
        client.sendall(STATUS)
        client.close()
    pieces = connect()
    for i in range(len(STATUS)):
        pieces.sendall(STATUS[i:i + 1])
    assert "processes" in json.loads(rest(pieces)), "no answer to what came in pieces"


def followers():
    watch = b'{"memattach": 1, "command": "watch"}\n'
    clients = []
    for _ in range(6):
        client = connect()
        client.sendall(watch)
        clients.append((client, json.loads(client.makefile().readline())))
    assert ["error" in answer for _, answer in clients] == [False] * 4 + [True] * 2, clients
    assert "processes" in json.loads(ask(STATUS)), "no answer beside those who follow"
    clients.pop(0)[0].close()
    client = connect()
    client.sendall(watch)
    assert "processes" in json.loads(client.makefile().readline()), "a place that was left"


if len(sys.argv) > 3:
    user = pwd.getpwnam(sys.argv[3])
    os.setgroups([])
    os.setgid(user.pw_gid)
    os.setuid(user.pw_uid)
if sys.argv[2] == "--abuse":
    abuse()
elif sys.argv[2] == "--followers":
    followers()
else:
    sys.stdout.buffer.write(ask(sys.argv[2].encode() + b"\n"))
