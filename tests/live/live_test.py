#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records real kernel events and holds them against perf and bpftrace. Needs root.

usage: live_test.py BUILD-FOLDER [TEST...]
"""
import collections
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
from support.ledger import ALLOC, KMEM, LedgerCase  # noqa: E402
from support.tools import DEADLINE, Case, Control, PerfStat, Recording, Workload, run_tests, wait_for  # noqa: E402

class PerfStatTest(Case):
    def test_events_of_a_process_equal_perf_stats_one_for_one(self):
        for threads in ("1", "2", "0"):
            with self.subTest(threads=threads):
                workload = Workload(self, "open-close", 20)
                # A ring that holds a loaded machine's delays: this is about what is counted, not about what is lost.
                recording = Recording(self, "-e", ALLOC, "--force", "--ring-size", "8M", "--threads", threads)
                perf = PerfStat(self, [ALLOC], workload.pid)
                perf.tell("enable")
                workload.work()
                perf.tell("disable")
                recording.stop()
                workload.end()
                counted = perf.counts()[ALLOC]
                for fifo in ("control", "answer"):
                    (self.dir / fifo).unlink()
                folded = self.run_stackmap("export", recording.base, "-p", workload.pid).stdout
                ours = sum(int(line.rsplit(" ", 1)[1]) for line in folded.splitlines())
                # 20 rounds of 500, four allocations each, and a few now and then to refill.
                self.assertGreaterEqual(counted, 40000)
                self.assertEqual(ours, counted)


class StacksTest(Case):
    def test_stacks_and_counts_equal_bpftraces_frame_by_frame(self):
        rounds = 50
        workload = Workload(self, "open-close", rounds)
        script = f'tracepoint:{ALLOC} /pid == {workload.pid}/ {{ @[kstack] = count(); }} BEGIN {{ printf("ready\\n"); }}'
        tracer = self.start(["bpftrace", "-e", script], stdout=subprocess.PIPE)
        while tracer.stdout.readline() != "ready\n":
            self.assertIsNone(tracer.poll())
        recording = Recording(self, "-e", ALLOC, "-p", str(workload.pid), "--ring-size", "8M")
        workload.work()
        recording.stop()
        tracer.send_signal(signal.SIGINT)
        theirs = self.bpftrace_stacks(tracer.stdout.read())
        workload.end()
        ours = collections.Counter()
        for ref, frames in recording.map_records().values():
            ours[tuple(self.name_and_offset(f) for f in frames)] += ref
        in_each_round = {stack for stack, count in theirs.items() if count >= rounds * 500}
        self.assertGreaterEqual(len(in_each_round), 3)
        for stack in in_each_round:
            self.assertEqual(ours[stack], theirs[stack], stack)
        self.assertEqual({s for s, n in ours.items() if n >= rounds * 500}, in_each_round)

    @staticmethod
    def name_and_offset(frame):
        name, offset = re.fullmatch(r"(.+)\+0x([0-9a-f]+)/0x[0-9a-f]+( \[.*\])?", frame).group(1, 2)
        return name, int(offset, 16)

    @staticmethod
    def bpftrace_stacks(text):
        stacks = {}
        for body, count in re.findall(r"^@\[\n(.*?)^\]: (\d+)$", text, re.MULTILINE | re.DOTALL):
            frames = [line.strip().rsplit("+", 1) for line in body.splitlines()]
            stacks[tuple((name, int(offset)) for name, offset in frames)] = int(count)
        return stacks


class FieldsTest(Case):
    """Fields that are where the tracepoint's format file says, and not in a program."""
    MIGRATE = "sched:sched_migrate_task"

    def move(self, cpus, rounds):
        """Moves this thread over the CPUs, and back; returns each move."""
        self.addCleanup(os.sched_setaffinity, 0, os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cpus[0]})
        moves = []
        for _ in range(rounds):
            for old, new in (cpus, cpus[::-1]):
                os.sched_setaffinity(0, {new})
                moves.append((old, new))
        return moves

    def test_migrations_equal_bpftraces_field_by_field(self):
        cpus = tuple(sorted(os.sched_getaffinity(0)))[:2]
        if len(cpus) < 2:
            self.skipTest("there is one CPU")
        fields = ("pid", "prio", "orig_cpu", "dest_cpu")
        script = f'tracepoint:{self.MIGRATE} {{ printf("' + " ".join(f"{f}=%d" for f in fields) + '\\n", ' + \
            ", ".join(f"args->{f}" for f in fields) + '); } BEGIN { printf("ready\\n"); }'
        tracer = self.start(["bpftrace", "-e", script], stdout=subprocess.PIPE)
        while tracer.stdout.readline() != "ready\n":
            self.assertIsNone(tracer.poll())
        recording = Recording(self, "-e", self.MIGRATE)
        me = threading.get_native_id()
        moves = self.move(cpus, 50)
        recording.stop()
        tracer.send_signal(signal.SIGINT)
        pattern = " ".join(rf"{f}=(-?\d+)" for f in fields)
        theirs = [tuple(map(int, found)) for found in re.findall(pattern, tracer.stdout.read())]
        script = self.run_stackmap("script", recording.base).stdout
        # Each CPU's events are in order; those of several are not.
        timed = sorted((float(time), tuple(map(int, found)))
                       for time, *found in re.findall(r"([\d.]+): sched_migrate_task: " + pattern, script))
        ours = [event for _, event in timed]
        mine = [event for event in ours if event[0] == me]
        self.assertEqual([event[2:] for event in mine[-len(moves):]], moves)
        # bpftrace began before and may have seen more, and loses none of so few.
        self.assertLessEqual(collections.Counter(mine), collections.Counter(e for e in theirs if e[0] == me))
        # All of them, by name.
        self.assertEqual(recording.events(), {self.MIGRATE: len(ours)})

    def test_triggers_know_them(self):
        cpus = tuple(sorted(os.sched_getaffinity(0)))[:2]
        if len(cpus) < 2:
            self.skipTest("there is one CPU")
        self.run_stackmap("record", "-e", self.MIGRATE, "--flight-record", "1M", "--trigger",
                          f"{self.MIGRATE} no_such=1", "-o", self.dir / "refused", code=2)
        recording = Recording(self, "-e", self.MIGRATE, "--flight-record", "1M", "--trigger",
                              f"{self.MIGRATE} pid={threading.get_native_id()} dest_cpu={cpus[1]}")
        self.move(cpus, 1)
        wait_for(self, lambda: list(self.dir.glob("w*.smc")))
        recording.stop()


