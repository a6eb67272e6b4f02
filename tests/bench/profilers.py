# SPDX-License-Identifier: Apache-2.0
"""The profilers that are compared. start() returns when one records, stop() when it has ended, with what it saw."""
import contextlib
import dataclasses
import os
import pathlib
import re
import typing

from harness import Failed, Tool, deadline, uninterrupted


@dataclasses.dataclass
class Outcome:
    """What one run gave. None: the tool does not tell, or there is no such thing."""
    events: typing.Optional[int] = None
    lost: typing.Optional[int] = None
    ring_bytes_event: typing.Optional[float] = None
    file_bytes: typing.Optional[int] = None
    cpu_s: typing.Optional[float] = None
    busy_s: typing.Optional[float] = None  # of cpu_s, while the workload worked
    memory_kib: typing.Optional[int] = None


class Untraced:
    name = "untraced"

    def start(self, event):
        pass

    def stop(self):
        return Outcome()

    def cpu_s(self):
        return None


class Profiler:
    """One that is a process."""

    def __init__(self, bench, name):
        self.bench = bench
        self.name = name
        self.tool = None

    def outcome(self, **known):
        cpu, memory = self.tool.wait()
        return Outcome(cpu_s=cpu, memory_kib=memory, **known)

    def cpu_s(self):
        """What it has used by now; None if it is no process."""
        return self.tool.cpu_s() if self.tool else None


class Floor(Profiler):
    def __init__(self, bench, name, *arguments):
        super().__init__(bench, name)
        self.arguments = arguments

    def start(self, event):
        self.tool = Tool(self.bench, [self.bench.build / "stackmap_floor", *self.arguments, event])
        self.tool.wait_for("ready")

    def stop(self):
        self.tool.process.stdin.close()
        outcome = self.outcome()
        outcome.events = number(r"^hits (\d+)$", self.tool.said)
        return outcome


class Ours(Profiler):
    def __init__(self, bench, name, *arguments):
        super().__init__(bench, name)
        self.arguments = arguments
        self.base = bench.dir / "ours"

    def start(self, event, *more):
        for path in self.bench.dir.glob("ours*.*"):
            path.unlink()
        self.tool = Tool(self.bench, [self.bench.build / "stackmap", "record", "-o", self.base, "-e", event,
                                      *self.arguments, *more])
        self.tool.wait_for("stackmap: recording ")

    def stop(self):
        self.tool.interrupt()
        outcome = self.outcome()
        if self.tool.process.returncode != 0:
            raise Failed(f"stackmap record failed: {self.tool.said.strip()}")
        # A recording in segments numbers them; the last one holds the account of all.
        captures = sorted(self.bench.dir.glob("ours*.smc"))
        if not captures:
            raise Failed(f"stackmap record left no capture: {self.tool.said.strip()}")
        texts = [self.bench.run(self.bench.build / "stackmap", "inspect", capture) for capture in captures]
        outcome.events = sum(int(n.replace(",", "")) for text in texts
                             for n in re.findall(r"^[\w:]+ +([\d,]+) events$", text, re.MULTILINE))
        outcome.lost = number(r"^lost ([\d,]+) of ", texts[-1])
        ring = re.search(r"^rings: ([\d.]+) (B|KiB|MiB|GiB) read$", texts[-1], re.MULTILINE)
        if ring and outcome.events:
            ring_bytes = float(ring[1]) * 1024 ** ["B", "KiB", "MiB", "GiB"].index(ring[2])
            outcome.ring_bytes_event = ring_bytes / outcome.events
        outcome.file_bytes = sum(capture.stat().st_size for capture in captures)
        return outcome


