# SPDX-License-Identifier: Apache-2.0
"""The section of scripts/bench that runs the google-benchmark programs."""
import json
import subprocess

from harness import Failed
from markdown import show, table

# (program, benchmark, what an item is)
CASES = [
    ("record_bench", "decode_record", "decode a ring record"),
    ("stack_map_bench", "intern/2000/real_time/threads:1", "intern a stack, 2,000 distinct"),
    ("stack_map_bench", "intern/16000/real_time/threads:1", "intern a stack, 16,000 distinct"),
    ("stack_map_bench", "intern/100000/real_time/threads:1", "intern a stack, 100,000 distinct"),
    ("record_bench", "record_event", "ring record to capture, all of it"),
    ("capture_bench", "encode_event", "encode an event"),
    ("capture_bench", "write_block_event", "write its block (zstd), an event's share"),
    ("capture_bench", "read_event", "read an event of a capture"),
    ("capture_bench", "name_address", "name an address by kallsyms"),
    ("report_bench", "aggregate_events/stacks:16384/threads:4", "aggregate an event, 16,384 stacks"),
]


def run(bench, program, names):
    """Benchmark name -> nanoseconds an item."""
    command = [str(bench.build / program), "--benchmark_format=json",
               f"--benchmark_filter=^({'|'.join(names)})$", f"--benchmark_min_time={0.05 if bench.quick else 1}",
               f"--benchmark_repetitions={bench.runs}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failed(f"'{' '.join(command)}' failed: {done.stderr.strip()}")
    items = {}
    for result in json.loads(done.stdout)["benchmarks"]:
        if result.get("error_occurred"):
            raise Failed(f"{program}: {result['name']}: {result['error_message']}")
        if result["run_type"] == "iteration":
            items.setdefault(result["run_name"], []).append(1e9 / result["items_per_second"])
    return items


def micro(bench):
    rows = []
    found = {}
    for program in dict.fromkeys(case[0] for case in CASES):
        bench.tell(f"micro: {program}")
        found[program] = run(bench, program, [name for of, name, _ in CASES if of == program])
    for program, name, words in CASES:
        if name not in found[program]:
            raise Failed(f"{program} has no benchmark {name}")
        values = sorted(found[program][name])
        rows.append([words, show(values[len(values) // 2], 1), f"{show(values[0], 1)}-{show(values[-1], 1)}",
                     f"`{program} {name}`"])
    return ["## Stages in user space", "", *table(["stage", "ns/item", "min-max", "benchmark"], rows),
            "One thread, data made up in memory, no kernel. The sources say what the data are.", ""]
