"""Print the tables of all benchmarks (``make bench``) or of those named on the command line."""

from __future__ import annotations

import argparse
import sys

from rich.console import Console
from rich.table import Table

from benchmarks import (
    alarms,
    algorithms,
    box_duels,
    certified,
    classification,
    contextual,
    delays,
    engine,
    forgetting,
    gpu,
    kernelized,
    live,
    model,
    play,
    preferences,
    published,
    regret,
    regret_gaussian,
    scaling,
    segments,
    service,
    size,
    which,
    windows,
)

PARTS = {
    "alarms": alarms,
    "live": live,
    "model": model,
    "classification": classification,
    "engine": engine,
    "play": play,
    "algorithms": algorithms,
    "published": published,
    "contextual": contextual,
    "kernelized": kernelized,
    "preferences": preferences,
    "box_duels": box_duels,
    "scaling": scaling,
    "certified": certified,
    "delays": delays,
    "forgetting": forgetting,
    "regret_gaussian": regret_gaussian,
    "segments": segments,
    "service": service,
    "windows": windows,
    "size": size,
    "which": which,
}

SEEDED = ("alarms", "box_duels", "regret_gaussian", "segments")
"""Those that take a number of seeds."""

BY_NAME = {"gpu": gpu}
"""Those that are run only if they are named: they need a device."""

if __name__ == "__main__":
    if sys.argv[1:2] == ["regret"]:  # has options of its own, and takes hours
        regret.main(sys.argv[2:], prog_name="python -m benchmarks regret")
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(PARTS | BY_NAME))
    parser.add_argument("--seeds", type=int, default=20, help="of tables of regret")
    parser.add_argument("--sizes", type=int, nargs="+", default=gpu.SIZES, help="actions, for gpu")
    parser.add_argument("--large", action="store_true", help="service: with a million decisions")
    parser.add_argument("--write", action="store_true", help="which: into docs/which-policy.md")
    given = parser.parse_args()
    console = Console(width=160)
    for name in given.names or PARTS:
        part = (PARTS | BY_NAME)[name]
        if name in BY_NAME:
            tables = part.run(tuple(given.sizes))
        elif name == "which":
            tables = which.run(given.write)
        elif name == "service":
            tables = service.run(large=given.large)
        else:
            tables = part.run(given.seeds) if name in SEEDED else part.run()
        for table in [tables] if isinstance(tables, Table) else tables:
            console.print(table)
