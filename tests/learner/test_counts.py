"""Sufficient statistics of what was observed, against the observations themselves."""

from __future__ import annotations

import json

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.learner.counts import BLOCKS, MOST_UNLISTED, TOGETHER, Counts, width


@pytest.mark.parametrize("rounds", [1, 7, 31, 32, 33, 64, 65, 100, 500, 1777])
def test_tallies_are_those_of_the_observations(rounds: int) -> None:
    rng = np.random.default_rng(rounds)
    actions = rng.integers(0, 3, rounds)
    shown = 1e6 + rng.normal(size=(rounds, 2))  # far from zero: nothing may cancel
    counts = Counts()
    for t in range(rounds):
        counts = counts.added("here" if t % 5 else "there", int(actions[t]), shown[t].tolist())
    assert len(counts.recent) < TOGETHER
    for name, own in (("here", np.arange(rounds) % 5 > 0), ("there", np.arange(rounds) % 5 == 0)):
        tallies, mine, seen = counts.at(name), actions[own], shown[own]
        assert tallies.rounds == own.sum()
        if not own.any():
            continue
        middle, half = tallies.middle, tallies.rounds // 2
        assert middle == half or rounds > BLOCKS
        assert abs(middle - half) <= tallies.rounds / BLOCKS
        assert set(tallies.actions) == set(mine.tolist())
        for a, tally in tallies.actions.items():
            rows = seen[mine == a]
            assert tally.plays == len(rows)
            np.testing.assert_allclose(tally.total, rows.sum(axis=0), rtol=1e-12)
            expected = rows.mean(axis=0) + 0.5
            direct = ((rows - expected) ** 2).sum()
            assert tally.squares(expected) == pytest.approx(direct, rel=1e-8)
            assert len(tally.parts) <= BLOCKS
            early, total = tally.before(middle)
            first = seen[:middle][mine[:middle] == a]
            assert early == len(first)
            np.testing.assert_allclose(total, first.sum(axis=0), rtol=1e-12)


def test_blocks_are_long_enough() -> None:
    for rounds in range(1, 5000):
        size = width(rounds)
        assert rounds <= BLOCKS * size
        assert size == 1 or rounds > BLOCKS * size // 2


def test_counts_are_plain_data_and_go_on() -> None:
    one = Counts()
    rng = np.random.default_rng(0)
    for t in range(300):
        if t == 150:
            two = Counts.from_dict(json.loads(json.dumps(one.to_dict())))
        context = {"features": [[t % 3]]} if t % 2 else None
        seen = context, int(rng.integers(0, 4)), [float(rng.normal())]
        one = one.added(*seen)
        if t >= 150:
            two = two.added(*seen)
    assert json.dumps(one.to_dict()) == json.dumps(two.to_dict())
    assert one.at({"features": [[1]]}).rounds == 50
    assert one.at(None).rounds == 150
    assert one.at("unknown").rounds == 0


def test_no_more_unlisted_contexts_are_counted_than_fit() -> None:
    counts = Counts()
    for t in range(1000):
        counts = counts.added({"features": [[t]]}, 0, [1.0]).added({"features": [[-1]]}, 0, [1.0])
    counts = counts.settled()
    assert len(counts.contexts) == len(counts.unlisted) == MOST_UNLISTED
    assert counts.at({"features": [[-1]]}).rounds == 1000
    assert counts.at({"features": [[999]]}).rounds == 1
    assert counts.at({"features": [[3]]}).rounds == 0


def test_a_session_is_of_constant_size_and_still_sees_drift() -> None:
    """What a learner needs to decide and to warn does not grow with the number of rounds."""
    learner = pm.Learner(pm.games.bernoulli_bandit_linear(2))
    rng, sizes = np.random.default_rng(0), []
    for rounds in (2000, 2000, 4000):
        chance = 0.2 if len(sizes) < 2 else 0.5
        learner.tell_past([0, 1] * (rounds // 2), (rng.random(rounds) < chance).astype(float))
        text = json.dumps(learner._session.counts.settled().to_dict())
        sizes.append(len(text))
        assert bool(learner.status().warnings) == (len(sizes) == 3)
    assert sizes[2] < 1.2 * sizes[0]
    assert "what 'arm 0' shows has changed over time" in learner.status().warnings[0]
