#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Imports: what comes out of every reader is what went in, and bad input is told. Needs no root.

usage: import_test.py BUILD-FOLDER GOLDEN-FOLDER
"""
import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
from support import smc  # noqa: E402
from support.tools import DEADLINE, Case, run_golden_tests  # noqa: E402


class FtraceTest(Case):
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

    def test_an_import_is_sound_if_its_ledger_accounts_for_what_is_missing(self):
        self.run_stackmap("import", "ftrace", self.trace, "--map", self.map, "-o", self.base)
        done = self.run_stackmap("inspect", "--verify", self.base)
        self.assertIn("every cookie resolves but those of 1 events, as the import says", done.stderr)
        self.assertNotRegex(done.stdout, r"(?m)^\w[\w ]* +-?$|^kernel|^ring")
        self.assertIn("imported by", done.stdout)
        # Without its map's block, more are missing than the import says.
        path = self.dir / "w.smc"
        blocks = [b for b in smc.blocks(path.read_bytes()) if b.kind != smc.KINDS["stacks"]]
        for number, block in enumerate(blocks):
            block.put("<Q", 16, number)
        path.write_bytes(b"".join(b.bytes() for b in blocks))
        done = self.run_stackmap("inspect", "--verify", self.base, code=1)
        self.assertIn("2 events have a cookie without a stack, and the ledger accounts for 1", done.stderr)

    def test_an_import_has_no_statistics_and_stat_says_so(self):
        self.run_stackmap("import", "ftrace", self.trace, "--map", self.map, "-o", self.base)
        done = self.run_stackmap("stat", self.base)
        self.assertEqual(done.stdout, "")
        self.assertIn("was imported: what it was made of has no statistics of a stack map", done.stderr)

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


class FoldedTest(Case):
    TEXT = """all;main 7
java;start_thread;JavaMain;[unknown] 12
java;start_thread;std::vector<int, std::allocator<int> >::push_back;f+0x12 3000000000
swapper/0;secondary_startup_64;cpu_idle_[k] 1
"""
    TOTAL = 7 + 12 + 3000000000 + 1

    def setUp(self):
        super().setUp()
        self.text, self.base = self.dir / "folded", self.dir / "w"
        self.text.write_text(self.TEXT)

    def test_every_reader_takes_it(self):
        said = self.run_stackmap("import", "folded", self.text, "-o", self.base)
        self.assertIn(f"events: 4, stacks: 4 in {self.base}.smc, names in {self.base}.map; samples: {self.TOTAL:,}", said.stderr)
        self.assertEqual(self.run_stackmap("export", "--format", "folded", self.base).stdout, self.TEXT)
        report = self.run_stackmap("report", self.base).stdout
        self.assertIn(f"Total: {self.TOTAL:,} events\n", report)
        self.assertRegex(report, r"(?m)^ +1 +3,000,000,000 +100\.0%  java\n +f\+0x12\n"
                                 r" +std::vector<int, std::allocator<int> >::push_back\n")
        self.assertNotIn("the trace", report)
        flame = self.run_stackmap("flame", self.base, "--min-width", "0", "-o", "-").stdout
        self.assertIn("std::vector&lt;int, std::allocator&lt;int&gt; &gt;::push_back", flame)
        self.assertEqual(self.run_stackmap("export", "--comm", "java", self.base).stdout.count("\n"), 2)
        self.assertRegex(self.run_stackmap("script", self.base).stdout, r"(?m)^ +java-2 .*: sample: samples=3000000000$")
        self.assertIn("is sound: ", self.run_stackmap("inspect", "--verify", self.base).stderr)
        self.assertIn("stack_id 1 gen 1 ref 1 depth 3\n => [unknown]\n => JavaMain\n", self.run_stackmap("map", self.base).stdout)
        self.assertIn("was imported", self.run_stackmap("stat", self.base).stderr)
        self.run_stackmap("recover", self.base, "-o", self.dir / "copy")
        self.assertEqual(self.run_stackmap("export", self.dir / "copy").stdout, self.TEXT)

    def test_what_export_writes_comes_back(self):
        text = self.run_stackmap("export", self.golden).stdout
        self.text.write_text(text)
        self.run_stackmap("import", "folded", self.text, "-o", self.base)
        self.assertEqual(self.run_stackmap("export", self.base).stdout, text)

        def tables(capture):
            return self.run_stackmap("report", "--no-losses", "--limit", "0", capture).stdout.partition("\n")[2]
        self.assertEqual(tables(self.base), tables(self.golden))

    def test_outputs(self):
        (self.dir / "w.smc").write_text("precious")
        self.assertIn("--force", self.run_stackmap("import", "folded", self.text, "-o", self.base, code=1).stderr)
        self.assertEqual((self.dir / "w.smc").read_text(), "precious")
        self.run_stackmap("import", "folded", self.text, "-o", self.base, "--force", "-q")
        done = subprocess.run([self.build / "stackmap", "import", "folded", "-", "-o", "-"], input=self.TEXT.encode(),
                              capture_output=True, timeout=DEADLINE, check=True)
        self.assertEqual(done.stdout[8:12], b"SMCB")
        self.assertIn("events: 4, stacks: 4 to stdout; samples", done.stderr.decode())

    def test_lines_that_are_left_out_are_told_and_kept_in_mind(self):
        self.text.write_bytes(b"a;b 5\r\na;b -5\na;c\n  a;b 1\na;b 2.5\na;d 100")
        said = self.run_stackmap("import", "folded", self.text, "-o", self.base)
        self.assertIn(f"left out: 4; the first: {self.text}:2: 'a;b -5': the count is below 0\n", said.stderr)
        self.assertEqual(self.run_stackmap("export", self.base).stdout, "a;b 6\n")
        self.assertRegex(self.run_stackmap("report", self.base).stdout, r"(?m)^ +4  lines of the \w+ that were not understood$")

    def test_bad_input(self):
        self.run_stackmap("import", "folded", code=2)
        self.run_stackmap("import", "folded", self.text, "--map", self.text, "-o", self.base, code=2)
        self.run_stackmap("import", "folded", self.dir / "none", "-o", self.base, code=1)
        for content, words in ((b"", "has no stacks"), (b"# a comment\n\n", "has no stacks"),
                               (b"a;b\n", "folded:1: 'a;b': no count behind the stack"),
                               (b"\na;b 18446744073709551616\n", "folded:2: 'a;b 18446744073709551616': the count is above"),
                               (b"a;b 1", "folded:1: 'a;b 1': it has no line break"),
                               (self.golden.read_bytes(), "no line of it is a folded stack")):
            self.text.write_bytes(content)
            self.assertIn(words, self.run_stackmap("import", "folded", self.text, "-o", self.base, code=1).stderr)
        self.assertEqual(os.listdir(self.dir), ["folded"])


if __name__ == "__main__":
    sys.exit(run_golden_tests(sys.modules["__main__"]))
