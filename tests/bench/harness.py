# SPDX-License-Identifier: Apache-2.0
"""What every measurement needs: pinning, workloads behind their gate, tools that say when they are ready, what a tool
used, and an end that puts everything back."""
import contextlib
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

DEADLINE = 120  # seconds; whoever is waited for longer has failed
INTERRUPT_AGAIN = 20  # seconds


class Failed(Exception):
    """The benchmark cannot go on; the text is one sentence for the user."""


@contextlib.contextmanager
def deadline(what):
    """Turns a wait that never ends into an error."""
    def ring(*_):
        raise Failed(f"{what} took more than {DEADLINE} s")
    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(DEADLINE)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def uninterrupted():
    """Keeps Ctrl-C back while something is made and its removal is noted down."""
    came = []
    before = {number: signal.signal(number, lambda *_: came.append(1)) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if came:
        raise KeyboardInterrupt


class Bench:
    """One run of the benchmark: a context, whose end removes and kills what it made."""

    def __init__(self, build, runs, quick, seed):
        self.build = pathlib.Path(build).resolve()
        self.quick = quick
        self.runs = 1 if quick else runs
        self.seed = seed
        self.random = random.Random(seed)
        self.cleanup = contextlib.ExitStack()
        self.dir = None  # of all temporary files
        self.cpus = sorted(os.sched_getaffinity(0))
        self.tool_cpu, self.work_cpu = self.cpus[0], self.cpus[min(1, len(self.cpus) - 1)]
        self.help = subprocess.run([self.build / "stackmap", "record", "--help"], capture_output=True, text=True,
                                   check=True).stdout

    def __enter__(self):
        return self

    def prepare(self):
        """The first thing inside the context: from here on there is something to put back."""
        before = os.sched_getaffinity(0)
        self.cleanup.callback(os.sched_setaffinity, 0, before)
        os.sched_setaffinity(0, {self.tool_cpu})  # children inherit it
        with uninterrupted():
            self.dir = pathlib.Path(tempfile.mkdtemp(prefix="stackmap_bench."))
            self.cleanup.callback(shutil.rmtree, self.dir, ignore_errors=True)

    def __exit__(self, *_):
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)  # what is put back is put back whole
        self.cleanup.close()

    def offers(self, option):
        return re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", self.help) is not None

    def work(self, count):
        """The amount of work of a full run, or a tenth of it."""
        return max(1, count // 10) if self.quick else count

    def tell(self, text):
        print(f"bench: {text}", file=sys.stderr, flush=True)

    def run(self, *arguments):
        """A command's output, both streams; it must succeed."""
        done = subprocess.run([str(a) for a in arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", check=False)
        if done.returncode != 0:
            raise Failed(f"'{' '.join(map(str, arguments))}' failed: {done.stdout.strip()}")
        return done.stdout

    def start(self, arguments, **options):
        """A process in a group of its own: Ctrl-C reaches it through us alone."""
        with uninterrupted():
            process = subprocess.Popen([str(a) for a in arguments], text=True, errors="replace", start_new_session=True,
                                       **options)
            self.cleanup.callback(end_group, process)
        return process


def end_group(process):
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    for stream in (process.stdin, process.stdout):
        if stream:
            with contextlib.suppress(BrokenPipeError):
                stream.close()


class Workload:
    """A workload on its own CPU, behind its gate (tools/workload/gate.h)."""

    def __init__(self, bench, name, count):
        self.process = bench.start(["taskset", "-c", bench.work_cpu, bench.build / "workloads" / name, "--gate", count],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.pid = self.process.pid
        self.name = name
        with deadline(name):
            self.expect("ready")

    def expect(self, word):
        words = self.process.stdout.readline().split()
        if words[:1] != [word]:
            raise Failed(f"the workload {self.name} ended early")
        return words

    def work(self):
        """Nanoseconds that the work took, as the workload measured them."""
        with deadline(self.name):
            self.process.stdin.write("\n")
            self.process.stdin.flush()
            return int(self.expect("done")[1])

    def end(self):
        end_group(self.process)


class Mix:
    """A bounded time of many system calls at once, on every CPU."""
    stressors = ["open", "pipe", "fork", "sock", "udp", "mmap", "dentry", "dir", "epoll", "futex", "timer"]

    def __init__(self, bench):
        self.seconds = 1 if bench.quick else 5
        self.bench = bench
        cpus = ",".join(map(str, bench.cpus))
        self.command = ["taskset", "-c", cpus, "stress-ng", *(w for s in self.stressors for w in (f"--{s}", "1")),
                        "--timeout", f"{self.seconds}s", "--quiet", "--temp-path", bench.dir]

    def work(self):
        process = self.bench.start(self.command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        began = time.monotonic_ns()
        with deadline("stress-ng"):
            process.wait()
        return time.monotonic_ns() - began

    def end(self):
        pass


def thread_states(group):
    """The state of every thread of a process group."""
    for path in pathlib.Path("/proc").glob("[0-9]*/task/*/stat"):
        with contextlib.suppress(OSError):  # it ended meanwhile
            fields = path.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            if int(fields[2]) == group:
                yield fields[0]


def group_cpu_ns(group):
    """Nanoseconds of CPU of every thread of a process group."""
    for path in pathlib.Path("/proc").glob("[0-9]*/task/*"):
        with contextlib.suppress(OSError):  # it ended meanwhile
            fields = (path / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            if int(fields[2]) == group:
                yield int((path / "schedstat").read_text(encoding="ascii").split()[0])


class Tool:
    """A profiler's process. What it used is what the kernel says of it once it has been waited for."""

    def __init__(self, bench, arguments):
        self.words = arguments
        self.usage = bench.dir / "usage"
        self.usage.unlink(missing_ok=True)
        # time(1) forks from a small process; a child of this one would start with our peak memory as its own.
        self.process = bench.start(["time", "-q", "-f", "%M", "-o", self.usage, *arguments], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.said = ""

    @property
    def group(self):
        return self.process.pid

    def wait_for(self, words):
        """Reads what it says until a line holds these words."""
        with deadline(f"the start of '{self.words[0]}'"):
            for line in self.process.stdout:
                self.said += line
                if words in line:
                    return
        raise Failed(f"'{' '.join(map(str, self.words))}' did not start: {self.said.strip()}")

    def cpu_s(self):
        """Of all of its threads that are there."""
        return sum(group_cpu_ns(self.group)) / 1e9

    def interrupt(self):
        os.killpg(self.group, signal.SIGINT)

    @contextlib.contextmanager
    def interrupting(self):
        """Interrupts it, and again as long as it goes on: bpftrace has been seen not to hear the first one."""
        ended = threading.Event()

        def interrupt():
            self.interrupt()
            while not ended.wait(INTERRUPT_AGAIN):
                with contextlib.suppress(ProcessLookupError):
                    self.interrupt()
        thread = threading.Thread(target=interrupt)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def pause(self):
        """Stops all of its threads, and returns when they stand."""
        os.killpg(self.group, signal.SIGSTOP)
        with deadline(f"stopping '{self.words[0]}'"):
            while any(state not in "TZ" for state in thread_states(self.group)):
                os.sched_yield()

    def go_on(self):
        os.killpg(self.group, signal.SIGCONT)

    def wait(self):
        """Seconds of CPU and KiB of peak memory."""
        with deadline(f"the end of '{self.words[0]}'"):
            self.said += self.process.stdout.read()
            _, status, usage = os.wait4(self.process.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        end_group(self.process)
        return usage.ru_utime + usage.ru_stime, int(self.usage.read_text().split()[-1])
