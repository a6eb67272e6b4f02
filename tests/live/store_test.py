#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where recordings go: segments on a bounded disk, a flight recorder's snapshots, and what a kill leaves.

usage: store_test.py BUILD-FOLDER [CLASS...]; STACKMAP_KILLS=N for more kills than the default.
"""
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
from support.tools import DEADLINE, Case, Control, PerfStat, Recording, Workload, run_tests, wait_for  # noqa: E402

ALLOC = "kmem:kmem_cache_alloc"


def segments(recording):
    return sorted(recording.base.parent.glob(recording.base.name + "-??????.smc"))


def count_in(case, captures, pid):
    """Events of a process, as script prints them."""
    lines = case.run_stackmap("script", *captures).stdout.splitlines()
    return sum(1 for line in lines if f"-{pid} " in line and f" {ALLOC.split(':')[1]}: " in line)


class RotationTest(Case):
    def test_every_event_is_in_one_segment_and_each_stands_alone(self):
        workload = Workload(self, "open-close", 80)
        recording = Recording(self, "-e", ALLOC, "-p", str(workload.pid), "--rotate-size", "64K", "--flush", "20ms",
                              "--threads", "2", "--ring-size", "8M")
        perf = PerfStat(self, [ALLOC], workload.pid)
        perf.tell("enable")
        workload.work()
        perf.tell("disable")
        recording.stop()
        workload.end()
        # What found its ring full all the same, on a machine that leaves the profiler no time, is in the ledger and was this process's.
        expected = perf.counts()[ALLOC] - recording.ledger()[ALLOC]["ring full"]
        captures = segments(recording)
        self.assertGreater(len(captures), 2)
        alone = 0
        for capture in captures:
            self.assertIn("is sound", self.run_stackmap("inspect", "--verify", capture).stderr)
            alone += count_in(self, [capture], workload.pid)
            # Every cookie has its record in the segment's own map file.
            script = self.run_stackmap("script", capture).stdout
            records = set(re.findall(r"^stack_id (\d+ gen \d+) ", capture.with_suffix(".map").read_text(), re.M))
            self.assertLessEqual(set(re.findall(r"<stack_id (\d+ gen \d+)>", script)), records)
        self.assertEqual(alone, expected)
        self.assertEqual(count_in(self, captures, workload.pid), expected)
        # All of them by the name, and by the directory.
        self.assertEqual(count_in(self, [recording.base], workload.pid), expected)
        self.assertEqual(count_in(self, [self.dir], workload.pid), expected)

    def test_no_more_than_asked_for_is_kept_and_the_newest_resolves(self):
        recording = Recording(self, "-e", ALLOC, "--rotate-size", "64K", "--keep", "2")
        workload = Workload(self, "open-close", 400)
        workload.work()
        workload.end()
        recording.stop()
        captures = segments(recording)
        self.assertEqual(len(captures), 2)
        self.assertRegex(recording.said, r"\d+ older ones have made room")
        self.assertIn("is sound", self.run_stackmap("inspect", "--verify", captures[-1]).stderr)
        self.assertIn("open-close", self.run_stackmap("export", "--format", "folded", captures[-1]).stdout)

    def test_the_disk_bound_holds_at_every_moment(self):
        limit = 1 << 20
        most = 0
        done = threading.Event()

        def look():
            nonlocal most
            while not done.is_set():
                used = 0
                for path in self.dir.iterdir():
                    try:
                        used += path.stat().st_blocks * 512
                    except FileNotFoundError:
                        pass
                most = max(most, used)
        recording = Recording(self, "--max-disk", "1M", "--rotate-size", "128K")
        watcher = threading.Thread(target=look)
        watcher.start()
        workload = Workload(self, "open-close", 500)
        workload.work()
        workload.end()
        recording.stop()
        done.set()
        watcher.join()
        self.assertGreater(most, limit // 2)
        self.assertLessEqual(most, limit)

    def test_a_name_is_refused_continued_or_replaced(self):
        arguments = ["-e", ALLOC, "--rotate-size", "1M"]
        first = Recording(self, *arguments)
        first.stop()
        again = ["record", "-o", first.base, *arguments, "--", "true"]
        self.assertIn("exists", self.run_stackmap(*again, code=1).stderr)
        self.run_stackmap("record", "--numbered", *again[1:])
        self.assertEqual([c.name for c in segments(first)], ["w-000001.smc", "w-000002.smc"])
        # The name alone is the newest recording, and that is said; the files together are refused.
        newest = self.run_stackmap("script", first.base)
        self.assertIn("several recordings; this is the newest", newest.stderr)
        self.assertEqual(newest.stdout, self.run_stackmap("script", segments(first)[1]).stdout)
        self.assertIn("not the segments of one recording", self.run_stackmap("script", *segments(first), code=2).stderr)
        self.run_stackmap("record", "--force", *again[1:])
        self.assertEqual([c.name for c in segments(first)], ["w-000001.smc"])

    def test_wrong_bounds_are_usage_errors(self):
        for arguments in (["--rotate-size", "1K"], ["--max-disk", "1K"], ["--rotate-time", "1ms"],
                          ["--max-disk", "2M", "--rotate-size", "1M"], ["--rotate-size", "x"], ["--trigger", "exit!=0"],
                          ["--flight-record", "1K"], ["--flight-record", "1M", "--rotate-size", "1M"],
                          ["--flight-record", "1M", "--trigger", "kmem:nothing"],
                          ["--flight-record", "1M", "-e", ALLOC, "--trigger", "kmem:kfree"]):
            done = self.run_stackmap("record", "-o", self.dir / "w", *arguments, "--", "true", code=2)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
            self.assertEqual(list(self.dir.iterdir()), [], arguments)


class FlightTest(Case):
    def snapshot_events(self, capture):
        said = self.run_stackmap("inspect", "--verify", capture)
        self.assertIn("is sound", said.stderr)
        found = dict(re.findall(r"^([\w:]+) +([\d,]+) events$", said.stdout, re.M))
        return int(found[ALLOC].replace(",", ""))

    def test_the_newest_events_are_kept_whole(self):
        recording = Recording(self, "-e", ALLOC, "--flight-record", "512K", "--ring-size", "8M")
        workload = Workload(self, "open-close", 1000)
        workload.work()
        workload.end()
        recording.stop()
        captures = segments(recording)
        self.assertEqual(len(captures), 1)
        self.assertTrue(captures[0].with_suffix(".map").exists())
        # Two million events went by. What is there is a run of the latest without a gap: the workload allocates
        # four objects for each of its 500 pairs a round, in the same order.
        kept = self.snapshot_events(captures[0])
        self.assertGreater(kept, 50000)
        self.assertLess(kept, 1900000)
        names = [line.rsplit("name=", 1)[1] for line in self.run_stackmap("script", captures[0]).stdout.splitlines()
                 if f"-{workload.pid} " in line and " kmem_cache_alloc: " in line]
        self.assertGreater(len(names), 50000)
        period = names[-2001:-1000]
        self.assertEqual(names[-1001:], period, "the same thousand events as before")

    def test_the_socket_and_the_signal_ask_for_snapshots(self):
        recording = Recording(self, "-e", ALLOC, "--flight-record", "256K", f"--control={self.dir / 'socket'}", "--trigger",
                              "exit!=0")
        workload = Workload(self, "open-close", 100)
        workload.work()
        said = Control(self, recording, self.dir / "socket").run("snapshot").stderr
        first = segments(recording)
        self.assertEqual(len(first), 1)
        self.assertIn(str(first[0]), said)
        self.snapshot_events(first[0])
        recording.process.send_signal(signal.SIGUSR2)
        for line in recording.process.stderr:
            if "SIGUSR2" in line:
                break
        self.assertEqual(len(segments(recording)), 2)
        workload.end()
        recording.stop()
        # A trigger was given, and it was not the end.
        self.assertEqual(len(segments(recording)), 2)

    def test_an_event_triggers_and_the_times_around_it_are_kept(self):
        recording = Recording(self, "-e", ALLOC, "-e", "sched:sched_process_exec", "--flight-record", "1M", "--trigger",
                              "sched:sched_process_exec filename=/bin/true", "--before", "10s", "--after", "200ms")
        subprocess.run(["/bin/true"], check=True)
        for line in recording.process.stderr:
            recording.said += line
            if " events in " in line:
                break
        capture = segments(recording)[0]
        self.assertIn("filename=/bin/true", self.run_stackmap("script", capture).stdout)
        recording.stop()

    def test_the_exit_code_of_a_command_triggers(self):
        arguments = ["record", "-e", ALLOC, "-o", self.dir / "w", "--flight-record", "256K", "--trigger", "exit!=0", "--"]
        self.run_stackmap(*arguments, "true")
        self.assertEqual(list(self.dir.glob("*.smc")), [])
        self.run_stackmap(*arguments, "false")
        self.assertEqual(len(list(self.dir.glob("w-*.smc"))), 1)


class KillTest(Case):
    """Full blast with rotation, killed at a random moment, again and again."""

    def test_every_file_opens_after_kill_9(self):
        kills = int(os.environ.get("STACKMAP_KILLS", "8"))
        chance = random.Random(kills)
        workload = self.start([self.build / "workloads" / "open-close", "1000000000"], stdout=subprocess.DEVNULL)
        files = torn = empty = events = 0
        latest = []
        for number in range(kills):
            recording = Recording(self, "-e", "kmem", "--rotate-size", "256K", "--keep", "4", "--flush", "100ms",
                                  name=f"k{number}")
            time.sleep(chance.uniform(0, 0.5))  # the moment is the test's chance, not a wait
            recording.process.kill()
            killed = time.monotonic()
            recording.process.wait(DEADLINE)
            captures = segments(recording)
            self.assertGreater(len(captures), 0)
            for capture in captures:
                files += 1
                said = self.run_stackmap("inspect", capture)
                torn += "unfinished" in said.stderr
                if " events\n" not in said.stdout:
                    # Killed before the first events were written: there is nothing to save but perhaps tables, and that is said.
                    empty += 1
                    saved = subprocess.run([self.build / "stackmap", "recover", capture, "-o", self.dir / "saved", "--force"],
                                           capture_output=True, text=True, timeout=DEADLINE, check=False)
                    self.assertIn(saved.returncode, (0, 1), saved.stderr)
                    self.assertIn("saved 0 events" if saved.returncode == 0 else "nothing of", saved.stderr)
                    continue
                self.run_stackmap("recover", capture, "-o", self.dir / "saved", "--force")
                verified = self.run_stackmap("inspect", "--verify", self.dir / "saved").stderr
                self.assertIn("is sound", verified)
                events += int(re.search(r"([\d,]+) events", verified)[1].replace(",", ""))
                self.assertNotIn("not in the capture", self.run_stackmap("report", self.dir / "saved").stdout)
            times = re.findall(r" +([\d.]+): \w+: ", self.run_stackmap("script", captures[-1]).stdout[-2000:])
            if times:
                latest.append(killed - float(times[-1]))
            for path in self.dir.glob(f"k{number}-*"):
                path.unlink()
        workload.kill()
        latest.sort()
        print(f"{kills} kills, {files} files, {torn} with a torn end, {empty} before the first flush, {events} events; newest event before the kill: "
              f"median {latest[len(latest) // 2] * 1000:.0f} ms, at most {latest[-1] * 1000:.0f} ms")


if __name__ == "__main__":
    sys.exit(run_tests(sys.modules["__main__"]))
