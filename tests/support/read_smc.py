#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A reader of captures that was written from src/capture/FORMAT.md alone, and shares nothing with the program: what the
tests hold the program's own reader against. For whole files; a damaged one is an error. Decompresses with the zstd command.

usage: read_smc.py FILE.smc    (prints totals)
"""
import collections
import struct
import subprocess
import sys

HEADER, TYPES, STRINGS, TASKS, STACKS, SYMBOLS, EVENTS, LEDGER, ANCHORS, REFS, END = range(1, 12)
NONE, COOKIE, FALLBACK, ERROR = range(4)
NAME_ALONE = 2**64 - 1

Block = collections.namedtuple("Block", "kind sequence generation count first last payload")
EventType = collections.namedtuple("EventType", "category name fields")
Event = collections.namedtuple("Event", "type cpu time tid state cookie frames errno fields")
Symbol = collections.namedtuple("Symbol", "offset size name module")


class FormatError(Exception):
    pass


def crc32c(data):
    """RFC 3720, appendix B.4, bit by bit through a table."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ CRC_TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def crc_table():
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return table


CRC_TABLE = crc_table()


class Reader:
    """Varints, svarints and texts, one after another."""

    def __init__(self, data):
        self.data = data
        self.at = 0

    def varint(self):
        value = shift = 0
        while True:
            if self.at >= len(self.data) or shift > 63:
                raise FormatError("a varint does not end")
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def svarint(self):
        value = self.varint()
        return value >> 1 if value & 1 == 0 else -(value >> 1) - 1

    def take(self, length):
        if length > len(self.data) - self.at:
            raise FormatError("a text is longer than its block")
        self.at += length
        return self.data[self.at - length:self.at]

    def text(self):
        return self.take(self.varint()).decode("utf-8", "surrogateescape")

    def frames(self, depth, before):
        frames = []
        for _ in range(depth):
            before = (before + self.svarint()) % 2**64
            frames.append(before)
        return frames


def split_blocks(data, raw):
    """The blocks of a file; `raw` are all payloads, decompressed, one after another."""
    blocks = []
    at = raw_at = 0
    capture = None
    while at < len(data):
        (skip, rest, magic, kind, version, sequence, generation, count, first, last, raw_bytes, stored, crc, zero, identity,
         zero_too, header_crc) = struct.unpack_from("<IIIHHQIIQQIIIIQII", data, at)
        if (skip, rest, magic, version, zero, zero_too) != (0x184D2A50, 72, 0x42434D53, 1, 0, 0):
            raise FormatError(f"no header at byte {at}")
        if header_crc != crc32c(data[at + 8:at + 76]):
            raise FormatError(f"wrong checksum of the header at byte {at}")
        if crc != crc32c(data[at + 80:at + 80 + stored]):
            raise FormatError(f"wrong checksum of the payload at byte {at}")
        if sequence != len(blocks) or capture not in (None, identity):
            raise FormatError(f"the block at byte {at} does not belong here")
        capture = identity
        blocks.append(Block(kind, sequence, generation, count, first, last, raw[raw_at:raw_at + raw_bytes]))
        raw_at += raw_bytes
        at += 80 + stored
    if raw_at != len(raw) or at != len(data):
        raise FormatError("the headers' sizes are not those of the payloads")
    return blocks


OF_EVENTS = {"hits": "hit", "filtered": "filtered", "recorded": "recorded", "task_records": "task", "ring_full": "lost",
             "output_error": "lost", "scratch_busy": "lost", "throttled": "lost", "recursion_misses": "lost"}
OTHERS = {"write.lost_events": "lost", "import.lost_events": "lost", "recover.events_lost": "lost", "import.events": "recorded",
          "copy.left_out": "filtered"}


def meaning_of(name):
    """What a counter of the ledger counts: hit, filtered, recorded, task, lost or note."""
    if name.startswith("event."):
        return OF_EVENTS.get(name.rpartition(".")[2], "note")
    return "lost" if name.startswith("reject.") else OTHERS.get(name, "note")


