"""What a new user reads: errors that say what to do, and a status that fits on a screen."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import partial_monitoring as pm
from partial_monitoring.cli import main
from partial_monitoring.errors import InvalidInput

BOX = pm.KernelBoxDuelingGame(
    pm.kernels.SquaredExponential([5, 2], variance=0.1),
    low=[85, 5],
    high=[97, 12],
    names=["temperature", "pressure"],
    units=["°C", "bar"],
    norm_bound=3,
)


@pytest.mark.parametrize("game", [BOX, pm.games.dueling(np.eye(3), feedback="sign")])
@pytest.mark.parametrize("answer", [2, -1.5, [7.0]])
def test_a_duel_is_not_won_more_than_once(game: pm.Game, answer: object) -> None:
    learner = pm.Learner(game, seed=0)
    decision = learner.ask()
    with pytest.raises(InvalidInput, match=r"'first', 'second' or 'tie', or a number between -1"):
        learner.tell(decision, answer)
    with pytest.raises(InvalidInput, match="row 0 of observations"):
        learner.tell_past([decision.label], [answer])
    learner.tell(decision, 1)
    with pytest.raises(InvalidInput, match="between -1 and 1"):
        learner.amend(decision, answer)
    assert learner.round == 2


def test_who_forgets_the_context_is_told_which_there_are() -> None:
    shop = pm.games.dynamic_pricing()
    learner = pm.Learner(pm.segments({"startup": shop, "enterprise": shop}))
    for call in (learner.ask, learner.status, learner.plot):
        with pytest.raises(InvalidInput, match="contexts: 'startup', 'enterprise'"):
            call()


def test_a_status_in_a_context_says_how_much_was_seen_there() -> None:
    learner = pm.Learner(pm.games.segment_pricing(), seed=0)
    context, other = learner.game.contexts[:2]
    learner.tell(learner.ask(context=context), None)
    assert "which had 0 of 0 observations" in str(learner.status(context=other))


def test_the_status_over_a_box_is_short_and_loses_no_more_than_is_possible() -> None:
    learner = pm.Learner(BOX, seed=0)
    for _ in range(3):
        learner.tell(learner.ask(), wins=3, of=5)
    status = learner.status()
    assert max(map(len, status.sentences())) < 250
    assert f"{len(status.plausible):,} of the points compared" in str(status)
    assert 0 <= status.exploring <= 2 * 3 * np.sqrt(0.1) * 2  # |f| is at most 3 times the root


def test_a_saved_learner_with_its_log_apart_is_shown(tmp_path: Path) -> None:
    log, file = str(tmp_path / "log.ndjson"), str(tmp_path / "learner.json")
    learner = pm.Learner("dynamic_pricing", seed=0, storage=log)
    learner.tell(learner.ask(), "yes")
    learner.save(file)
    refused = CliRunner().invoke(main, ["status", file])
    assert refused.exit_code != 0
    assert "--storage" in str(refused.output) + str(refused.exception)
    shown = CliRunner().invoke(main, ["status", file, "--storage", log])
    assert shown.exit_code == 0
    assert "Round 2" in shown.output
