#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/bench: it has every row, its counts hold what the workloads did, and it leaves nothing behind. Needs root.

usage: bench_test.py BUILD-FOLDER [TEST...]
"""
import os
import pathlib
import re
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
from support.tools import DEADLINE, Case, wait_for  # noqa: E402

SKIP = 77
BENCH = pathlib.Path(__file__).parents[2] / "scripts" / "bench"
SEES_ALL = ["count only", "floor: stack walk only", "floor and the clock", "stackmap, raw", "perf record -g -a",
            "perf record -a, kernel callchains only", "bpftrace, count by kstack", "ftrace with stacks, 512 KiB"]


def tracefs():
    return next((pathlib.Path(p) for p in ("/sys/kernel/tracing", "/sys/kernel/debug/tracing")
                 if (pathlib.Path(p) / "instances").is_dir()), None)


def instances():
    return {path.name for path in (tracefs() / "instances").iterdir()}


def settings():
    """Of the top instance: what a measurement could have left switched."""
    names = ("current_tracer", "tracing_on", "trace_options", "set_event", "buffer_size_kb")
    return {name: (tracefs() / name).read_text() for name in names}


def processes_of(folder):
    """Those that have the folder in their command."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if str(folder).encode() in path.read_bytes():
                found.append(path.parent.name)
        except OSError:
            pass  # it ended meanwhile
    return found


def count(text):
    return int(text.split("(")[0].replace(",", "") or 0)


class BenchTest(Case):
    def setUp(self):
        super().setUp()
        self.before = instances(), settings()
        self.environment = {**os.environ, "TMPDIR": str(self.dir)}
        self.command = [BENCH, "--quick", "--built", self.build]

    def check_nothing_is_left(self):
        self.assertEqual((instances(), settings()), self.before)
        self.assertEqual(os.listdir(self.dir), [])
        self.assertEqual(processes_of(self.dir), [])

    def rows(self, text, heading):
        """The table under a heading: first column -> row by the names of the columns."""
        lines = re.search(rf"^#+ {heading}.*?^(\|.*?)\n\n", text, re.MULTILINE | re.DOTALL).group(1).splitlines()
        cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if not line.startswith("|--")]
        return {row[0]: dict(zip(cells[0], row)) for row in cells[1:]}

    def test_every_row_is_there_and_tracefs_is_as_it_was(self):
        done = subprocess.run([*self.command, "overhead", "retention"], capture_output=True, text=True, check=False,
                              env=self.environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.check_nothing_is_left()
        # 50 rounds of 500 with four allocations each; 20,000 trips of two switches.
        for heading, least in (("W: ", 100000), ("S: ", 40000)):
            rows = self.rows(done.stdout, heading)
            cached = ["stackmap, cookies"] if "stackmap, cookies" in rows else []
            self.assertEqual(set(rows), {"untraced", *SEES_ALL, *cached})
            self.assertEqual(rows["untraced"]["x untraced"], "1.00")
            self.assertEqual(rows["floor: stack walk only"]["x floor"], "1.000")
            for name in SEES_ALL + cached:
                # ftrace's lost ones are among those that it saw.
                lost = 0 if name.startswith("ftrace") else count(rows[name]["lost, all runs"])
                self.assertGreaterEqual(count(rows[name]["events seen"]) + lost, least, name)
                self.assertGreater(float(rows[name]["x untraced"]), 0)
        rows = self.rows(done.stdout, "Retention")
        for name in ("ftrace with stacks", "stackmap, raw, perf ring"):
            # An event with its stack takes 1,100 bytes at most, and no less than a header of perf's and a timestamp.
            self.assertGreater(count(rows[name]["events with stacks"]), 512 * 1024 / 1100, name)
            self.assertLess(count(rows[name]["events with stacks"]), 512 * 1024 / 16, name)
        self.assertEqual(rows["cover letter, stack map on"]["entries"], "10,552")

    def test_an_interrupt_puts_everything_back(self):
        bench = self.start([*self.command, "retention"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                           env=self.environment)
        wait_for(self, lambda: instances() != self.before[0] or bench.poll() is not None)
        self.assertNotEqual(instances(), self.before[0])
        bench.send_signal(signal.SIGINT)
        said = bench.communicate(timeout=DEADLINE)[1]
        self.assertEqual(bench.returncode, 130, said)
        self.assertIn("interrupted", said)
        self.check_nothing_is_left()

    def test_a_section_that_is_none_is_refused(self):
        done = subprocess.run([*self.command, "overheads"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("no section 'overheads'", done.stderr)


def main():
    Case.build = pathlib.Path(sys.argv[1]).resolve()
    check = subprocess.run([Case.build / "stackmap", "check"], capture_output=True, text=True, check=False)
    if check.returncode != 0 or tracefs() is None or len(os.sched_getaffinity(0)) < 2:
        print(f"skipped: needs recording, tracefs and two CPUs\n{check.stdout}{check.stderr}")
        return SKIP
    suite = unittest.defaultTestLoader.loadTestsFromNames(sys.argv[2:] or ["BenchTest"], sys.modules["__main__"])
    result = unittest.TextTestRunner(verbosity=2).run(suite)
    return 0 if result.wasSuccessful() and result.testsRun else 1


if __name__ == "__main__":
    sys.exit(main())
