# SPDX-License-Identifier: Apache-2.0
"""Figures as Markdown: medians, spreads, and nothing where there is nothing."""
import statistics


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|---|" + "--:|" * (len(head) - 1)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows] + [""]


def median(values):
    """The median of what there is, or None."""
    there = [value for value in values if value is not None]
    return statistics.median(there) if there else None


def ratio(over, under):
    return None if over is None or not under else over / under


def show(value, digits=0):
    return "" if value is None else f"{value:,.{digits}f}"


def spread(values, digits=1):
    """median (min-max)"""
    return f"{show(median(values), digits)} ({show(min(values), digits)}-{show(max(values), digits)})"


def lost_of(outcomes):
    """The sum over all runs, and in how many of them there was any."""
    known = [o.lost for o in outcomes if o.lost is not None]
    if not known:
        return ""
    runs = sum(1 for lost in known if lost)
    return show(sum(known)) + (f" (in {runs} of {len(known)} runs)" if runs else "")


def file_bytes_event(outcomes):
    """The whole file over the events in it: the median of the runs."""
    return median([ratio(o.file_bytes, o.events) for o in outcomes])


def cpu_per_million(outcomes):
    return median([None if o.cpu_s is None or not o.events else o.cpu_s / o.events * 1e6 for o in outcomes])


def busy_per_million(outcomes):
    return median([None if o.busy_s is None or not o.events else o.busy_s / o.events * 1e6 for o in outcomes])


def peak_mib(outcomes):
    known = [o.memory_kib for o in outcomes if o.memory_kib is not None]
    return max(known) / 1024 if known else None
