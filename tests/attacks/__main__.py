"""``python -m tests.attacks [--seed N] [--sample N] [AREA ...]``: attack, and print the counts."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from tests.attacks import areas
from tests.attacks.judge import table


def main() -> int:
    reader = argparse.ArgumentParser(prog="python -m tests.attacks", description=__doc__)
    reader.add_argument("areas", nargs="*", choices=[*areas.AREAS, []], help="all unless given")
    reader.add_argument("--seed", type=int, default=0)
    reader.add_argument("--sample", type=int, help="that many attacks instead of all")
    words = reader.parse_args()
    counts = []
    with tempfile.TemporaryDirectory() as folder:
        for area in words.areas or areas.AREAS:
            own = Path(folder, area)
            own.mkdir()
            os.chdir(own)
            count = areas.attack(area, words.seed, words.sample)
            for failure in count.failures:
                print(f"{area}: {failure.name}: {failure.reason}", flush=True)
            counts.append(count)
        os.chdir("/")
    print(table(count.row for count in counts))
    return int(any(count.failures for count in counts))


if __name__ == "__main__":
    sys.exit(main())
