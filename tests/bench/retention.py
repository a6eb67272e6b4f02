# SPDX-License-Identifier: Apache-2.0
"""The section of scripts/bench that repeats the experiment of the ftrace series' cover letter: how much history a small
buffer holds when nobody reads it."""
from harness import Workload
from markdown import median, ratio, show, table
from profilers import Ftrace, Ours
from sections import ALLOC, RING_KIB, ours

ROUNDS = 100  # also of a quick run: it has to be more than what fits
RING_BYTES = RING_KIB * 1024
COVER_LETTER = [["cover letter, stack map off", "", "4,867", "107.4", ""],
                ["cover letter, stack map on", "", "10,552", "49.8", ""]]
NO_FLIGHT = "This `stackmap record` has no `--flight-record`: there is no row for it."


def kept_by_ring(bench, variant):
    """(events, bytes) in the ring when nobody reads it: the tool is stopped while the workload runs."""
    warm_up = Workload(bench, "open-close", 20)
    workload = Workload(bench, "open-close", ROUNDS)
    control = bench.dir / "control.socket"
    variant.start(ALLOC, "-p", f"{warm_up.pid},{workload.pid}", "--ring-size", f"{RING_KIB}K", f"--control={control}")
    # It has met the stacks, and has emptied the ring, when the reader stops.
    warm_up.work()
    bench.run(bench.build / "stackmap", "ctl", control, "snapshot")
    variant.tool.pause()
    workload.work()
    variant.tool.go_on()
    variant.stop()
    warm_up.end()
    workload.end()
    folded = bench.run(bench.build / "stackmap", "export", variant.base, "-p", workload.pid)
    return sum(int(line.rsplit(" ", 1)[1]) for line in folded.splitlines()), RING_BYTES


def kept_by_ftrace(bench):
    """(events, bytes) of the workload's CPU. An event and its stack are two entries."""
    ftrace = Ftrace(bench, "ftrace", RING_KIB)
    workload = Workload(bench, "open-close", ROUNDS)
    ftrace.start(ALLOC)
    workload.work()
    ftrace.switch.write_text("0")
    stats = ftrace.stats(bench.work_cpu)
    ftrace.remove()
    workload.end()
    return stats["entries"] / 2, stats["bytes"]


def kept_by_flight_recorder(bench):
    """(events, bytes) of the snapshot."""
    variant = Ours(bench, "flight recorder")
    workload = Workload(bench, "open-close", ROUNDS)
    variant.start(ALLOC, "-p", workload.pid, "--flight-record", f"{RING_KIB}K")
    workload.work()
    outcome = variant.stop()
    workload.end()
    return outcome.events, outcome.file_bytes


def note(bench, flight):
    return ("The cover letter's figures are of QEMU arm64 and count ring entries; an entry is an event or a stack, so "
            "an event with its stack is two, here also where it is one record or less. ftrace's entries and bytes are "
            "the kernel's own. Of our ring the events were counted: after a warm-up the reader was stopped while the "
            "workload ran, and read what had fitted afterwards; its bytes an event are computed, the ring's "
            f"{RING_KIB} KiB divided by the events. It keeps the first events, not the last, and what did not fit is "
            "counted as lost. "
            + (f"The flight recorder has {RING_KIB} KiB in all; its bytes are its snapshot's. " if flight else "")
            + f"Medians of {bench.runs}.")


def retention(bench):
    own, missing = ours(bench)
    flight = bench.offers("--flight-record")
    measures = {"ftrace with stacks": lambda: kept_by_ftrace(bench)}
    for variant in own:
        measures[f"{variant.name}, perf ring"] = lambda v=variant: kept_by_ring(bench, v)
    if flight:
        measures["stackmap, flight recorder"] = lambda: kept_by_flight_recorder(bench)
    kept = {name: [] for name in measures}
    for repetition in range(bench.runs):
        bench.tell(f"retention: {repetition + 1}/{bench.runs}")
        for name in bench.random.sample(list(measures), len(measures)):
            kept[name].append(measures[name]())
    rows = list(COVER_LETTER)
    for name, runs in kept.items():
        events = median([events for events, _ in runs])
        size = median([size for _, size in runs])
        rows.append([name, show(events), show(events * 2), show(ratio(size, events * 2), 1),
                     show(ratio(size, events), 1)])
    return ["## Retention", "",
            f"W of {ROUNDS} rounds, {ALLOC}, {RING_KIB} KiB a CPU, nobody reading; what is left on the workload's CPU.",
            "", *table(["variant", "events with stacks", "entries", "B/entry", "B/event"], rows), note(bench, flight),
            "", *missing, *(() if flight else (NO_FLIGHT,)), ""]