class LedgerTest(LedgerCase):
    """Everything that fired is accounted for."""

    def test_sums_under_stress_equal_perfs(self):
        rows = self.stress()
        self.assertGreater(rows[ALLOC]["sent"], 10000)

    def test_sums_hold_with_a_ring_that_is_too_small(self):
        rows = self.stress("--ring-size", "16K")
        self.assertGreater(sum(rows[e]["ring full"] for e in KMEM), 0)

    def test_system_wide_sums(self):
        recording = Recording(self, "-e", "kmem", "-e", "sched")
        Workload(self, "ping-pong", 5000).work()
        recording.stop()
        rows = self.check_sums(recording)
        self.assertGreaterEqual(rows["sched:sched_switch"]["sent"], 10000)
        self.assertGreaterEqual(recording.events()["sched:sched_switch"], 10000)


class ResolveTest(Case):
    def test_every_cookie_that_script_prints_has_a_record_of_its_generation(self):
        recording = Recording(self)
        Workload(self, "open-close", 5).work()
        recording.stop()
        check = r"""
            FNR == NR && /^stack_id / { known[$2 ":" $4] = 1; next }
            FNR != NR && match($0, /<stack_id [0-9]+ gen [0-9]+>/) {
                split(substr($0, RSTART + 1, RLENGTH - 2), word, " ")
                cookies++
                if (!((word[2] ":" word[4]) in known)) missing++
            }
            END { print cookies + 0, missing + 0 }"""
        script = self.dir / "script"
        script.write_text(self.run_stackmap("script", recording.base).stdout)
        done = subprocess.run(["awk", check, recording.base.with_suffix(".map"), script], capture_output=True, text=True,
                              check=True)
        cookies, missing = map(int, done.stdout.split())
        self.assertGreater(cookies, 10000)
        self.assertEqual(missing, 0)

    def test_refs_equal_the_statistics_and_the_events(self):
        recording = Recording(self, "-e", ALLOC)
        Workload(self, "open-close", 5).work()
        recording.stop()
        stat = dict(line.split(": ") for line in self.run_stackmap("stat", recording.base).stdout.splitlines())
        self.assertEqual(list(stat)[:5], ["generation", "entries", "capacity", "successes", "fallbacks"])
        records = recording.map_records()
        self.assertEqual(int(stat["entries"]), len(records))
        self.assertEqual(int(stat["successes"]), sum(ref for ref, _ in records.values()))
        self.assertEqual(int(stat["successes"]), recording.events()[ALLOC])

    def test_no_stack_begins_with_the_tracing_itself(self):
        recording = Recording(self, "-e", "kmem", "-e", "sched")
        subprocess.run(["true"], check=True)
        Workload(self, "ping-pong", 100).work()
        recording.stop()
        events = recording.events()
        for event in ("fork", "exec", "exit"):
            self.assertGreater(events[f"sched:sched_process_{event}"], 0)
        for _, frames in recording.map_records().values():
            self.assertNotRegex(frames[0], "^(bpf_|__bpf_|__traceiter_|trace_call_bpf|perf_trace_)")

    def test_another_tracepoint_is_recorded_with_its_stack(self):
        recording = Recording(self, "-e", "syscalls:sys_enter_openat", "-e", "raw_syscalls:sys_e*")
        Workload(self, "open-close", 2).work()
        recording.stop()
        events = recording.events()
        self.assertGreaterEqual(events["syscalls:sys_enter_openat"], 1000)
        self.assertGreaterEqual(events["raw_syscalls:sys_enter"], 2000)
        self.assertGreaterEqual(events["raw_syscalls:sys_exit"], 2000)


