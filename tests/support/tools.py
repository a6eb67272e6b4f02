# SPDX-License-Identifier: Apache-2.0
"""What the live and cli tests share: running the commands, and waiting for what they say."""
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

SKIP = 77  # CTest's exit code of a test that cannot be done here
DEADLINE = 60  # seconds; a test that waits longer for an event has failed


def wait_for(case, condition):
    """Polls, where there is nothing that could be waited on."""
    end = time.monotonic() + DEADLINE
    while not condition():
        case.assertLess(time.monotonic(), end, "what was waited for did not happen")
        os.sched_yield()


class Case(unittest.TestCase):
    build = pathlib.Path()

    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="stackmap_test."))
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)

    def run_stackmap(self, *arguments, code=0, **options):
        """Runs the command and checks its exit code."""
        done = subprocess.run([self.build / "stackmap", *map(str, arguments)], capture_output=True, text=True,
                              timeout=DEADLINE, check=False, **options)
        self.assertEqual(done.returncode, code, f"{arguments}: {done.stderr}")
        return done

    def mount_tmpfs(self, name, options):
        """A small file system of the test's own, which goes with the test."""
        path = self.dir / name
        path.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", path], check=True)
        self.addCleanup(subprocess.run, ["umount", "--lazy", path], check=True)
        return path

    def start(self, arguments, **options):
        process = subprocess.Popen([str(a) for a in arguments], text=True, **options)

        def end():
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream:
                    stream.close()
        self.addCleanup(end)
        return process


class Workload:
    """A workload behind its gate: it waits before the work, and after it (tools/workload/gate.h)."""

    def __init__(self, case, name, count):
        self.process = case.start([case.build / "workloads" / name, "--gate", count], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE)
        self.pid = self.process.pid
        case.assertEqual(self.process.stdout.readline(), "ready\n")

    def work(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline().split()[1])

    def end(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self.process.wait(DEADLINE)


class Recording:
    """`stackmap record`, from the moment it records until it is told to stop."""

    def __init__(self, case, *arguments, name="w"):
        self.case = case
        self.base = case.dir / name
        self.process = case.start([case.build / "stackmap", "record", "-o", self.base, *arguments],
                                  stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
        self.said = ""
        for line in self.process.stderr:
            self.said += line
            if "stackmap: recording " in line:
                return
        case.fail(f"record did not begin: {self.said}")

    def stop(self, code=0):
        self.process.send_signal(signal.SIGINT)
        self.said += self.process.stderr.read()
        self.case.assertEqual(self.process.wait(DEADLINE), code, self.said)
        return self

    def ledger(self):
        """The loss ledger's rows: event -> column -> count."""
        rows = {}
        columns = None
        for line in self.case.run_stackmap("inspect", self.base).stdout.splitlines():
            words = line.replace(",", "").split()
            if words[:2] == ["event", "hits"]:
                # "ring full" is two words; what follows "other" is there when it is not zero.
                columns = ["hits", "filtered", "sent", "ring full", "busy", "missed", "other", *words[9:]]
            elif columns and len(words) == len(columns) + 1 and re.fullmatch(r"[\w:]+", words[0]):
                rows[words[0]] = dict(zip(columns, map(int, words[1:])))
        return rows

    def events(self):
        """The numbers of events in the capture, by name."""
        found = re.findall(r"^([\w:]+) +([\d,]+) events$", self.case.run_stackmap("inspect", "--verify", self.base).stdout,
                           re.MULTILINE)
        return {name: int(count.replace(",", "")) for name, count in found}

    def map_records(self):
        """The map file: (slot, generation) -> (ref, frames)."""
        records = {}
        for block in self.base.with_suffix(".map").read_text().split("stack_id ")[1:]:
            head, *frames = block.rstrip("\n").split("\n")
            slot, _, generation, _, ref, _, depth = head.split()
            self.case.assertEqual(int(depth), len(frames))
            records[int(slot), int(generation)] = (int(ref), tuple(f.removeprefix(" => ") for f in frames))
        return records


class Control:
    """A recording's control socket, by the ctl command."""

    def __init__(self, case, recording, name):
        self.case = case
        self.recording = recording
        self.name = name

    def run(self, command, code=0):
        return self.case.run_stackmap("ctl", self.name, command, code=code)

    def stat(self):
        return dict(line.split(": ") for line in self.run("stat").stdout.splitlines())

    def map(self):
        """(slot, generation) -> ref"""
        return {(int(slot), int(generation)): int(ref) for slot, generation, ref in
                re.findall(r"^stack_id (\d+) gen (\d+) ref (\d+) depth \d+$", self.run("map").stdout, re.MULTILINE)}

    def connect(self, command):
        """A client of our own, which can be slow: it has sent the command and read nothing."""
        client = socket.socket(socket.AF_UNIX)
        self.case.addCleanup(client.close)
        client.settimeout(DEADLINE)
        client.connect(str(self.name))
        client.sendall(command)
        return client


def read_all(client):
    chunks = []
    while chunk := client.recv(65536):
        chunks.append(chunk)
    return b"".join(chunks).decode()


class PerfStat:
    """perf stat, switched on and off when it is told to."""

    def __init__(self, case, events, pid):
        self.case = case
        self.output = case.dir / "perf"
        control, answer = case.dir / "control", case.dir / "answer"
        os.mkfifo(control)
        os.mkfifo(answer)
        self.process = case.start(["perf", "stat", "-x,", "-o", self.output, "-D", "-1", "-p", pid,
                                   "--control", f"fifo:{control},{answer}", *sum((["-e", e] for e in events), [])],
                                  stdout=subprocess.DEVNULL)
        self.control = open(control, "w", encoding="ascii")
        self.answer = open(answer, encoding="ascii")
        case.addCleanup(self.control.close)
        case.addCleanup(self.answer.close)

    def tell(self, word):
        self.control.write(word + "\n")
        self.control.flush()
        # perf ends its answer with a NUL beside the line break.
        self.case.assertEqual(self.answer.readline().strip("\n\0"), "ack")

    def counts(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(DEADLINE)
        counts = {}
        for line in self.output.read_text().splitlines():
            fields = line.split(",")
            if len(fields) > 3 and fields[0].isdigit():
                counts[fields[2]] = int(fields[0])
        return counts


def run_golden_tests(module):
    """All classes of a test that takes the build's folder and the golden captures' on its command line."""
    Case.build = pathlib.Path(sys.argv[1]).resolve()
    Case.golden = pathlib.Path(sys.argv[2]).resolve() / "example.smc"
    result = unittest.TextTestRunner(verbosity=2).run(unittest.defaultTestLoader.loadTestsFromModule(module))
    return 0 if result.wasSuccessful() and result.testsRun else 1


def run_named_tests(module):
    """The classes that are named on the command line behind the build's folder, or all."""
    Case.build = pathlib.Path(sys.argv[1]).resolve()
    loader = unittest.defaultTestLoader
    suite = loader.loadTestsFromNames([f"{n}Test" for n in sys.argv[2:]], module) if sys.argv[2:] else \
        loader.loadTestsFromModule(module)
    result = unittest.TextTestRunner(verbosity=2).run(suite)
    return 0 if result.wasSuccessful() and result.testsRun else 1


def run_tests(module):
    """The same for a live test."""
    Case.build = pathlib.Path(sys.argv[1]).resolve()
    check = subprocess.run([Case.build / "stackmap", "check"], capture_output=True, text=True, check=False)
    if check.returncode != 0:
        print(f"skipped: recording is not possible here\n{check.stdout}{check.stderr}")
        return SKIP
    return run_named_tests(module)
