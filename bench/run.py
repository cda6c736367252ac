"""Measure gnl beside a hand-written floor and what others would pick. See README.md.

python bench/run.py                    everything, five rounds
python bench/run.py --quick            a small run, to see that it works
python bench/run.py --contenders floor,gnl --operations drain --rounds 9
python bench/run.py --show FILE        the tables of samples taken before
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import median

from arena import Arena, open_arena
from contenders import CONTENDERS
from environments import BENCH, ROOT, make
from event_operations import EVENTS
from growth import GROWTH
from machine import describe_machine
from operations import OPERATIONS
from report import report
from samples import Sample, Samples, load

EVERYTHING = {**OPERATIONS, **GROWTH, **EVENTS}


def main() -> None:
    options = _options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))  # and clean up
    samples = load(options.show) if options.show else _take_samples(options)
    text = report(samples)
    print(text)
    if options.write:
        _write_results(options.write, samples, text)


def _take_samples(options: argparse.Namespace) -> Samples:
    samples = load(options.out) if options.append and options.out.exists() else Samples()
    names, first = options.contenders, samples.next_round()
    for environment in sorted({CONTENDERS[name].environment for name in names}):
        make(environment, options.gnl.resolve())
    with open_arena(options.scale) as arena:
        rounds = range(first, first + options.rounds)
        for sample in _rounds(arena, names, options.operations, rounds):
            samples.all.append(sample)
            samples.save(options.out)
            _tell(sample)
    return samples


def _rounds(
    arena: Arena, names: Iterable[str], operations: Iterable[str], rounds: Iterable[int]
) -> Iterator[Sample]:
    """Contenders take turns within every operation of every round."""
    for round_ in rounds:
        for operation in operations:
            for name in names:
                if operation in CONTENDERS[name].takes:
                    yield _measure(arena, name, operation, round_)


def _measure(arena: Arena, name: str, operation: str, round_: int) -> Sample:
    began, values, error = time.monotonic(), {}, None
    try:
        values = EVERYTHING[operation](arena, CONTENDERS[name])
    except (RuntimeError, OSError) as failure:
        error = f"{failure}".strip().splitlines()[-1]
    seconds = round(time.monotonic() - began, 1)
    return Sample(name, operation, round_, os.getloadavg()[0], seconds, values, error)


def _tell(sample: Sample) -> None:
    values = "  ".join(f"{key} {value:,.2f}" for key, value in sample.values.items())
    print(
        f"[{sample.round}] {sample.operation:12} {sample.contender:14}"
        f" {sample.seconds:5.1f} s  load {sample.load:.1f}  {sample.error or values}",
        file=sys.stderr,
        flush=True,
    )


def _write_results(path: Path, samples: Samples, text: str) -> None:
    loads = [sample.load for sample in samples.all]
    path.write_text(
        "# Results\n\n"
        "Medians; in brackets the ratio to the floor within the same round (growth: to the\n"
        "empty table within the same round, least and largest in brackets). Written by\n"
        "`python bench/run.py --write bench/RESULTS.md`; README.md says what each figure is.\n\n"
        f"{describe_machine()}\n"
        f"- {len(samples.all)} samples of {samples.next_round()} rounds; the machine's load average"
        f" meanwhile: median {median(loads):.1f}, highest {max(loads):.1f}\n\n{text}"
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a twentieth of the jobs, one round")
    parser.add_argument("--rounds", type=int, help="5, or 1 with --quick")
    parser.add_argument("--contenders", type=_names(CONTENDERS), default=list(CONTENDERS))
    parser.add_argument("--operations", type=_names(EVERYTHING), default=list(EVERYTHING))
    parser.add_argument("--out", type=Path, default=BENCH / "results" / "samples.json")
    parser.add_argument("--append", action="store_true", help="add to the samples in --out")
    parser.add_argument("--write", type=Path, metavar="FILE", help="also write the tables there")
    parser.add_argument("--gnl", type=Path, default=ROOT, help="measure the gnl of this checkout")
    parser.add_argument("--show", type=Path, metavar="FILE", help="only print these samples")
    options = parser.parse_args()
    options.scale = 0.05 if options.quick else 1.0
    options.rounds = options.rounds or (1 if options.quick else 5)
    return options


class _names:  # noqa: N801
    """A comma-separated list, each one of those known."""

    def __init__(self, known: Iterable[str]) -> None:
        self._known = list(known)

    def __call__(self, text: str) -> list[str]:
        unknown = [name for name in text.split(",") if name not in self._known]
        if unknown:
            raise argparse.ArgumentTypeError(f"{unknown} not among {', '.join(self._known)}")
        return text.split(",")


if __name__ == "__main__":
    main()
