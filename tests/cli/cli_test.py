#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the command on the golden capture and on bad input. Needs no root.

The golden capture is of a known amount of work: see tests/golden/README.md.

usage: cli_test.py BUILD-FOLDER GOLDEN-FOLDER
"""
import json
import os
import pathlib
import pty
import re
import struct
import subprocess
import sys
import unittest
import xml.etree.ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
from support.tools import DEADLINE, Case  # noqa: E402

READERS = ["report", "flame", "export", "script", "map", "stat", "inspect"]


class GoldenTest(Case):
    def test_the_events_are_those_of_the_work(self):
        said = self.run_stackmap("inspect", "--verify", self.golden)
        self.assertIn("is sound", said.stderr)
        counts = {name: int(n.replace(",", "")) for name, n in re.findall(r"^([\w:]+) +([\d,]+) events$", said.stdout, re.M)}
        # 2 rounds of 500 open/close of /proc/self/stat: at least 4 cache objects and 2 kmallocs each, all of them freed.
        self.assertGreaterEqual(counts["kmem:kmem_cache_alloc"], 4000)
        self.assertGreaterEqual(counts["kmem:kmalloc"], 2000)
        self.assertLess(counts["kmem:kmem_cache_alloc"], 4100)
        self.total = sum(counts.values())

    def test_every_format_has_the_same_total(self):
        self.test_the_events_are_those_of_the_work()
        folded = self.run_stackmap("export", "--format", "folded", self.golden).stdout
        self.assertEqual(sum(int(line.rsplit(" ", 1)[1]) for line in folded.splitlines()), self.total)
        script = self.run_stackmap("script", self.golden).stdout
        self.assertEqual(len(re.findall(r"^ *open-close-\d+ +\[\d{3}\] \.{5} +\d+\.\d{6}: \w+: ", script, re.M)), self.total)
        self.assertEqual(script.count("<stack_id "), self.total)
        self.assertIn(f"Total: {self.total:,} events", self.run_stackmap("report", self.golden).stdout)
        refs = [int(ref) for ref in re.findall(r"^stack_id \d+ gen 1 ref (\d+) depth \d+$",
                                               self.run_stackmap("map", self.golden).stdout, re.M)]
        self.assertEqual(sum(refs), self.total)
        self.assertIn(f"successes: {self.total}\n", self.run_stackmap("stat", self.golden).stdout)

    def test_resolved_stacks_take_the_place_of_cookies(self):
        script = self.run_stackmap("script", "--resolve", self.golden).stdout
        self.assertNotIn("<stack_id", script)
        self.assertRegex(script, r"\n => kmem_cache_alloc\w*\+0x[0-9a-f]+/0x[0-9a-f]+\n")
        self.assertRegex(script, r"\n => do_syscall_64\+0x[0-9a-f]+/0x[0-9a-f]+\n")

    def test_bytes_are_those_of_the_allocations(self):
        script = self.run_stackmap("script", self.golden).stdout
        total = sum(int(n) for n in re.findall(r"bytes_alloc=(\d+)", script))
        total += sum(4096 << int(order) for order in re.findall(r"mm_page_alloc: .*?order=(\d+)", script))
        folded = self.run_stackmap("export", "--weight", "bytes", self.golden).stdout
        self.assertEqual(sum(int(line.rsplit(" ", 1)[1]) for line in folded.splitlines()), total)

    def test_the_flame_graph_is_valid_and_complete(self):
        svg = self.dir / "x.svg"
        self.run_stackmap("flame", "-o", svg, "--min-width", "0", self.golden)
        xml.etree.ElementTree.parse(svg)
        text = svg.read_text(encoding="utf-8")
        for word in ("open-close", "kmem_cache_alloc", "entry_SYSCALL_64_after_hwframe", "100.0%"):
            self.assertIn(word, text)

    def test_the_flame_graph_validates_by_the_dtd(self):
        if not os.path.exists("/etc/xml/w3c-sgml-lib.xml") and not os.path.exists("/usr/share/xml/w3c-sgml-lib"):
            self.skipTest("w3c-sgml-lib, which holds the SVG DTD, is not installed")
        svg = self.dir / "x.svg"
        self.run_stackmap("flame", "-o", svg, self.golden)
        done = subprocess.run(["xmllint", "--noout", "--valid", "--nonet", svg], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_filters(self):
        alloc = self.run_stackmap("export", "-e", "kmem:kmem_cache_alloc", self.golden).stdout
        other = self.run_stackmap("export", "-e", "kmem:k*free", "-e", "kmem:kmalloc,kmem:mm*", self.golden).stdout
        everything = self.run_stackmap("export", self.golden).stdout

        def total(folded):
            return sum(int(line.rsplit(" ", 1)[1]) for line in folded.splitlines())
        self.assertEqual(total(alloc) + total(other), total(everything))
        self.assertEqual(self.run_stackmap("export", "--comm", "nobody", self.golden).stdout, "")
        self.assertEqual(self.run_stackmap("export", "--comm", "open-close", self.golden).stdout, everything)

    def test_zstd_reads_the_file_and_finds_the_names(self):
        done = subprocess.run(["zstd", "-dcq", self.golden], capture_output=True, check=True)
        self.assertIn(b"entry_SYSCALL_64_after_hwframe", done.stdout)


def text_records(text):
    """stack_map text: (slot, gen) -> (ref, frames)."""
    records = {}
    for block in text.split("stack_id ")[1:]:
        head, *frames = block.rstrip("\n").split("\n")
        slot, _, generation, _, ref, _, depth = head.split()
        assert int(depth) == len(frames)
        records[int(slot), int(generation)] = (int(ref), [f.removeprefix(" => ") for f in frames])
    return records


class MapFormatTest(Case):
    def setUp(self):
        super().setUp()
        self.text = text_records(self.run_stackmap("map", self.golden).stdout)
        self.stat = dict(line.split(": ") for line in self.run_stackmap("stat", self.golden).stdout.splitlines())

    def test_json_has_what_the_text_has(self):
        got = json.loads(self.run_stackmap("map", "--format", "json", self.golden).stdout)
        self.assertEqual({(s["slot"], s["gen"]): (s["ref"], s["frames"]) for s in got["stacks"]}, self.text)
        for key in ("generation", "capacity", "entries", "successes", "fallbacks"):
            self.assertEqual(got[key], int(self.stat[key]), key)

    def test_binary_has_what_the_text_has(self):
        path = self.dir / "x.bin"
        self.run_stackmap("map", "--format", "bin", "-o", path, self.golden)
        data = path.read_bytes()
        magic, size, version, generation, capacity, entries, _, successes, fallbacks, frames, flags, _ = \
            struct.unpack_from("<8s6I3Q2I", data)
        self.assertEqual((magic, size, version, generation, flags), (b"STKMAPB1", 72, 1, 1, 1))
        self.assertEqual([capacity, entries, successes, fallbacks],
                         [int(self.stat[k]) for k in ("capacity", "entries", "successes", "fallbacks")])
        at, addresses, names = size, {}, {}
        for _ in range(entries):
            slot, ref, depth, reserved = struct.unpack_from("<4I", data, at)
            stack = struct.unpack_from(f"<{depth}Q", data, at + 16)
            at += 16 + 8 * depth
            self.assertEqual((ref, depth, reserved), (self.text[slot, 1][0], len(self.text[slot, 1][1]), 0))
            addresses[slot] = stack
            for address, name in zip(stack, self.text[slot, 1][1]):
                self.assertEqual(names.setdefault(address, name), name)
        self.assertEqual(at, len(data))
        self.assertEqual(sorted((s, 1) for s in addresses), sorted(self.text))
        self.assertEqual(sum(map(len, addresses.values())), frames)
        # The installed header, from C.
        done = subprocess.run([self.build / "map_binary_c", path], capture_output=True, text=True, check=True)
        self.assertEqual({slot: tuple(int(f, 16) for f in stack) for (slot, _), (_, stack) in text_records(done.stdout).items()},
                         addresses)

    def test_generations(self):
        self.assertEqual(text_records(self.run_stackmap("map", "--generation", "1", self.golden).stdout), self.text)
        for kind in ("text", "bin", "json"):
            done = self.run_stackmap("map", "--format", kind, "--generation", "2", self.golden, code=1)
            self.assertIn("has no generation 2; it has 1", done.stderr)
            self.assertEqual(done.stdout, "")
        self.run_stackmap("map", "--generation", "0", self.golden, code=2)

    def test_binary_is_not_written_to_a_terminal(self):
        master, terminal = pty.openpty()
        try:
            done = subprocess.run([self.build / "stackmap", "map", "--format", "bin", self.golden], stdout=terminal,
                                  stderr=subprocess.PIPE, text=True, timeout=DEADLINE, check=False)
        finally:
            os.close(master)
            os.close(terminal)
        self.assertEqual(done.returncode, 2)
        self.assertIn("not written to a terminal", done.stderr)


class ImportTest(Case):
    TRACE = """# tracer: nop
            bash-1234    [001] .....   123.456789: kfree: call_site=f ptr=0x1
            bash-1234    [001] .....   123.456789: <stack_id 42 gen 1>
     V8 worker 7-99      [000] .....   123.456790: my_event: any text = at all
     V8 worker 7-99      [000] .....   123.456790: <stack trace>
 => schedule+0x48/0xc0
 => [FTRACE TRAMPOLINE]
