"""Hostile calls of the command line: one sentence, exit code 2, no traceback."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from shlex import join

from click.testing import CliRunner

import partial_monitoring as pm
from partial_monitoring.cli import main
from partial_monitoring.errors import InvalidInput
from tests.attacks.judge import Attack, Wrong, shown, unclear, unsound

CALLS = 700
SECONDS = ("--horizon", "3", "--seeds", "2")

WORDS = (
    *("", " ", "-", "--", "---", "-1", "0", "nan", "inf", "1e308", "1e999999999", "9" * 5000),
    *("\x1b[31mred", "\x1b]0;owned\x07", "\udcff", "\u202eabc", "two\nlines", "x" * 5000),
    *("[", "[" * 5000, "{}", "{", '{"a":1}', "null", "true", "1,2,3", "1,,2", ",", "=", "=x", "x="),
    *("../x", ".", "/dev/null", "missing.json", "missing/", "game.json", "bad.json", "~", "*"),
    *("ids", "ids:", "ids:gap", "ids:gap=", "ids:gap=none", "a=b=c:d=e", "ids:regularization=nan"),
    *("apple_tasting", "Apple_Tasting", "games", "__class__", "%s%n", "$(id)", "`id`", "; ls", "'"),
)
TEMPLATES = (
    *(("show", "?"), ("analyze", "?"), ("advise", "?"), ("policies", "?"), ("games", "?"), ("?",)),
    *(("show", "inspection", "--cost", "?"), ("show", "inspection", "--param", "?")),
    *(("show", "inspection", "?", "1"), ("show", "dynamic_pricing", "--prices", "?")),
    *(("show", "apple_tasting", "--out", "?"), ("analyze", "apple_tasting", "--plot", "?")),
    *(("advise", "apple_tasting", "--target", "?"), ("run", "?"), ("report", "?")),
    *(("simulate", "?", *SECONDS), ("simulate", "apple_tasting", "--horizon", "?", "--seeds", "2")),
    *(("simulate", "apple_tasting", "--horizon", "3", "--seeds", "?"),),
    *(("simulate", "apple_tasting", *SECONDS, "--policy", "?"),),
    *(("simulate", "apple_tasting", *SECONDS, "--theta", "?"),),
    *(("simulate", "apple_tasting", *SECONDS, "--probe", "?"),),
    *(("simulate", "apple_tasting", *SECONDS, "--engine", "?"),),
    *(("simulate", "apple_tasting", *SECONDS, "?"), ("report", ".", "--title", "?")),
)
"""Calls with a place, ``?``, for a hostile word."""


def attacks(seed: int) -> Iterator[Attack]:
    pm.save_game(pm.games.apple_tasting(), "game.json")
    Path("bad.json").write_text('{"rewards": [[NaN]], "signals": [["\\u001b[31m"]]}')
    every = [(template, word) for template in TEMPLATES for word in WORDS]
    for template, word in random.Random(seed).sample(every, min(CALLS, len(every))):
        words = [word if part == "?" else part for part in template]
        yield Attack(shown(f"pm {join(words)}"), partial(call, words))


def call(words: list[str]) -> None:
    """Call the command; it must succeed, or fail in one sentence."""
    result = CliRunner(env={"COLUMNS": "100"}).invoke(main, words)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    if result.exit_code not in (0, 2):
        raise Wrong(f"exit code {result.exit_code}")
    if result.exit_code == 0:
        if problem := unsound(result.stdout):
            raise Wrong(problem)
        return
    if result.stdout:
        raise Wrong(f"wrote {shown(result.stdout)}")
    lines = result.stderr.splitlines()
    usage = lines and lines[0].startswith("Usage: ")  # of click, which writes no full stops
    if "Traceback" in result.stderr or not lines:
        raise Wrong(f"said {shown(result.stderr)}")
    message = f"{lines[-1]}." if usage else result.stderr.rstrip("\n")
    if problem := unclear(message):
        raise Wrong(problem)
    raise InvalidInput(message)