class NarrowedTest(Case):
    def test_only_the_process_and_its_children(self):
        workload = Workload(self, "ping-pong", 500)
        recording = Recording(self, "-e", "kmem", "-p", str(workload.pid))
        workload.work()
        recording.stop()
        folded = self.run_stackmap("export", recording.base).stdout
        self.assertEqual({line.split(";")[0] for line in folded.splitlines()}, {"ping-pong"})
        tids = set(re.findall(r"ping-pong-(\d+)", self.run_stackmap("script", recording.base).stdout))
        self.assertEqual(len(tids), 2, "the process and the child that it forked")

    def test_only_the_thread(self):
        workload = Workload(self, "ping-pong", 500)
        recording = Recording(self, "-e", "kmem", "-t", str(workload.pid))
        workload.work()
        recording.stop()
        tids = set(re.findall(r"ping-pong-(\d+)", self.run_stackmap("script", recording.base).stdout))
        self.assertEqual(tids, {str(workload.pid)})

    def test_the_profiler_leaves_itself_out(self):
        recording = Recording(self, "--flush", "20ms")
        Workload(self, "open-close", 5).work()
        recording.stop()
        self.assertEqual(self.run_stackmap("export", recording.base, "-p", recording.process.pid).stdout, "")
        self.assertGreater(recording.ledger()[ALLOC]["filtered"], 0)

    def test_a_command_runs_with_its_own_output_and_ends_the_recording(self):
        done = self.run_stackmap("record", "-o", self.dir / "w", "-e", ALLOC, "--", "sh", "-c", "echo out; exit 3")
        self.assertEqual(done.stdout, "out\n")
        self.assertIn("sh ended with 3", done.stderr)


