# SPDX-License-Identifier: MIT
"""Listens at the socket argv[1] as a service manager does (sd_notify(3)); each message is printed
as one line, its assignments apart by "|"."""
import os
import socket
import sys

listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
listener.bind(sys.argv[1])
os.chmod(sys.argv[1], 0o666)
print("listening")
while True:
    print(listener.recv(4096).decode(errors="replace").replace("\n", "|"))
