#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the command on the golden capture and on bad input. Needs no root.

The golden capture is of a known amount of work: see tests/golden/README.md.

usage: cli_test.py BUILD-FOLDER GOLDEN-FOLDER
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
from support import smc  # noqa: E402
from support.texts import folded_total, text_records  # noqa: E402
from support.tools import DEADLINE, Case, run_golden_tests  # noqa: E402

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


class SegmentsTest(Case):
    def setUp(self):
        super().setUp()
        self.folder = self.dir / "recording"
        self.folder.mkdir()
        self.files = [self.folder / f"w-{n:06}.smc" for n in (1, 2, 3)]
        for n, path in enumerate(self.files, 1):
            path.write_bytes(smc.segment(self.golden.read_bytes(), 7, n))
        self.one = folded_total(self.run_stackmap("export", self.golden).stdout)

    def test_every_reader_takes_them_by_name_by_folder_and_one_by_one(self):
        for command in READERS:
            outputs = set()
            for inputs in ([self.folder], [self.folder / "w"], [self.folder / "w.smc"], self.files, self.files[::-1]):
                with self.subTest(command=command, inputs=inputs):
                    done = self.run_stackmap(command, *inputs)
                    self.assertEqual(done.stderr, "")
                    outputs.add(done.stdout)
            self.assertEqual(len(outputs), 1, command)
            self.assertNotEqual(outputs, {""})

    def test_totals_are_those_of_all(self):
        self.assertEqual(folded_total(self.run_stackmap("export", self.folder).stdout), 3 * self.one)
        self.assertEqual(folded_total(self.run_stackmap("export", *self.files[1:]).stdout), 2 * self.one)
        self.assertIn(f"Total: {3 * self.one:,} events", self.run_stackmap("report", self.folder).stdout)
        one = text_records(self.run_stackmap("map", self.golden).stdout)
        expected = {(slot, n): value for (slot, _), value in one.items() for n in (1, 2, 3)}
        self.assertEqual(text_records(self.run_stackmap("map", self.folder).stdout), expected)
        script = self.run_stackmap("script", "-e", "kmem:kfree", *self.files).stdout
        self.assertEqual(len(script.splitlines()),
                         3 * len(self.run_stackmap("script", "-e", "kmem:kfree", self.golden).stdout.splitlines()))
        # A name from the working folder.
        done = self.run_stackmap("export", "w", cwd=self.folder)
        self.assertEqual(folded_total(done.stdout), 3 * self.one)

    def test_inspect_has_a_line_for_each(self):
        done = self.run_stackmap("inspect", "--verify", "--blocks", self.folder)
        self.assertIn("is sound", done.stderr)
        lines = re.findall(r"^ +(\d) +(\d+) +\d+ +[\d.]+ +[\d.]+  whole +\S*w-(\d{6})\.smc, lost \d+ of", done.stdout, re.M)
        self.assertEqual(lines, [(str(n), str(self.one), f"{n:06}") for n in (1, 2, 3)])

    def test_a_segment_that_is_not_there_is_said(self):
        self.files[1].unlink()
        for command in READERS:
            done = self.run_stackmap(command, self.folder)
            self.assertRegex(done.stderr, r"w: segment 2 is not there; the others are used\n$")
        self.assertIn("is sound", self.run_stackmap("inspect", "--verify", self.folder).stderr)
        self.assertEqual(self.run_stackmap("export", self.files[2]).stderr, "")

    def test_one_of_which_nothing_was_on_the_disk_is_left_out_and_said(self):
        for content in (b"", b"\0" * 5000):
            self.files[2].write_bytes(content)
            for command in READERS:
                for inputs in ([self.folder], [self.folder / "w"], self.files):
                    done = self.run_stackmap(command, *inputs)
                    self.assertRegex(done.stderr, r"^stackmap: warning: \S*w-000003\.smc is empty: .*; the others are used\n$")
                    self.assertEqual(done.stdout, self.run_stackmap(command, *self.files[:2]).stdout)
        # A capture that is none is not a segment that is empty, and where all are empty there is nothing to read.
        self.files[2].write_bytes(b"hello\n" * 1000)
        self.assertIn("is not a stackmap capture", self.run_stackmap("export", self.folder, code=1).stderr)
        for path in self.files:
            path.write_bytes(b"")
        self.assertIn("it is empty", self.run_stackmap("export", self.folder, code=1).stderr)

    def test_damage_names_its_file(self):
        damaged, offset = smc.flipped(self.files[1].read_bytes(), "events")
        self.files[1].write_bytes(damaged)
        done = self.run_stackmap("inspect", "--verify", self.folder, code=1)
        self.assertRegex(done.stderr, rf"not sound: \S*w-000002\.smc: block \d+ \(events\) at byte {offset}: wrong checksum")
        self.assertRegex(done.stdout, r"(?m)^ +2 .* damaged ")

    def test_files_that_do_not_belong_together(self):
        other = self.dir / "other.smc"
        other.write_bytes(smc.segment(self.golden.read_bytes(), 8, 4))
        for inputs, why in (((self.folder, other), "is of another one than"),
                            ((self.folder, self.files[0]), "are both its segment 1"),
                            ((self.golden, self.files[0]), "is a recording of its own")):
            for command in READERS:
                done = self.run_stackmap(command, *inputs, code=2)
                self.assertIn(why, done.stderr)
                self.assertIn("read one recording at a time", done.stderr)
                self.assertEqual(done.stdout, "")

    def test_recover_makes_one_of_them(self):
        self.files[1].unlink()
        done = self.run_stackmap("recover", self.folder, "-o", self.dir / "x")
        self.assertIn("segment 2 is not there", done.stderr)
        self.assertIn("is sound", self.run_stackmap("inspect", "--verify", self.dir / "x").stderr)
        for command in ("export", "script", "map"):
            self.assertEqual(self.run_stackmap(command, self.dir / "x").stdout, self.run_stackmap(command, self.folder).stdout)