CPU:1 [LOST 3 EVENTS]
            bash-1234    [001] .....   123.456791: kfree: call_site=f ptr=0x2
            bash-1234    [001] .....   123.456791: <stack_id 42 gen 2>
"""
    MAP = "stack_id 42 gen 1 ref 1 depth 2\n => kfree+0x1/0x2\n => ext4_read+0x8/0x20 [ext4]\n"

    def setUp(self):
        super().setUp()
        self.trace, self.map, self.base = self.dir / "trace", self.dir / "stack_map", self.dir / "w"
        self.trace.write_text(self.TRACE)
        self.map.write_text(self.MAP)

    def test_every_reader_takes_it(self):
        said = self.run_stackmap("import", "ftrace", self.trace, "--map", self.map, "-o", self.base)
        self.assertIn("no --map is of: 1", said.stderr)
        kept = "".join(line for line in self.TRACE.splitlines(True) if line[0] not in "#C")
        self.assertEqual(self.run_stackmap("script", self.base).stdout, kept)
        resolved = self.run_stackmap("script", "--resolve", self.base).stdout
        self.assertIn("<stack trace>\n => kfree+0x1/0x2\n => ext4_read+0x8/0x20 [ext4]\n", resolved)
        self.assertIn("<stack_id 42 gen 2> stale: needs the stack_map of generation 2\n", resolved)
        self.assertEqual((self.dir / "w.map").read_text(), self.MAP)
        self.assertEqual(self.run_stackmap("map", self.base).stdout, self.MAP)
        self.assertIn("bash;ext4_read;kfree 1\n", self.run_stackmap("export", self.base).stdout)
        self.assertIn("ftrace:my_event", self.run_stackmap("inspect", self.base).stdout)
        self.assertIn("events that the trace says were lost", self.run_stackmap("report", self.base).stdout)
        self.assertIn("FTRACE TRAMPOLINE", self.run_stackmap("flame", self.base, "-o", "-").stdout)
        self.assertEqual(json.loads(self.run_stackmap("map", "--format", "json", self.base).stdout)["successes"], 1)

    def test_what_script_prints_can_be_imported(self):
        (self.dir / "golden.map").write_text(self.run_stackmap("map", self.golden).stdout)
        self.trace.write_text(self.run_stackmap("script", self.golden).stdout)
        self.run_stackmap("import", "ftrace", self.trace, "--map", self.dir / "golden.map", "-o", self.base)
        self.assertEqual(self.run_stackmap("script", self.base).stdout, self.trace.read_text())
        self.assertEqual((self.dir / "w.map").read_text(), (self.dir / "golden.map").read_text())
        self.assertEqual(self.run_stackmap("export", self.base).stdout, self.run_stackmap("export", self.golden).stdout)
        self.assertIn("is sound", self.run_stackmap("inspect", "--verify", self.base).stderr)

    def test_outputs(self):
        (self.dir / "w.map").write_text("precious")
        done = self.run_stackmap("import", "ftrace", self.trace, "-o", self.base, code=1)
        self.assertIn("--force", done.stderr)
        self.assertEqual(sorted(os.listdir(self.dir)), ["stack_map", "trace", "w.map"])
        self.run_stackmap("import", "ftrace", self.trace, "-o", self.base, "--force")
        self.assertEqual((self.dir / "w.map").read_text(), "")
        done = subprocess.run([self.build / "stackmap", "import", "ftrace", "-", "-o", "-"], input=self.TRACE.encode(),
                              capture_output=True, timeout=DEADLINE, check=True)
        self.assertEqual(done.stdout[8:12], b"SMCB")
        self.assertIn("cannot write to", self.run_stackmap("import", "ftrace", self.trace, "-o", self.dir / "no/w", code=1).stderr)

    def test_bad_input(self):
        self.run_stackmap("import", code=2)
        self.run_stackmap("import", "ftrace", code=2)
        self.run_stackmap("import", "ftrace", self.dir / "none", "-o", self.base, code=1)
        self.map.write_text("hello\n")
        done = self.run_stackmap("import", "ftrace", self.trace, "--map", self.map, "-o", self.base, code=1)
        self.assertIn("stack_map:1: expected", done.stderr)
        self.assertIn("no line of it", self.run_stackmap("import", "ftrace", self.map, "-o", self.base, code=1).stderr)
        self.assertEqual(sorted(os.listdir(self.dir)), ["stack_map", "trace"])


class BadInputTest(Case):
    def test_no_such_file(self):
        for command in READERS:
            with self.subTest(command=command):
                done = self.run_stackmap(command, self.dir / "none", code=1)
                self.assertRegex(done.stderr, r"^stackmap: cannot open .*none: No such file or directory\n$")
                self.assertEqual(done.stdout, "")

    def test_not_a_capture(self):
        for content in (b"", b"hello\n" * 1000, os.urandom(5000)):
            path = self.dir / "x.smc"
            path.write_bytes(content)
            for command in READERS:
                with self.subTest(command=command):
                    done = self.run_stackmap(command, path, code=1)
                    self.assertIn("is not a stackmap capture", done.stderr)

    def test_a_folder(self):
        self.assertIn("Is a directory", self.run_stackmap("report", self.dir, code=1).stderr)

    def test_a_damaged_capture_is_used_as_far_as_it_is_whole_and_said_to_be(self):
        content = bytearray(self.golden.read_bytes())
        content[len(content) // 2] ^= 1
        path = self.dir / "x.smc"
        path.write_bytes(content)
        done = self.run_stackmap("script", path)
        self.assertIn("is damaged", done.stderr)
        self.assertIn("is not sound", self.run_stackmap("inspect", "--verify", path, code=1).stderr)

    def test_a_capture_without_its_end(self):
        path = self.dir / "x.smc"
        path.write_bytes(self.golden.read_bytes()[:-10])
        done = self.run_stackmap("report", path)
        self.assertIn("has no end", done.stderr)

    def test_usage(self):
        for arguments in ([], ["nope"], ["report"], ["report", "--nope", "x"], ["export", "--format", "nope", "x"],
                          ["flame", "--width", "1", "x"], ["report", "--limit", "x", "y"]):
            with self.subTest(arguments=arguments):
                done = self.run_stackmap(*arguments, code=2)
                self.assertRegex(done.stderr, r"^stackmap: .*\(try --help\)\n$")
        self.assertIn("has no event 'kmem:nope'", self.run_stackmap("report", "-e", "kmem:nope", self.golden, code=1).stderr)
        self.assertIn("'x' is not a whole number", self.run_stackmap("report", "-p", "x", self.golden, code=2).stderr)

    def test_help_and_version(self):
        self.assertRegex(self.run_stackmap("--version").stdout, r"^stackmap \d+\.\d+\.\d+\n$")
        for command in READERS:
            self.assertIn("CAPTURE", self.run_stackmap(command, "--help").stdout)

    def test_an_output_that_exists_is_refused_and_kept(self):
        path = self.dir / "x"
        path.write_text("precious")
        for command in ("flame", "export", "map"):
            self.assertIn("--force", self.run_stackmap(command, "-o", path, self.golden, code=1).stderr)
            self.assertEqual(path.read_text(), "precious")
            self.run_stackmap(command, "-o", path, "--force", self.golden)
            self.assertNotEqual(path.read_text(), "precious")
            path.write_text("precious")
        self.assertEqual(os.listdir(self.dir), ["x"])

    def test_full_disk_and_closed_pipe(self):
        for command in READERS:
            with self.subTest(command=command), open("/dev/full", "w", encoding="ascii") as full:
                done = subprocess.run([self.build / "stackmap", command, self.golden], stdout=full, stderr=subprocess.PIPE,
                                      text=True, timeout=DEADLINE, check=False)
                self.assertEqual(done.returncode, 1)
                self.assertIn("No space left on device", done.stderr)
        head = subprocess.run(f"{self.build}/stackmap script {self.golden} | head -n 1", shell=True, capture_output=True,
                              text=True, timeout=DEADLINE, check=True)
        self.assertEqual(head.stderr, "")


def main():
    Case.build = pathlib.Path(sys.argv[1]).resolve()
    Case.golden = pathlib.Path(sys.argv[2]).resolve() / "example.smc"
    result = unittest.TextTestRunner(verbosity=2).run(
        unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"]))
    return 0 if result.wasSuccessful() and result.testsRun else 1


if __name__ == "__main__":
    sys.exit(main())
