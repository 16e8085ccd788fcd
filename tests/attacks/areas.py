"""The areas, and how they are attacked: in full, or by a sample that a seed chooses."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

from tests.attacks import (
    commands,
    extremes,
    files,
    functions,
    killed,
    labels,
    learners,
    options,
    pages,
    tampered,
    threads,
)
from tests.attacks.judge import Attack, Count, judge_all

AREAS: dict[str, Callable[[int], Iterator[Attack]]] = {
    "functions": functions.attacks,
    "options": options.attacks,
    "learners": learners.attacks,
    "extremes": extremes.attacks,
    "labels": labels.attacks,
    "files": files.attacks,
    "tampered": tampered.attacks,
    "killed": killed.attacks,
    "threads": threads.attacks,
    "pages": pages.attacks,
    "commands": commands.attacks,
}
"""What makes the attacks of each area, from a seed, for the current folder."""


def attack(area: str, seed: int = 0, sample: int | None = None) -> Count:
    """Attack one area, with all attacks or with some of them in their order."""
    found = list(AREAS[area](seed))
    if sample is not None and sample < len(found):
        places = sorted(random.Random(seed).sample(range(len(found)), sample))
        found = [found[place] for place in places]
    return judge_all(area, found)