class RecoverTest(Case):
    def setUp(self):
        super().setUp()
        self.whole = self.golden.read_bytes()
        self.path, self.out = self.dir / "in.smc", self.dir / "out"
        self.total = folded_total(self.run_stackmap("export", self.golden).stdout)

    def recover(self, content, code=0):
        self.path.write_bytes(content)
        return self.run_stackmap("recover", self.path, "-o", self.out, "--force", code=code)

    def saved(self):
        self.assertIn("is sound", self.run_stackmap("inspect", "--verify", self.out).stderr)
        self.assertEqual(self.run_stackmap("map", self.out).stdout, (self.dir / "out.map").read_text())
        return folded_total(self.run_stackmap("export", self.out).stdout)

    def test_a_sound_capture_comes_out_the_same(self):
        done = self.recover(self.whole)
        self.assertIn(f"saved {self.total:,} events", done.stderr)
        self.assertIn("lost nothing", done.stderr)
        self.assertEqual(self.saved(), self.total)
        for command in ("export", "script", "map", "stat", "report"):
            self.assertEqual(self.run_stackmap(command, self.out).stdout.replace(str(self.out), "NAME"),
                             self.run_stackmap(command, self.golden).stdout.replace(str(self.golden)[:-4], "NAME"))

    def test_each_kind_of_block_damaged(self):
        for kind in smc.KINDS:
            with self.subTest(kind=kind):
                damaged, _ = smc.flipped(self.whole, kind)
                done = self.recover(damaged)
                self.assertIn("1 damaged blocks", done.stderr)
                lost = re.search(r"lost ([\d,]+) events,", done.stderr)
                lost = int(lost.group(1).replace(",", "")) if lost else 0
                self.assertEqual(lost != 0, kind == "events")
                self.assertEqual(self.saved() + lost, self.total)

    def test_a_torn_tail(self):
        done = self.recover(self.whole[:len(self.whole) * 2 // 3])
        self.assertIn("has no end", done.stderr)
        self.assertIn("bytes of an unfinished block", done.stderr)
        self.assertIn(f"saved {self.saved():,} events", done.stderr)

    def test_a_missing_middle(self):
        third = len(self.whole) // 3
        done = self.recover(self.whole[:third] + self.whole[2 * third:])
        self.assertRegex(done.stderr, r"lost [\d,]+ events")
        lost = int(re.search(r"lost ([\d,]+) events,", done.stderr).group(1).replace(",", ""))
        self.assertEqual(self.saved() + lost, self.total)
        self.assertIn("when the capture was recovered", self.run_stackmap("report", self.out).stdout)

    def test_nothing_to_save(self):
        for content in (b"", b"hello" * 100, smc.blocks(self.whole)[0].bytes()):
            self.recover(content, code=1)
            self.assertEqual(os.listdir(self.dir), ["in.smc"])

    def test_usage_and_outputs(self):
        self.run_stackmap("recover", self.golden, code=2)
        self.run_stackmap("recover", "-o", self.out, code=2)
        (self.dir / "out.map").write_text("precious")
        self.assertIn("--force", self.run_stackmap("recover", self.golden, "-o", self.out, code=1).stderr)
        self.assertEqual(os.listdir(self.dir), ["out.map"])
        done = subprocess.run([self.build / "stackmap", "recover", self.golden, "-o", "-"], capture_output=True,
                              timeout=DEADLINE, check=True)
        self.path.write_bytes(done.stdout)
        self.assertIn("is sound", self.run_stackmap("inspect", "--verify", self.path).stderr)


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

    def test_a_folder_without_captures(self):
        for command in READERS:
            self.assertIn("has no .smc file", self.run_stackmap(command, self.dir, code=1).stderr)

    def test_a_damaged_capture_is_used_as_far_as_it_is_whole_and_said_to_be(self):
        content = bytearray(self.golden.read_bytes())
        content[len(content) // 2] ^= 1
        path = self.dir / "x.smc"
        path.write_bytes(content)
        done = self.run_stackmap("script", path)
        self.assertIn("is damaged", done.stderr)
        self.assertIn("is not sound", self.run_stackmap("inspect", "--verify", path, code=1).stderr)

    def test_verify_names_the_place_of_the_first_fault(self):
        path = self.dir / "x.smc"
        for kind in ("header", "stacks", "symbols", "events", "end"):
            damaged, offset = smc.flipped(self.golden.read_bytes(), kind)
            path.write_bytes(damaged)
            done = self.run_stackmap("inspect", "--verify", path, code=1)
            self.assertRegex(done.stderr, rf"not sound: {re.escape(str(path))}: block \d+ \({kind}\) at byte {offset}: wrong checksum")
        # A block that is whole, and lacks.
        kept = [b.bytes() for b in smc.blocks(self.golden.read_bytes()) if b.kind != smc.KINDS["stacks"]]
        path.write_bytes(b"".join(kept))
        done = self.run_stackmap("inspect", "--verify", path, code=1)
        self.assertRegex(done.stderr, r"block \d+ at byte \d+: 1 blocks are missing there")

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


if __name__ == "__main__":
    sys.exit(run_golden_tests(sys.modules["__main__"]))
