#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes a copy of a program whose debug information lies: forge_dwarf.py FROM TO KIND.

line    a line table (DWARF 5) that goes on behind its unit, where a block of 4 GiB stands:
        libdw 0.188 follows it and ends with SIGSEGV
string  .debug_str ends in the midst of a string, at the very end of the file's last page
cut     all sections of debug information are cut to half
noise   .debug_info, .debug_abbrev and .debug_line hold noise
"""
import random
import struct
import sys


class Elf:
    def __init__(self, path):
        with open(path, "rb") as file:
            self.bytes = bytearray(file.read())
        (self.table,) = struct.unpack_from("<Q", self.bytes, 40)
        count, names = struct.unpack_from("<HH", self.bytes, 60)
        _, _, _, _, text, *_ = self.header(names)
        self.index = {}
        for i in range(count):
            name = text + self.header(i)[0]
            self.index[self.bytes[name : self.bytes.index(0, name)].decode()] = i

    def header(self, index):
        return struct.unpack_from("<IIQQQQIIQQ", self.bytes, self.table + 64 * index)

    def place(self, name):
        """Offset and size in the file."""
        return self.header(self.index[name])[4:6]

    def set_place(self, name, offset, size):
        at = self.table + 64 * self.index[name]
        struct.pack_into("<QQ", self.bytes, at + 24, offset, size)

    def append(self, name, content):
        """Gives the section other content, behind everything else."""
        self.set_place(name, len(self.bytes), len(content))
        self.bytes += content


def line_unit(directories, files):
    body = bytes([1, 1, 1, 0xFB, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1])
    body += directories + files
    unit = struct.pack("<HBBI", 5, 8, 0, len(body)) + body
    return struct.pack("<I", len(unit)) + unit


PATH, DIRECTORY, VENDOR = 1, 2, 5
STRING, DATA1, BLOCK4 = 0x08, 0x0B, 0x04


def forge_line(elf):
    directories = bytes([1, PATH, STRING, 1]) + b"/\0"
    files = bytes([3, VENDOR, BLOCK4, PATH, STRING, DIRECTORY, DATA1])
    unit = line_unit(directories, files)
    elf.append(".debug_line", unit + bytes([120]) + struct.pack("<I", 0xFFFFFFF0) + bytes(64))


def forge_string(elf):
    offset, size = elf.place(".debug_str")
    text = bytes(elf.bytes[offset : offset + size])
    elf.bytes += bytes(-(len(elf.bytes) + size) % 4096)
    elf.append(".debug_str", text[:-1] + b"x")


def forge_cut(elf):
    for name in elf.index:
        if name.startswith(".debug_"):
            offset, size = elf.place(name)
            elf.set_place(name, offset, size // 2)


def forge_noise(elf):
    random.seed(1)
    for name in (".debug_info", ".debug_abbrev", ".debug_line"):
        offset, size = elf.place(name)
        elf.bytes[offset : offset + size] = random.randbytes(size)


def main():
    source, target, kind = sys.argv[1:]
    elf = Elf(source)
    globals()["forge_" + kind](elf)
    with open(target, "wb") as file:
        file.write(elf.bytes)


main()
