#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""memcached_load.py PORT [SECONDS]: sets and gets until a byte comes on stdin, SECONDS (100) at
the most; status 1 on errors. All values (240 MB) have to fit, as an evicted one is missed."""
import select
import socket
import sys
import threading

stop = threading.Event()
errors = []


def receive_until(connection, end):
    data = b""
    while not data.endswith(end):
        part = connection.recv(65536)
        if not part:
            raise OSError("connection closed")
        data += part
    return data


def work(port, number):
    turn = 0
    connection = socket.create_connection(("127.0.0.1", port))
    while not stop.is_set():
        turn += 1
        # Large values and fresh connections now and then make the server allocate.
        size = 50 + turn * 7919 % 60000
        key = f"key{number}-{turn % 2000}"
        connection.sendall(f"set {key} 0 0 {size}\r\n".encode() + b"x" * size + b"\r\n")
        if receive_until(connection, b"\r\n") != b"STORED\r\n":
            raise OSError("not stored")
        connection.sendall(f"get {key}\r\n".encode())
        if len(receive_until(connection, b"END\r\n")) < size:
            raise OSError("short value")
        # What monitoring asks for is what a warm memcached allocates most for.
        connection.sendall(b"stats\r\n")
        receive_until(connection, b"END\r\n")
        if turn % 20 == 0:
            connection.close()
            connection = socket.create_connection(("127.0.0.1", port))


def evictions(port):
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(b"stats\r\n")
        lines = receive_until(connection, b"END\r\n").decode().splitlines()
    return int(next(line.split()[2] for line in lines if line.startswith("STAT evictions ")))


def worker(port, number):
    try:
        work(port, number)
    except Exception as error:  # pylint: disable=broad-except
        errors.append(repr(error))


def main():
    port = int(sys.argv[1])
    threads = [threading.Thread(target=worker, args=(port, i), daemon=True) for i in range(4)]
    for thread in threads:
        thread.start()
    print("running", flush=True)
    select.select([sys.stdin], [], [], float(sys.argv[2]) if len(sys.argv) > 2 else 100)
    stop.set()
    for thread in threads:
        thread.join(10)
    evicted = evictions(port)
    if evicted:
        errors.append(f"{evicted} values evicted: too little memory for this load")
    print(*errors)
    sys.exit(1 if errors else 0)


main()