class Perf(Profiler):
    def __init__(self, bench, name, *arguments):
        super().__init__(bench, name)
        self.arguments = arguments
        self.data = bench.dir / "perf.data"

    def start(self, event):
        control, answer = self.bench.dir / "control", self.bench.dir / "answer"
        for path in (control, answer):
            path.unlink(missing_ok=True)
            os.mkfifo(path)
        # Held open for both directions, neither end waits for the other to open it.
        with contextlib.ExitStack() as closing:
            to, back = (os.open(path, os.O_RDWR) for path in (control, answer))
            closing.callback(os.close, to)
            closing.callback(os.close, back)
            self.tool = Tool(self.bench, ["perf", "record", "-a", "-e", event, "-o", self.data, *self.arguments, "-D",
                                          "-1", "--control", f"fifo:{control},{answer}"])
            os.write(to, b"enable\n")
            with deadline("perf's start"):
                said = os.read(back, 16)
            if not said.startswith(b"ack"):
                raise Failed(f"perf did not start: {said!r}")

    def stop(self):
        self.tool.interrupt()
        outcome = self.outcome()
        stats = self.bench.run("perf", "report", "--stats", "-i", self.data)
        # Of the event, which comes after the sums of all kinds of records.
        outcome.events = number(r"^[\w:]+ stats:\n +SAMPLE events: +(\d+)$", stats)
        outcome.lost = number(r"^[\w:]+ stats:\n +SAMPLE events: +\d+\n +LOST_SAMPLES events: +(\d+)$", stats) or 0
        outcome.file_bytes = self.data.stat().st_size
        self.data.unlink()
        return outcome


class Bpftrace(Profiler):
    def start(self, event):
        # What BEGIN prints is read once all probes are attached.
        script = f'BEGIN {{ printf("ready\\n"); }} tracepoint:{event} {{ @[kstack] = count(); }}'
        self.tool = Tool(self.bench, ["bpftrace", "-e", script])
        self.tool.wait_for("ready")

    def stop(self):
        with self.tool.interrupting():
            outcome = self.outcome()
        outcome.events = sum(map(int, re.findall(r"^\]: (\d+)$", self.tool.said, re.MULTILINE)))
        outcome.lost = sum(map(int, re.findall(r"^Lost (\d+) events$", self.tool.said, re.MULTILINE)))
        return outcome


class Ftrace:
    """A trace instance of our own; nothing else of tracefs is touched. No process of its own."""

    cpu_s = Untraced.cpu_s

    def __init__(self, bench, name, buffer_kib=512):
        self.bench = bench
        self.name = name
        self.buffer_kib = buffer_kib
        self.root = tracefs()
        if self.root is None:
            raise Failed("there is no tracefs at /sys/kernel/tracing or /sys/kernel/debug/tracing")
        self.instance = self.root / "instances" / f"stackmap_bench.{os.getpid()}"
        self.switch = None

    def start(self, event):
        with uninterrupted():
            self.instance.mkdir()
            self.bench.cleanup.callback(self.remove)
        (self.instance / "buffer_size_kb").write_text(str(self.buffer_kib))
        (self.instance / "options" / "overwrite").write_text("1")
        (self.instance / "options" / "stacktrace").write_text("1")
        self.switch = self.instance / "events" / event.replace(":", "/") / "enable"
        self.switch.write_text("1")

    def stats(self, cpu):
        text = (self.instance / "per_cpu" / f"cpu{cpu}" / "stats").read_text()
        return {key: number(rf"^{key}: (\d+)$", text) for key in ("entries", "overrun", "bytes")}

    def stop(self):
        self.switch.write_text("0")
        rows = [self.stats(cpu) for cpu in self.bench.cpus]
        self.remove()
        # An event and its stack are two entries.
        kept, overwritten, size = (sum(row[key] for row in rows) for key in ("entries", "overrun", "bytes"))
        return Outcome(events=(kept + overwritten) // 2, lost=overwritten // 2,
                       ring_bytes_event=size / (kept / 2) if kept else None)

    def remove(self):
        if self.instance.exists():
            if self.switch is not None:
                self.switch.write_text("0")
            self.instance.rmdir()


def tracefs():
    for path in ("/sys/kernel/tracing", "/sys/kernel/debug/tracing"):
        if (pathlib.Path(path) / "instances").is_dir():
            return pathlib.Path(path)
    return None


def number(pattern, text):
    """The first number that the pattern finds, or None."""
    found = re.search(pattern, text, re.MULTILINE)
    return int(found.group(1).replace(",", "")) if found else None