class Capture:
    def __init__(self, path):
        with open(path, "rb") as file:
            data = file.read()
        self.blocks = split_blocks(data, subprocess.run(["zstd", "-dc", "-q", path], check=True, capture_output=True).stdout)
        self.tags = {}
        self.types = {}    # id -> EventType
        self.strings = {}
        self.tasks = []    # (time, change, tid, tgid, ptgid, comm)
        self.stacks = {}   # (generation, slot) -> frames, innermost first
        self.symbols = {}  # address -> Symbol
        self.ledger = {}
        self.anchors = []
        self.refs = {}     # (generation, slot) -> ref
        self.end = None    # events, as the last block says
        for block in self.blocks:
            self._read(block)

    def _read(self, block):
        reader = Reader(block.payload)
        if block.kind == END:
            self.end = reader.varint()
        entry = {HEADER: self._tag, TYPES: self._type, STRINGS: self._string, TASKS: self._task, SYMBOLS: self._symbol,
                 STACKS: self._stack, LEDGER: self._counter, ANCHORS: self._anchor, REFS: self._ref}.get(block.kind)
        self._before = 0
        for _ in range(block.count if entry else 0):
            entry(reader, block)
        if entry and reader.at != len(block.payload):
            raise FormatError(f"{len(block.payload) - reader.at} bytes behind the entries of block {block.sequence}")

    def _tag(self, reader, _):
        tag = reader.varint()
        self.tags[tag] = reader.text()

    def _type(self, reader, _):
        number, category, name, fields = reader.varint(), reader.text(), reader.text(), reader.varint()
        self.types.setdefault(number, EventType(category, name, [(reader.text(), reader.varint()) for _ in range(fields)]))

    def _string(self, reader, _):
        number = reader.varint()
        self.strings.setdefault(number, reader.text())

    def _task(self, reader, block):
        time = (block.first + reader.svarint()) % 2**64
        self.tasks.append((time, reader.varint(), reader.varint(), reader.varint(), reader.varint(), reader.text()))

    def _stack(self, reader, block):
        slot, depth = reader.varint(), reader.varint()
        frames = reader.frames(depth, self._before)
        self._before = frames[0] if frames else self._before
        self.stacks.setdefault((block.generation, slot), frames)

    def _symbol(self, reader, _):
        self._before = (self._before + reader.svarint()) % 2**64
        self.symbols.setdefault(self._before, Symbol(reader.varint(), reader.varint(), reader.text(), reader.text()))

    def _counter(self, reader, _):
        name = reader.text()
        self.ledger[name] = reader.varint()

    def _anchor(self, reader, _):
        self.anchors.append((reader.varint(), reader.varint(), reader.varint()))

    def _ref(self, reader, block):
        slot = reader.varint()
        self.refs[block.generation, slot] = reader.varint()

    def events(self):
        """Every event, in the order of the file."""
        for block in self.blocks:
            if block.kind == EVENTS:
                yield from self._events_of(block)

    def _events_of(self, block):
        reader = Reader(block.payload)
        count, base, columns = reader.varint(), reader.varint(), {}
        if count != block.count:
            raise FormatError("a block of events is not of its header's count")
        for _ in range(reader.varint()):
            number = reader.varint()
            columns[number] = Reader(reader.take(reader.varint()))
        cpus, before, slots = {}, collections.Counter(), []
        for _ in range(count):
            kind, cpu = columns[0].varint(), columns[1].varint()
            time, tid = cpus.get(cpu, (base, 0))
            time, tid = (time + columns[2].svarint()) % 2**64, (tid + columns[3].svarint()) % 2**32
            cpus[cpu] = (time, tid)
            state, cookie, frames, errno = columns[4].varint(), None, None, None
            if state == COOKIE:
                index = columns[5].varint()
                if index == len(slots):
                    slots.append(columns[6].varint())
                cookie = (block.generation, slots[index])
            elif state == FALLBACK:
                depth = columns[7].varint()
                frames = columns[7].frames(depth, 0)
            elif state == ERROR:
                errno = columns[8].varint()
            fields = []
            for i in range(len(self.types[kind].fields)):
                column = 64 + 16 * kind + i
                before[column] = (before[column] + columns[column].svarint()) % 2**64
                fields.append(before[column])
            yield Event(kind, cpu, time, tid, state, cookie, frames, errno, fields)
        for number, column in columns.items():
            if column.at != len(column.data):
                raise FormatError(f"column {number} of block {block.sequence} has more values than events")

    def symbol_text(self, address):
        symbol = self.symbols.get(address)
        if symbol is None or not symbol.name:
            return f"0x{address:x}"
        place = "" if symbol.size == NAME_ALONE else f"+0x{symbol.offset:x}/0x{symbol.size:x}"
        return symbol.name + place + (f" [{symbol.module}]" if symbol.module else "")

    def account(self):
        """What is filtered, recorded and lost, by FORMAT.md's section 5: word -> sum."""
        sums = collections.Counter()
        for name, value in self.ledger.items():
            sums[meaning_of(name)] += value
        return sums

    def totals(self):
        """"category:name" -> events"""
        counts = collections.Counter(event.type for event in self.events())
        return {f"{self.types[kind].category}:{self.types[kind].name}": count for kind, count in counts.items()}


def main():
    capture = Capture(sys.argv[1])
    for name, count in sorted(capture.totals().items()):
        print(f"{name} {count}")
    print(f"stacks {len(capture.stacks)}")
    print(f"lost {capture.account()['lost']}")


if __name__ == "__main__":
    main()