class ErrorsTest(Case):
    """Each a sentence that says what and what to do, the exit code of the design, and no file left behind."""

    def refuse(self, code, words, *arguments, **options):
        done = self.run_stackmap("record", *arguments, code=code, **options)
        self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)
        return done

    def test_errors(self):
        out = self.dir / "w"
        self.refuse(4, ["no event 'kmem:nope'", "stackmap list"], "-e", "kmem:nope", "-o", out)
        self.refuse(4, ["no event", "'nope*:*'"], "-e", "nope*:*", "-o", out)
        self.refuse(2, ["more than 512 tracepoints"], "-e", "*:*", "-o", out)
        self.refuse(2, ["'kmemx' is not an event"], "-e", "kmemx", "-o", out)
        self.refuse(1, ["No such file or directory", "make the directory"], "-o", self.dir / "no" / "w")
        self.refuse(2, ["power of two"], "--ring-size", "5000", "-o", out)
        self.refuse(2, ["'1x' is not a duration"], "--duration", "1x", "-o", out)
        self.refuse(2, ["capacity"], "--capacity", "3", "-o", out)
        self.refuse(2, ["-a records every process"], "-a", "-p", "1", "-o", out)
        self.refuse(2, ["try --help"], "--no-such-flag", "-o", out)
        self.refuse(1, ["cannot record process 4194305", "No such"], "-p", "4194305", "-o", out)
        self.assertEqual(os.listdir(self.dir), [])

    def test_command_errors(self):
        out = self.dir / "w"
        done = self.run_stackmap("record", "-o", out, "--", "/no/such/command", code=127)
        self.assertIn("cannot run /no/such/command: No such file or directory", done.stderr)
        plain = self.dir / "plain"
        plain.write_text("")
        done = self.run_stackmap("record", "-o", out, "--", plain, code=126)
        self.assertIn("Permission denied", done.stderr)
        self.assertEqual(os.listdir(self.dir), ["plain"])

    def test_an_output_that_exists_is_refused_and_kept(self):
        for ending in (".smc", ".map"):
            path = self.dir / ("w" + ending)
            path.write_text("precious")
            self.refuse(1, [str(path), "exists", "--force"], "-o", self.dir / "w")
            self.assertEqual(path.read_text(), "precious")
            path.unlink()

    def test_without_root(self):
        os.chmod(self.dir, 0o777)
        command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", self.build / "stackmap"]
        done = subprocess.run([*map(str, command), "record", "-o", str(self.dir / "w")], capture_output=True, text=True,
                              timeout=DEADLINE, check=False)
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("run as root", done.stderr)
        self.assertEqual(os.listdir(self.dir), [])

    def test_without_btf_and_in_a_pid_namespace(self):
        # In a chroot the root is no mount, and its propagation cannot be changed; what lies below /sys is a slave there.
        private = ["unshare", "-m"]
        if subprocess.run([*private, "true"], capture_output=True, check=False).returncode != 0:
            private += ["--propagation", "unchanged"]
        for wrapper, words in (([*private, "sh", "-c", 'mount --bind /dev/null /sys/kernel/btf/vmlinux && "$@"', "sh"],
                                "does not show its types (BTF)"),
                               (["unshare", "-p", "-f"], "inside a PID namespace")):
            done = subprocess.run([*wrapper, str(self.build / "stackmap"), "record", "-o", str(self.dir / "w")],
                                  capture_output=True, text=True, timeout=DEADLINE, check=False)
            self.assertEqual(done.returncode, 4, done.stderr)
            self.assertIn(words, done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertEqual(os.listdir(self.dir), [])

    def test_a_full_disk_keeps_what_was_written_and_says_so(self):
        full = self.mount_tmpfs("full", "size=256k")
        done = self.run_stackmap("record", "-o", full / "w", "--flush", "50ms", "--",
                                 self.build / "workloads" / "open-close", "2000", code=1)
        self.assertIn("No space left on device", done.stderr)
        self.assertIn("events are in the capture and can be read", done.stderr)
        self.assertRegex(self.run_stackmap("inspect", full / "w").stdout, r"kmem:kmem_cache_alloc +[\d,]+ events")

    def test_more_lost_than_allowed(self):
        done = self.run_stackmap("record", "--ring-size", "4K", "--max-loss", "0.001", "-o", self.dir / "w", "--",
                                 self.build / "workloads" / "open-close", "200", code=3)
        self.assertIn("--max-loss", done.stderr)
        self.assertRegex(done.stderr, r"lost [\d,]+ of [\d,]+ events: [\d,]+ ring full")


class CrashTest(Case):
    def test_what_was_flushed_before_kill_9_reads(self):
        recording = Recording(self, "--flush", "50ms")
        workload = Workload(self, "open-close", 100)
        workload.work()
        recording.process.kill()
        recording.process.wait(DEADLINE)
        done = self.run_stackmap("inspect", recording.base)
        self.assertIn("has no end", done.stderr)
        self.assertRegex(done.stdout, r"kmem:kmem_cache_alloc +[\d,]+ events")
        self.run_stackmap("script", recording.base)

    def test_duration_ends_it_and_the_command(self):
        done = self.run_stackmap("record", "-e", ALLOC, "--duration", "300ms", "-o", self.dir / "w", "--", "sleep", "1000")
        # It returned before the thousand seconds, and what it did itself is no news.
        self.assertNotIn("sleep", done.stderr)


class LimitsTest(LedgerCase):
    def test_above_its_ceiling_of_cpu_time_it_counts_and_every_hit_is_accounted_for(self):
        workload = Workload(self, "open-close", 4000)
        recording = Recording(self, "-e", "kmem", "--max-cpu", "1", "--ring-size", "8M")
        perf = PerfStat(self, KMEM, workload.pid)
        perf.tell("enable")
        workload.work()
        perf.tell("disable")
        recording.stop()
        workload.end()
        rows = self.check_sums(recording)
        self.assertGreater(rows[ALLOC]["throttled"], 0)
        self.assertGreater(rows[ALLOC]["sent"], 0)
        self.assertIn("throttled", recording.said)
        self.assertIn("at the ceiling of --max-cpu", recording.said)
        # Two million events and more were this process's; all hits are there, whatever became of them.
        for event, counted in perf.counts().items():
            self.assertGreaterEqual(rows[event]["hits"], counted, event)

    def test_above_its_ceiling_of_memory_the_map_begins_anew(self):
        # A little above what it takes to begin with, which the refusal says.
        refused = self.run_stackmap("record", "-o", self.dir / "x", "--max-memory", "1M", "--", "true", code=2)
        least = float(re.search(r"recording takes ([\d.]+) MiB", refused.stderr)[1])
        self.assertEqual(list(self.dir.iterdir()), [])
        recording = Recording(self, "--max-memory", f"{int(least * 1024) + 200}K", f"--control={self.dir / 'socket'}")
        workload = Workload(self, "open-close", 300)
        workload.work()
        workload.end()
        wait_for(self, lambda: int(Control(self, recording, self.dir / "socket").stat()["generation"]) > 1)
        recording.stop()
        self.assertIn("more than --max-memory", recording.said)
        self.check_sums(recording)


class CoexistenceTest(Case):
    def test_perf_counts_the_same_with_and_without_a_recording(self):
        def count():
            workload = Workload(self, "open-close", 10)
            perf = PerfStat(self, ["syscalls:sys_enter_openat"], workload.pid)
            perf.tell("enable")
            workload.work()
            perf.tell("disable")
            workload.end()
            for fifo in ("control", "answer"):
                (self.dir / fifo).unlink()
            return perf.counts()["syscalls:sys_enter_openat"]
        without = count()
        recording = Recording(self, "-e", "syscalls:sys_enter_openat")
        during = count()
        recording.stop()
        self.assertEqual(without, 5000)
        self.assertEqual(during, 5000)

    def test_tracefs_is_left_as_it_was_found(self):
        def mounts():
            return pathlib.Path("/proc/self/mounts").read_text()
        before = mounts()
        Recording(self, "-e", ALLOC).stop()
        self.assertEqual(mounts(), before)


if __name__ == "__main__":
    sys.exit(run_tests(sys.modules["__main__"]))
