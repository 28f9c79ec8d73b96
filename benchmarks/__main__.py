"""Prints the tables of benchmarks, or those that have one of the given words in their name."""

from __future__ import annotations

import platform
import sys
import tracemalloc
from importlib import import_module

from benchmarks import bridge, chains, crossings, limits, memory, operators, reference
from benchmarks.bar import Bench
from benchmarks.measure import best_of

BARS_IN_MICROSECONDS = {"subscribe and one element": 5.0}


def main(words: list[str]) -> None:
    """Measure everything, or what one of the words names, and print it."""
    print(f"CPython {platform.python_version()}, CPU time, best of 9 interleaved rounds or more\n")
    every = (*chains.BENCHES, *crossings.BENCHES, *operators.BENCHES)
    benches = [bench for bench in every if named(bench.name, words)]
    if benches:
        print_flow(benches)
    if named("limits", words):
        limits.report()
    if named("reference", words):
        print_reference()
    if named("bridge", words):
        bridge.report()
    if named("memory", words):
        memory.report()
    if named("journal", words):
        from benchmarks import journal  # needs the extra ``spark``

        journal.report()
    if named("through spark", words):
        from benchmarks import through_spark

        through_spark.report()
    report_what_takes_long(words)


LONG = {
    "scale": "scale",  # starts a cluster
    "into spark": "into_spark",  # Spark and a broker of Kafka
    "kafka": "kafka",  # a broker
    "postgres": "postgres",  # a server, as the next ones do
    "nats": "nats_streams",
    "redis": "redis_streams",
    "s3": "journal_on_s3",
    "tables": "tables",
    "lake": "lake",
    "writers": "writers",
    "dataframe": "dataframe",  # Spark
    "pipeline": "pipeline",
    "endurance": "endurance",  # takes a minute or two
}
"""The modules of what is measured only if it is named."""


def report_what_takes_long(words: list[str]) -> None:
    """Each of them needs packages and servers of its own, so it is imported when it is named."""
    for word, module in LONG.items():
        if word in words:
            import_module(f"benchmarks.{module}").report()


def named(name: str, words: list[str]) -> bool:
    """Whether this was asked for."""
    return not words or any(word in name for word in words)


def print_flow(benches: list[Bench]) -> None:
    """Ours against the bare loop, and against others."""
    cases = {}
    for bench in benches:
        cases[f"bare {bench.bare!r}"] = bench.bare
        cases[bench.name] = bench.work
        cases |= {peer.name: peer.work for peer in bench.peers}
    results = best_of(cases)
    print(f"{'':42} {'ns':>8} {'x bare':>7}  {'bar':>5}")
    for bench in benches:
        print_bench(bench, results)
    print()


def print_bench(bench: Bench, results: dict[str, float]) -> None:
    """One line for ours, and one for each peer."""
    ours, bare = results[bench.name], results[f"bare {bench.bare!r}"]
    ratio = ours / bare
    verdict = "" if ratio <= bench.bar else "  MISSED"
    print(f"{bench.name:42} {ours:8,.0f} {ratio:7.2f}  {bench.bar:5.2f}{verdict}")
    for peer, bar in bench.peers.items():
        faster = results[peer.name] / ours
        verdict = "" if faster >= bar else "  MISSED"
        line = f"   {peer.name}: ours is {faster:,.1f} times faster, bar {bar:g}"
        print(f"{line:65}{verdict}")


def print_reference() -> None:
    """The reference implementations."""
    results = best_of(reference.CASES)
    bare = results["bare loop"]
    print(f"{'':42} {'ns':>8} {'x bare':>7}  bar")
    for name, spent in results.items():
        print(f"{name:42} {spent:8,.0f} {spent / bare:7.1f}  {verdict_of(name, spent)}")
    tracemalloc.start()
    size = reference.bytes_per_subscriber(10_000)
    tracemalloc.stop()
    print(f"\n10,000 subscribers of one Broadcast: {size:,.0f} bytes each (bar: 2,048)\n")


def verdict_of(name: str, nanoseconds: float) -> str:
    """Whether a bar was met, where there is one."""
    bar = BARS_IN_MICROSECONDS.get(name)
    if bar is None:
        return ""
    return f"{bar:g} us: {'met' if nanoseconds <= bar * 1000 else 'MISSED'}"


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except KeyboardInterrupt:
        sys.exit("stopped")
