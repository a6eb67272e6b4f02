#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the command against a reader of captures that was written from FORMAT.md alone (tests/support/read_smc.py), and tests
names from a kallsyms that was saved elsewhere, which is made of what that reader finds. Needs no root.

usage: format_test.py BUILD-FOLDER GOLDEN-FOLDER
"""
import pathlib
import re
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
from support import read_smc  # noqa: E402
from support.tools import Case, run_golden_tests  # noqa: E402

EVENT = re.compile(r"^ *(.*)-(\d+) +\[(\d{3})\] \.{5} +(\d+)\.(\d{6}): (\w+): (.*)\n +.*: <stack_id (\d+) gen (\d+)>$", re.M)


def field_text(capture, format_number, value):
    """As FORMAT.md names the formats and the kernel prints them."""
    return {0: str, 1: lambda v: str(v - 2**64 if v >= 2**63 else v), 2: lambda v: f"0x{v:x}",
            3: lambda v: capture.strings[v]}[format_number](value)


class FormatTest(Case):
    def setUp(self):
        super().setUp()
        self.capture = read_smc.Capture(self.golden)

    def test_every_event_is_what_the_other_reader_reads(self):
        script = self.run_stackmap("script", self.golden).stdout
        got = [(int(tid), int(cpu), int(seconds) * 10**6 + int(micros), name, text, (int(generation), int(slot)))
               for _, tid, cpu, seconds, micros, name, text, slot, generation in EVENT.findall(script)]
        expected = []
        for event in self.capture.events():
            kind = self.capture.types[event.type]
            fields = " ".join(f"{name}={field_text(self.capture, form, value)}"
                              for (name, form), value in zip(kind.fields, event.fields))
            # The kernel rounds to microseconds.
            expected.append((event.tid, event.cpu, (event.time + 500) // 1000, kind.name, fields, event.cookie))
        self.assertEqual(len(expected), self.capture.end)
        self.assertEqual(sorted(got), sorted(expected))

    def test_every_stack_is_what_the_other_reader_reads(self):
        got = {}
        for block in self.run_stackmap("map", self.golden).stdout.split("stack_id ")[1:]:
            head, *frames = block.rstrip("\n").split("\n")
            slot, _, generation, _, ref, *_ = head.split()
            got[int(generation), int(slot)] = (int(ref), [frame.removeprefix(" => ") for frame in frames])
        self.assertEqual(got, {cookie: (self.capture.refs[cookie], [self.capture.symbol_text(f) for f in frames])
                               for cookie, frames in self.capture.stacks.items()})

    def test_refs_are_the_cookies_of_the_events(self):
        counts = read_smc.collections.Counter(event.cookie for event in self.capture.events())
        self.assertEqual(dict(counts), self.capture.refs)

    def test_totals(self):
        said = self.run_stackmap("inspect", "--verify", self.golden).stdout
        counts = {name: int(n.replace(",", "")) for name, n in re.findall(r"^([\w:]+) +([\d,]+) events$", said, re.M)}
        self.assertEqual({name: count for name, count in counts.items() if count}, self.capture.totals())


def kallsyms_of(symbols, moved=0):
    """A list of symbols that names these addresses, and what lies between them as gaps."""
    places = {address - symbol.offset: (symbol.size, symbol.name) for address, symbol in symbols.items()}
    for start, (size, _) in list(places.items()):
        places.setdefault(start + size, (0, f"gap_{start:x}"))
    places.setdefault(min(places) - 16, (0, "_stext"))
    places.setdefault(max(places) + 16, (0, "_etext"))
    return "".join(f"{start + moved:016x} T {name}\n" for start, (_, name) in sorted(places.items()))


def without_names(data, capture, kept=0):
    """The file without its blocks of symbols, but for the first `kept`."""
    out, at, sequence = b"", 0, 0
    for block in capture.blocks:
        stored, = struct.unpack_from("<I", data, at + 52)
        piece = bytearray(data[at:at + 80 + stored])
        at += 80 + stored
        if block.kind == read_smc.SYMBOLS and kept == 0:
            continue
        kept -= block.kind == read_smc.SYMBOLS
        struct.pack_into("<Q", piece, 16, sequence)
        struct.pack_into("<I", piece, 76, read_smc.crc32c(bytes(piece[8:76])))
        out += piece
        sequence += 1
    return out


class OtherNamesTest(Case):
    """Case: a capture is read on another host. Names never come from the wrong kernel."""

    def setUp(self):
        super().setUp()
        self.capture = read_smc.Capture(self.golden)
        self.boot = self.capture.tags[6]
        self.saved = self.dir / "kallsyms"
        self.saved.write_text(kallsyms_of(self.capture.symbols))
        self.bare = self.dir / "bare.smc"
        self.bare.write_bytes(without_names(self.golden.read_bytes(), self.capture))

    def outputs(self, path, *arguments):
        return [self.run_stackmap(*command, *arguments, path).stdout.replace(str(path.with_suffix("")), "NAME") for command in
                (["report"], ["flame"], ["export"], ["script", "--resolve"], ["map"], ["map", "--format", "json"])]

    def test_the_list_of_the_same_boot_changes_nothing_that_is_named(self):
        self.assertEqual(self.outputs(self.golden, "--kallsyms", self.saved), self.outputs(self.golden))

    def test_a_capture_without_names_gets_all_of_them_back(self):
        self.assertIn("0xffffffff81", self.run_stackmap("export", self.bare).stdout)
        got = self.outputs(self.bare, "--kallsyms", self.saved, "--boot-id", self.boot)
        self.assertEqual(got, self.outputs(self.golden))

    def test_without_names_the_boot_must_be_said(self):
        done = self.run_stackmap("report", "--kallsyms", self.saved, self.bare, code=1)
        self.assertIn("cannot tell", done.stderr)
        self.assertIn(self.boot, done.stderr)
        self.assertEqual(done.stdout, "")
        done = self.run_stackmap("report", "--kallsyms", self.saved, "--boot-id", "other", self.bare, code=1)
        self.assertIn("is of another boot", done.stderr)

    def test_a_list_of_another_boot_is_refused_by_every_command(self):
        self.saved.write_text(kallsyms_of(self.capture.symbols, 0x200000))
        for command in (["report"], ["flame"], ["export"], ["script", "--resolve"], ["map"]):
            with self.subTest(command=command):
                done = self.run_stackmap(*command, "--kallsyms", self.saved, self.golden, code=1)
                number = len(self.capture.symbols)
                self.assertIn(f"contradicts {number} of the {number} names", done.stderr)
                self.assertEqual(done.stdout, "")

    def test_a_list_where_one_symbol_is_elsewhere_is_refused(self):
        symbols = dict(self.capture.symbols)
        address = max(symbols)
        symbols[address] = symbols[address]._replace(name="another")
        self.saved.write_text(kallsyms_of(symbols))
        done = self.run_stackmap("map", "--kallsyms", self.saved, self.golden, code=1)
        self.assertIn(f"contradicts 1 of the {len(symbols)} names", done.stderr)

    def test_a_sysroot_has_the_list_and_the_boot(self):
        proc = self.dir / "root" / "proc"
        (proc / "sys/kernel/random").mkdir(parents=True)
        self.saved.rename(proc / "kallsyms")
        self.assertIn("cannot tell", self.run_stackmap("map", "--sysroot", self.dir / "root", self.bare, code=1).stderr)
        (proc / "sys/kernel/random/boot_id").write_text(self.boot + "\n")
        self.assertEqual(self.run_stackmap("map", "--sysroot", self.dir / "root", self.bare).stdout,
                         self.run_stackmap("map", self.golden).stdout)
        (proc / "sys/kernel/random/boot_id").write_text("another\n")
        self.assertIn("is of another boot", self.run_stackmap("map", "--sysroot", self.dir / "root", self.golden, code=1).stderr)

    def test_a_sysroot_with_a_system_map(self):
        boot = self.dir / "root" / "boot"
        boot.mkdir(parents=True)
        self.assertIn("there is neither", self.run_stackmap("map", "--sysroot", self.dir / "root", self.golden, code=1).stderr)
        # As it was linked: before the boot moved the kernel.
        (boot / f"System.map-{self.capture.tags[3]}").write_text(kallsyms_of(self.capture.symbols, -0x1c00000))
        self.assertEqual(self.run_stackmap("map", "--sysroot", self.dir / "root", self.golden).stdout,
                         self.run_stackmap("map", self.golden).stdout)
        # A boot id does not say where a kernel was put.
        done = self.run_stackmap("map", "--sysroot", self.dir / "root", "--boot-id", self.boot, self.bare, code=1)
        self.assertIn("cannot tell where", done.stderr)

    def test_bad_lists_and_usage(self):
        self.saved.write_text("hello\n")
        self.assertIn("no symbols", self.run_stackmap("map", "--kallsyms", self.saved, self.golden, code=1).stderr)
        self.saved.write_text("0000000000000000 T _stext\n0000000000000000 T _etext\n")
        self.assertIn("hides its addresses", self.run_stackmap("map", "--kallsyms", self.saved, self.golden, code=4).stderr)
        self.run_stackmap("map", "--kallsyms", self.dir / "none", self.golden, code=1)
        self.run_stackmap("map", "--kallsyms", self.saved, "--sysroot", self.dir, self.golden, code=2)
        self.run_stackmap("map", "--boot-id", self.boot, self.golden, code=2)
        self.run_stackmap("script", "--kallsyms", self.saved, self.golden, code=2)


if __name__ == "__main__":
    sys.exit(run_golden_tests(sys.modules["__main__"]))
