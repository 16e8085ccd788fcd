"""Compare the golden runs bit for bit, or write them anew."""

from __future__ import annotations

import os
import sys

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import json  # noqa: E402
from concurrent.futures import ProcessPoolExecutor  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402

from partial_monitoring.learner import spec  # noqa: E402
from tests.golden import runs  # noqa: E402

spec.MOST_UNCOMPILED = 0  # numbers are compared bit by bit

FILE = Path(__file__).with_name("golden.json")


def _decided(game: str) -> list[dict[str, Any]]:
    return list(runs.decisions(game))


def main() -> int:
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        played = dict(zip(runs.cases(), pool.map(runs.played, runs.cases()), strict=True))
        decided = dict(zip(runs.GAMES, pool.map(_decided, runs.GAMES), strict=True))
    found = json.loads(json.dumps({"simulated": played, "decided": decided}))
    if "--write" in sys.argv:
        FILE.write_text(json.dumps(found, indent=0) + "\n", encoding="utf-8")
        print(f"{len(played)} simulations and {len(decided)} learners written.")
        return 0
    golden = json.loads(FILE.read_text(encoding="utf-8"))
    differing = 0
    for case, expected in golden["simulated"].items():
        own = found["simulated"].get(case)
        if own is None or own["hash"] != expected["hash"]:
            differing += 1
            print(f"{case}: {_difference(expected, own)}")
    for game, expected in golden["decided"].items():
        if json.dumps(found["decided"].get(game)) != json.dumps(expected):
            differing += 1
            print(f"{game}: decisions differ")
    print(f"{differing} of {len(golden['simulated']) + len(golden['decided'])} differ.")
    return int(differing > 0)


def _difference(expected: dict[str, Any], own: dict[str, Any] | None) -> str:
    if own is None:
        return "missing"
    if own["plays"] != expected["plays"]:
        return "other actions"
    pairs = [(np.array(own[key]), np.array(expected[key])) for key in runs.NUMBERS]
    worst = max(float(np.nanmax(np.abs(a - b) / (1 + np.abs(b)), initial=0.0)) for a, b in pairs)
    return f"same actions, numbers within {worst:.1e}"


if __name__ == "__main__":
    sys.exit(main())
