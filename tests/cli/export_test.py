#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is written for other programs: the formats of `export` and of `map`, each against what another command says.

usage: export_test.py BUILD-FOLDER GOLDEN-FOLDER
"""
import collections
import json
import os
import pathlib
import pty
import re
import struct
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
from support.texts import folded_stacks, folded_total, text_records  # noqa: E402
from support.tools import DEADLINE, Case, run_golden_tests  # noqa: E402

WEIGHTS = ["count", "bytes", "bytes-requested"]


def check_speedscope(text):
    """By the rules of the format's schema and of its reader; returns the document."""
    file = json.loads(text)
    assert file["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    assert set(file) <= {"$schema", "shared", "profiles", "name", "activeProfileIndex", "exporter"}
    assert isinstance(file["name"], str) and isinstance(file["exporter"], str)
    assert 0 <= file["activeProfileIndex"] < len(file["profiles"])
    frames = file["shared"]["frames"]
    for frame in frames:
        assert set(frame) == {"name"} and isinstance(frame["name"], str) and frame["name"]
    for profile in file["profiles"]:
        assert set(profile) == {"type", "name", "unit", "startValue", "endValue", "samples", "weights"}
        assert profile["type"] == "sampled" and isinstance(profile["name"], str)
        assert profile["unit"] in ("none", "nanoseconds", "microseconds", "milliseconds", "seconds", "bytes")
        assert len(profile["samples"]) == len(profile["weights"])
        assert all(isinstance(weight, int) and weight > 0 for weight in profile["weights"])
        assert (profile["startValue"], profile["endValue"]) == (0, sum(profile["weights"]))
        assert all(isinstance(frame, int) and 0 <= frame < len(frames) for sample in profile["samples"] for frame in sample)
    return file


def speedscope_stacks(file, index):
    """The frames of each stack -> its weight."""
    stacks = collections.Counter()
    profile = file["profiles"][index]
    for sample, weight in zip(profile["samples"], profile["weights"]):
        stacks[tuple(file["shared"]["frames"][frame]["name"] for frame in sample)] += weight
    return stacks


class WeightTest(Case):
    def test_requested_bytes_are_those_of_the_events(self):
        script = self.run_stackmap("script", self.golden).stdout
        asked = [int(n) for n in re.findall(r"bytes_req=(\d+)", script)]
        asked += [4096 << int(order) for order in re.findall(r"mm_page_alloc: .*?order=(\d+)", script)]
        taken = folded_total(self.run_stackmap("export", "--weight", "bytes", self.golden).stdout)
        self.assertGreater(len(asked), 4000)
        self.assertLess(sum(asked), taken)
        self.assertEqual(folded_total(self.run_stackmap("export", "--weight", "bytes-requested", self.golden).stdout), sum(asked))
        report = self.run_stackmap("report", "--weight", "bytes-requested", self.golden).stdout
        self.assertIn(f"({sum(asked):,} bytes) in {len(asked):,} events", report)
        svg = self.run_stackmap("flame", "--weight", "bytes-requested", self.golden).stdout
        self.assertIn(f"({sum(asked):,} bytes) in {len(asked):,} events", svg)

    def test_every_weight_is_offered_and_no_other(self):
        for command in ("report", "flame", "export"):
            self.assertIn("{" + ",".join(WEIGHTS) + "}", self.run_stackmap(command, "--help").stdout)
            self.run_stackmap(command, "--weight", "nope", self.golden, code=2)


class SpeedscopeTest(Case):
    def export(self, *arguments):
        return check_speedscope(self.run_stackmap("export", "--format", "speedscope", *arguments).stdout)

    def test_it_has_the_stacks_of_the_folded_text(self):
        for arguments in ([], ["--merge-tasks", "--modules"], ["-e", "kmem:kmalloc"], ["--kernel-suffix"]):
            with self.subTest(arguments=arguments):
                folded = self.run_stackmap("export", *arguments, self.golden).stdout
                file = self.export(*arguments, self.golden)
                self.assertEqual(speedscope_stacks(file, 0), folded_stacks(folded))
        self.assertEqual(file["name"], str(self.golden.with_suffix("")))

    def test_a_profile_for_each_column(self):
        total = re.search(r"^Total: ([\d,]+) events$", self.run_stackmap("report", self.golden).stdout, re.M)[1]
        file = self.export(self.golden)
        self.assertEqual([(p["name"], p["unit"], f"{p['endValue']:,}") for p in file["profiles"]], [("count", "none", total)])
        for weight in ("bytes", "bytes-requested"):
            report = self.run_stackmap("report", "--weight", weight, self.golden).stdout
            size, events = re.search(r"^Total: .*\(([\d,]+) bytes\) in ([\d,]+) events$", report, re.M).groups()
            file = self.export("--weight", weight, self.golden)
            self.assertEqual([(p["name"], p["unit"], f"{p['endValue']:,}") for p in file["profiles"]],
                             [(weight, "bytes", size), ("count", "none", events)])

    def test_nothing_is_a_document_too(self):
        file = self.export("--comm", "nobody", self.golden)
        self.assertEqual((file["shared"]["frames"], file["profiles"][0]["samples"]), ([], []))

    def test_names_that_need_care(self):
        trace = self.dir / "trace"
        comm = b'w "q\\ \xff<&>;\xc3\xa9 7'
        trace.write_bytes(b"# tracer: nop\n" + comm.rjust(16) + b"-7     [000] .....   1.000001: my_event: x\n" +
                          comm.rjust(16) + b"-7     [000] .....   1.000001: <stack trace>\n"
                          b' => a"b\\c\xfe+0x1/0x2\n => tab\there+0x1/0x2\n')
        self.run_stackmap("import", "ftrace", trace, "-o", self.dir / "w")
        (stack, weight), = speedscope_stacks(self.export(self.dir / "w"), 0).items()
        # Not UTF-8, and control characters: as \\xNN, as in every other output.
        self.assertEqual((stack[0], weight), ('w "q\\ \\xff<&>;\u00e9 7', 1))
        self.assertIn('a"b\\c\\xfe', stack)

    def test_a_full_disk_is_told(self):
        with open("/dev/full", "w", encoding="ascii") as full:
            done = subprocess.run([self.build / "stackmap", "export", "--format", "speedscope", self.golden], stdout=full,
                                  stderr=subprocess.PIPE, text=True, timeout=DEADLINE, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("No space left on device", done.stderr)


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


if __name__ == "__main__":
    sys.exit(run_golden_tests(sys.modules["__main__"]))
