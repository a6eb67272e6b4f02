#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The cookie cache in the kernel: with it a capture holds what it holds without. Needs root.

usage: cache_test.py BUILD-FOLDER [TEST...]
"""
import collections
import os
import pathlib
import re
import socket
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
from support.ledger import ALLOC, KMEM, LedgerCase  # noqa: E402
from support.tools import DEADLINE, Case, PerfStat, Recording, Workload, read_all, run_tests, wait_for  # noqa: E402

ROUNDS = 50
EVENT = re.compile(r"^ *\S+-(\d+) +\[\d+\] \S+ +\S+: (\w+): (.*)$", re.MULTILINE)


def ask(path, command):
    """The answer of a recording's control socket."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(DEADLINE)
        client.connect(str(path))
        client.sendall(command)
        return read_all(client)


class CacheTest(Case):
    def stat(self, recording):
        text = self.run_stackmap("stat", recording.base).stdout
        return {key: int(value) for key, value in re.findall(r"^(\w+): (\d+)$", text, re.MULTILINE)}

    def record(self, *options):
        """What each round of the workload does, by event, fields and stack: those that differ by chance are left out."""
        workload = Workload(self, "open-close", ROUNDS)
        recording = Recording(self, *options, "-e", "kmem", "-p", str(workload.pid), "--ring-size", "8M", "--force")
        workload.work()
        recording.stop()
        workload.end()
        frames = {cookie: stack for cookie, (_, stack) in recording.map_records().items()}
        script = self.run_stackmap("script", recording.base).stdout.splitlines()
        counts = collections.Counter()
        for line, stack in zip(script, script[1:]):
            event = EVENT.match(line)
            cookie = re.search(r"<stack_id (\d+) gen (\d+)>", stack)
            if event and cookie:
                fields = re.sub(r"\b(ptr|pfn|page)=\S+ ?", "", event[3])
                counts[event[2], fields, frames[int(cookie[1]), int(cookie[2])]] += 1
        refs = sum(ref for ref, _ in recording.map_records().values())
        self.assertEqual(refs, sum(recording.events().values()))
        return recording, {key: count for key, count in counts.items() if count >= ROUNDS * 500}

    def test_counts_by_fields_and_stack_are_those_without_the_cache(self):
        recording, with_cache = self.record()
        stat = self.stat(recording)
        self.assertGreater(stat["cache_published"], 0)
        self.assertGreater(stat["cache_hits"], 0.9 * stat["successes"])
        recording, without = self.record("--no-cache")
        self.assertNotIn("cache_hits", self.stat(recording))
        self.assertGreaterEqual(len(without), 8)
        self.assertEqual(with_cache, without)

    def test_what_an_idle_cpu_has_in_its_batch_arrives_by_itself(self):
        workload = Workload(self, "open-close", ROUNDS)
        # A CPU of its own, as far as that is to be had: a fork or exit of anybody on it would send the batch too.
        mine = os.sched_getaffinity(0)
        self.addCleanup(os.sched_setaffinity, 0, mine)
        os.sched_setaffinity(workload.pid, {max(mine)})
        os.sched_setaffinity(0, mine - {max(mine)} or mine)
        path = self.dir / "control.sock"
        recording = Recording(self, "-e", ALLOC, "-p", str(workload.pid), "--flush", "50ms", "--ring-size", "8M",
                              f"--control={path}")
        perf = PerfStat(self, [ALLOC], workload.pid)
        perf.tell("enable")
        workload.work()
        # It waits behind its gate from here on. What is asked of the recording is as of now.
        told = ask(path, b"stat\n")
        perf.tell("disable")
        counted = perf.counts()[ALLOC]
        self.assertGreaterEqual(counted, ROUNDS * 2000)

        def arrived():
            done = subprocess.run([self.build / "stackmap", "inspect", recording.base], capture_output=True, text=True,
                                  timeout=DEADLINE, check=False)
            found = re.search(rf"^{ALLOC} +([\d,]+) events$", done.stdout, re.MULTILINE)
            return found and int(found[1].replace(",", "")) >= counted
        self.assertIn(f"\nsuccesses: {counted}\n", told)
        wait_for(self, arrived)
        self.assertIsNone(recording.process.poll())
        recording.stop()
        # Nothing that is recorded has come since: the capture says the same, in the same words, but for what the machine's other
        # threads did, and was filtered, or missed when it met a program of this one, or told the task table of them.
        said = "ok\n" + self.run_stackmap("stat", recording.base).stdout
        passing = re.compile(r"^(hits|filtered|lost|event_hits|event_filtered|event_recursion_misses|event_sent|"
                             r"event_task_records|ring_bytes): \d+$", re.MULTILINE)
        self.assertEqual(passing.sub(r"\1", told), passing.sub(r"\1", said))
        self.assertGreater(self.stat(recording)["cache_hits"], ROUNDS * 1000)

    def test_other_tracepoints_and_switches(self):
        workload = Workload(self, "ping-pong", 5000)
        recording = Recording(self, "-e", "sched", "-e", "syscalls:sys_enter_read", "-p", str(workload.pid),
                              "--ring-size", "1M")
        workload.work()
        recording.stop()
        events = recording.events()
        rows = recording.ledger()
        self.assertGreaterEqual(events["sched:sched_switch"], 10000)
        self.assertGreaterEqual(events["syscalls:sys_enter_read"], 10000)
        for event in ("sched:sched_switch", "sched:sched_waking", "syscalls:sys_enter_read"):
            self.assertEqual(events[event], rows[event]["sent"], event)
        self.assertGreater(self.stat(recording)["cache_hits"], 10000)
        # A switch tells of two threads, and a batch of the one that ran: both sides of the ping-pong were.
        switches = collections.Counter(match[1] for match in EVENT.finditer(
            self.run_stackmap("script", recording.base).stdout) if match[2] == "sched_switch")
        self.assertGreaterEqual(switches[str(workload.pid)], 4000)


class CacheUnderLoadTest(LedgerCase):
    """The ledger's sums, perf's counts and every cookie hold while the cache is reset over and over."""

    def reset(self):
        self.assertEqual(ask(self.dir / "control.sock", b"reset\n"), "ok\n")
        self.resets += 1
        time.sleep(0.01)  # the pace of the resets; nothing is waited for

    def check(self, *options):
        self.resets = 0
        rows = self.stress(*options, f"--control={self.dir / 'control.sock'}", ticks=300, meanwhile=self.reset)
        self.assertGreater(self.resets, 20)
        return rows

    def test_resets(self):
        rows = self.check("--ring-size", "8M")
        self.assertGreater(rows[ALLOC]["sent"], 10000)

    def test_resets_with_several_readers(self):
        rows = self.check("--ring-size", "8M", "--threads", "2")
        self.assertGreater(rows[ALLOC]["sent"], 10000)

    def test_resets_with_a_ring_that_is_too_small(self):
        rows = self.check("--ring-size", "16K")
        self.assertGreater(sum(rows[e]["ring full"] for e in KMEM), 0)


if __name__ == "__main__":
    sys.exit(run_tests(sys.modules["__main__"]))
