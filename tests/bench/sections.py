# SPDX-License-Identifier: Apache-2.0
"""The sections of scripts/bench that need the kernel: each measures, and gives lines of Markdown."""
from harness import Mix, Workload
from markdown import busy_per_million, cpu_per_million, file_bytes_event, lost_of, median, peak_mib, ratio, show, spread, table
from profilers import Bpftrace, Floor, Ftrace, Ours, Perf, Untraced

ALLOC = "kmem:kmem_cache_alloc"
SWITCH = "sched:sched_switch"
RING_KIB = 512  # a CPU; the default of stackmap record, and ftrace's here

OURS_RAW = "stackmap, raw"
OURS_CACHED = "stackmap, cookies"
FLOOR = "floor: stack walk only"
FLOOR_TIME = "floor and the clock"
COUNT = "count only"
NO_CACHE = ("This `stackmap record` has no `--no-cache`: it always sends raw stacks, so there is no row for cookies.",)


def ours(bench):
    """Our variants, and what is to be said of those that are missing."""
    if bench.offers("--no-cache"):
        return [Ours(bench, OURS_RAW, "--no-cache"), Ours(bench, OURS_CACHED)], ()
    return [Ours(bench, OURS_RAW)], NO_CACHE


def interleave(bench, variants, measure, untraced=0):
    """measure(variant) once a repetition, in an order of chance: name -> [(nanoseconds, Outcome)]."""
    results = {}
    for repetition in range(bench.runs):
        order = [Untraced()] * untraced + variants
        bench.random.shuffle(order)
        for variant in order:
            bench.tell(f"  {repetition + 1}/{bench.runs} {variant.name}")
            results.setdefault(variant.name, []).append(measure(variant))
    return results


def measured(variant, event, workload):
    """The workload waits while the profiler starts, and ends when it has stopped."""
    variant.start(event)
    before = variant.cpu_s()
    ns = workload.work()
    after = variant.cpu_s()
    outcome = variant.stop()
    workload.end()
    if before is not None and after is not None:
        outcome.busy_s = after - before
    return ns, outcome


def overhead_of(bench, title, event, name, count):
    bench.tell(f"overhead: {title}")
    own, missing = ours(bench)
    variants = [Floor(bench, COUNT, "--count"), Floor(bench, FLOOR), Floor(bench, FLOOR_TIME, "--time"), *own,
                Perf(bench, "perf record -g -a", "-g"),
                Perf(bench, "perf record -a, kernel callchains only", "-g", "--kernel-callchains"),
                Bpftrace(bench, "bpftrace, count by kstack"),
                Ftrace(bench, f"ftrace with stacks, {RING_KIB} KiB", RING_KIB)]
    results = interleave(bench, variants, lambda v: measured(v, event, Workload(bench, name, count)), untraced=3)
    base = median([ns for ns, _ in results["untraced"]])
    floor = median([ns for ns, _ in results[FLOOR]])
    rows = []
    for variant in ["untraced"] + [v.name for v in variants]:
        times = [ns / 1e6 for ns, _ in results[variant]]
        outcomes = [outcome for _, outcome in results[variant]]
        time = median(times) * 1e6
        rows.append([variant, spread(times), show(ratio(time, base), 2), show(ratio(time, floor), 3),
                     show(median([o.events for o in outcomes])),
                     lost_of(outcomes), show(median([o.ring_bytes_event for o in outcomes]), 1),
                     show(file_bytes_event(outcomes), 1),
                     show(busy_per_million(outcomes), 3), show(cpu_per_million(outcomes), 3),
                     show(peak_mib(outcomes), 1)])
    return [f"### {title}", "",
            *table(["variant", "workload, ms (min-max)", "x untraced", "x floor", "events seen", "lost, all runs",
                    "ring B/event", "file B/event", "tool CPU s/M events, working", "in all", "tool peak MiB"], rows), *missing]


def overhead(bench):
    return ["## Overhead", "",
            *overhead_of(bench, f"W: open and close, {bench.work(500)} rounds of 500, {ALLOC}", ALLOC, "open-close",
                         bench.work(500)), "",
            *overhead_of(bench, f"S: ping-pong, {bench.work(200000):,} round trips on one CPU, {SWITCH}", SWITCH,
                         "ping-pong", bench.work(200000)), "",
            f"Every ring has {RING_KIB} KiB a CPU. Every tool sees the whole system, so also the machine's other "
            "processes and this script; perf and bpftrace see events of their own too, stackmap leaves itself out. The "
            "floor walks the stack into a buffer and keeps nothing; whoever keeps events reads the clock too, which costs "
            "what the row below shows. CPU seconds are of the tool's process while the workload worked, and from its start "
            "to its end, as is its peak memory: for bpftrace with compiling, for perf with reading its file again, whose "
            "mapped pages count, for stackmap with loading its programs and naming the frames. Ring bytes are stackmap's "
            "records without perf's headers of 16 bytes, and ftrace's entries with everything. "
            "Lost are perf's LOST_SAMPLES, bpftrace's own count, and all of stackmap's ledger. ftrace has no process and "
            "overwrites its oldest entries by design: those are its lost ones. Ratios are of the medians of this run.",
            ""]


def mix(bench):
    own, missing = ours(bench)
    seconds = Mix(bench).seconds
    bench.tell(f"mix: stress-ng for {seconds} s")
    variants = [*own, Perf(bench, "perf record -g -a", "-g")]
    results = interleave(bench, variants, lambda v: measured(v, ALLOC, Mix(bench)))
    rows = []
    for variant in variants:
        outcomes = [outcome for _, outcome in results[variant.name]]
        rows.append([variant.name, show(median([o.events for o in outcomes])), lost_of(outcomes),
                     show(file_bytes_event(outcomes), 1), show(cpu_per_million(outcomes), 3),
                     show(peak_mib(outcomes), 1)])
    return ["## Mix", "",
            f"D: stress-ng for {seconds} s on every CPU, one each of {', '.join(Mix.stressors)}; {ALLOC}.", "",
            *table(["variant", "events seen", "lost, all runs", "file B/event", "tool CPU s/M events", "tool peak MiB"],
                   rows), *missing, "Throughput is not compared: from run to run it differs by more than what the "
            "profilers take. So does the number of events, of which only the shares compare.", ""]


def formats(bench):
    variants = [Ours(bench, "stackmap"), Perf(bench, "perf record -g -a", "-g"),
                Perf(bench, "perf record -g -a -z", "-g", "-z")]
    kinds = [("W, " + ALLOC, ALLOC, lambda: Workload(bench, "open-close", bench.work(500))),
             ("S, " + SWITCH, SWITCH, lambda: Workload(bench, "ping-pong", bench.work(200000))),
             ("D, " + ALLOC, ALLOC, lambda: Mix(bench))]
    cells = {variant.name: [variant.name] for variant in variants}
    for title, event, make in kinds:
        bench.tell(f"formats: {title}")
        results = interleave(bench, variants, lambda v, e=event, m=make: measured(v, e, m()))
        for variant in variants:
            outcomes = [outcome for _, outcome in results[variant.name]]
            cells[variant.name].append(show(file_bytes_event(outcomes), 1))
    return ["## Bytes on disk an event", "",
            *table(["variant", *(title for title, _, _ in kinds)], list(cells.values())),
            "The whole file divided by the events in it, median of the runs: tables, names and losses included. perf's "
            "files need the symbols of the machine beside them; ours hold the names of their frames.", ""]
