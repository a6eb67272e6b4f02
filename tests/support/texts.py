# SPDX-License-Identifier: Apache-2.0
"""Readers of what the commands print."""


def text_records(text):
    """stack_map text: (slot, gen) -> (ref, frames)."""
    records = {}
    for block in text.split("stack_id ")[1:]:
        head, *frames = block.rstrip("\n").split("\n")
        slot, _, generation, _, ref, _, depth = head.split()
        assert int(depth) == len(frames)
        records[int(slot), int(generation)] = (int(ref), [f.removeprefix(" => ") for f in frames])
    return records


def folded_total(text):
    return sum(int(line.rsplit(" ", 1)[1]) for line in text.splitlines())


def folded_stacks(text):
    """The frames of each stack -> its weight."""
    stacks = {}
    for line in text.splitlines():
        stack, weight = line.rsplit(" ", 1)
        stacks[tuple(stack.split(";"))] = int(weight)
    return stacks
