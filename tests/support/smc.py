# SPDX-License-Identifier: Apache-2.0
"""The blocks of a capture (src/capture/FORMAT.md, sections 1 and 3), for tests that change them."""
import struct
import subprocess

from support.read_smc import crc32c

KINDS = {"header": 1, "event types": 2, "strings": 3, "tasks": 4, "stacks": 5, "symbols": 6, "events": 7, "ledger": 8,
         "anchors": 9, "refs": 10, "end": 11}


class Block:
    """A block of a file; write back with bytes()."""

    def __init__(self, data, offset):
        self.offset = offset
        self.header = bytearray(data[offset:offset + 80])
        self.kind, = struct.unpack_from("<H", self.header, 12)
        stored, = struct.unpack_from("<I", self.header, 52)
        self.payload = data[offset + 80:offset + 80 + stored]

    def put(self, form, at, value):
        struct.pack_into(form, self.header, at, value)

    def set_payload(self, raw, count):
        self.payload = subprocess.run(["zstd", "-cq"], input=raw, capture_output=True, check=True).stdout
        self.put("<I", 28, count)
        self.put("<I", 48, len(raw))
        self.put("<I", 52, len(self.payload))
        self.put("<I", 56, crc32c(self.payload))

    def raw(self):
        return subprocess.run(["zstd", "-dcq"], input=self.payload, capture_output=True, check=True).stdout

    def bytes(self):
        self.put("<I", 76, crc32c(self.header[8:76]))
        return bytes(self.header) + self.payload


def blocks(data):
    found, at = [], 0
    while at < len(data):
        found.append(Block(data, at))
        at += 80 + len(found[-1].payload)
    return found


def flipped(data, kind):
    """The file with a bit of the last block of a kind turned, and where that block begins."""
    block = [b for b in blocks(data) if b.kind == KINDS[kind]][-1]
    damaged = bytearray(data)
    damaged[block.offset + 80 + len(block.payload) - 1] ^= 1
    return bytes(damaged), block.offset


def segment(data, session, number):
    """A capture of one generation as segment `number` of a recording, with that generation."""
    def tag(name, value):
        text = str(value).encode()
        return bytes([name, len(text)]) + text
    out = b""
    for block in blocks(data):
        block.put("<Q", 64, session * 1000 + number)
        if block.kind == KINDS["header"]:
            count, = struct.unpack_from("<I", block.header, 28)
            block.set_payload(block.raw() + tag(14, session) + tag(15, number), count + 2)
        elif block.kind in (KINDS["stacks"], KINDS["events"], KINDS["refs"]):
            block.put("<I", 24, number)
        out += block.bytes()
    return out
