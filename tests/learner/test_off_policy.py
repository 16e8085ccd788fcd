"""Off-policy values: expectations by enumeration, equal routes, and what is impossible."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput

THETA = np.array([0.2, 0.5, 0.3])
Row = dict[str, Any]


def expectation(game: Any, theta: np.ndarray, rounds: int, adaptive: Any, estimate: Any) -> float:
    """Return the expectation of an estimate over all logs of a logging policy, by enumeration.

    ``adaptive(rows)`` is the distribution of the next action given the rows so far.
    """
    total, logs = 0.0, [(1.0, [])]
    for _ in range(rounds):
        longer = []
        for chance, rows in logs:
            mu = adaptive(rows)
            for action, outcome in product(range(game.k), range(game.d)):
                if mu[action] > 0 and theta[outcome] > 0:
                    row: Row = {"action": action, "probability": mu[action], "distribution": mu}
                    row["observation"] = game.signal(action, outcome)
                    longer.append((chance * mu[action] * theta[outcome], [*rows, row]))
        logs = longer
    for chance, rows in logs:
        total += chance * estimate(rows)
    return total


def learning(k: int, observers: Any = None) -> Any:
    """Return a logging policy that depends on what was played and observed."""

    def distribution(rows: list[Row]) -> np.ndarray:
        mu = np.full(k, 1.0)
        for row in rows:
            mu[row["action"]] += 2.0 if row["observation"] in ("yes", "good") else 0.5
        if observers is not None:
            mu[[a for a in range(k) if a not in observers]] = 0.0
        return mu / mu.sum()

    return distribution


@pytest.mark.parametrize("method", ["importance", "doubly_robust"])
@pytest.mark.parametrize("known", [True, False])
def test_the_estimate_of_two_actions_is_unbiased(method: str, known: bool) -> None:
    game = pm.games.dynamic_pricing()
    rewards = game.features @ THETA

    def estimate(rows: list[Row]) -> float:
        own = rows if known else [{k: x for k, x in r.items() if k != "distribution"} for r in rows]
        options: Any = {} if known else {"observers": [0, 1, 2]}
        return pm.off_policy(own, "$3", "$1", game=game, method=method, **options).estimate

    found = expectation(game, THETA, 3 if known else 2, learning(3), estimate)
    assert found == pytest.approx(rewards[2] - rewards[0], abs=1e-10)


def test_actions_that_show_enough_are_enough() -> None:
    """'$1' shows nothing, and is not needed to compare '$3' with '$2'."""
    game = pm.games.dynamic_pricing()
    rewards = game.features @ THETA
    found = expectation(
        game,
        THETA,
        2,
        learning(3, (1, 2)),
        lambda rows: pm.off_policy(rows, 2, 1, game=game).estimate,
    )
    assert found == pytest.approx(rewards[2] - rewards[1], abs=1e-10)


def test_the_logged_policy_and_a_policy_that_learns_are_unbiased() -> None:
    game = pm.games.apple_tasting()
    theta = np.array([0.7, 0.3])
    rewards, mu = game.features @ theta, learning(2)

    class Follower:
        """Play the more of an action, the more often it was logged."""

        def init(self, game: Any, replicates: int) -> Any:
            return np.ones(2)

        def decide(self, state: Any, uniforms: Any, available: Any = None) -> pm.Choices:
            share = (state / state.sum())[None]
            return pm.Choices(np.array([0]), share)

        def update(self, state: Any, action: Any, observation: Any) -> Any:
            return state + np.eye(2)[action[0]] * (1 + observation[0, 0])

    def truth(rows: list[Row]) -> float:
        state, total = np.ones(2), 0.0
        for t, row in enumerate(rows):
            total += (state / state.sum() - mu(rows[:t])) @ rewards
            shown = float(row["observation"] == game.symbols[row["action"]][0])
            state = state + np.eye(2)[row["action"]] * (1 + shown)
        return total / len(rows)

    for method in ("importance", "doubly_robust"):
        one = expectation(
            game,
            theta,
            3,
            mu,
            lambda rows, method=method: (
                pm.off_policy(rows, Follower(), "logged", game=game, method=method).estimate
            ),
        )
        assert one == pytest.approx(expectation(game, theta, 3, mu, truth), abs=1e-10)


def played(probe: float = 0.2, rounds: int = 120, game: Any = None, seed: int = 3) -> pm.Learner:
    game = pm.games.dynamic_pricing() if game is None else game
    learner = pm.Learner(game, pm.IDS(), seed=seed, probe=probe)
    instance, rng = pm.Instance(game, THETA), np.random.default_rng(seed)
    for _ in range(rounds):
        decision = learner.ask()
        learner.tell(decision, instance.observe(decision.action, rng))
    return learner


def test_every_form_of_the_log_gives_the_same() -> None:
    pandas = pytest.importorskip("pandas")
    learner = played()
    game, rows = learner.game, learner.history
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    logs = [rows, learner.events, columns, pandas.DataFrame(rows)]
    found = [pm.off_policy(log, game=game).table() for log in logs]
    assert all(table == found[0] for table in found)
    # With its own distributions a learner uses better weights.
    own = pm.off_policy(learner)
    assert [value.target for value in own.values] == [row["target"] for row in found[0]]
    decisions = [played(rounds=n).ask().distribution for n in (0, 1, 2)]
    again = [row | {"distribution": mu} for row, mu in zip(rows[:3], decisions, strict=True)]
    short = played(rounds=3)
    assert pm.off_policy(short).table() == pm.off_policy(again, game=game).table()


def test_polars_frames_are_read() -> None:
    polars = pytest.importorskip("polars")
    learner = played(rounds=20)
    frame = polars.DataFrame(learner.history)
    found = pm.off_policy(frame, game=learner.game).table()
    assert found == pm.off_policy(learner.history, game=learner.game).table()


def test_a_pair_is_possible_exactly_where_it_is_observable() -> None:
    game = pm.FiniteGame([[1, 0, 0], [0, 1, 0], [0, 0, 1]], [["x", "o", "o"]] * 3)
    analysis = pm.analyze(game)
    mu, rng = np.full(3, 1 / 3), np.random.default_rng(0)
    rows = [
        {"action": a, "probability": 1 / 3, "distribution": mu, "observation": game.signal(a, x)}
        for a, x in rng.integers(0, 3, (50, 2))
    ]
    for a, b in ((0, 1), (0, 2), (1, 2)):
        span = pm.Game(game.features, game.observation_maps, game.parameters)
        value = pm.off_policy(rows, a, b, game=game).values[0]
        rows_of = np.vstack([*span.observation_maps, np.ones((1, 3))])
        seen = np.linalg.matrix_rank(rows_of) == np.linalg.matrix_rank(
            np.vstack([rows_of, game.features[a] - game.features[b]])
        )
        assert value.possible == seen
    assert analysis.category == "hopeless"
    assert "no action shows the difference" in pm.off_policy(rows, 1, 2, game=game).why


def test_a_probability_of_zero_is_said_with_the_action_that_is_missing() -> None:
    learner = played(probe=0.0)
    for found in (
        pm.off_policy(learner, "$3", "$1"),
        pm.off_policy(learner.history, game=learner.game),
    ):
        assert not found.values[0].possible
    why = pm.off_policy(learner, "$3", "$1").why
    assert "had probability 0 in" in why
    assert "probe=0.02" in why
    assert "'$" in why
    assert why in str(pm.off_policy(learner, "$3", "$1")).replace("\n ", " ")


def test_logs_that_hide_zero_probabilities_are_doubted() -> None:
    game = pm.games.dynamic_pricing()
    half = {"action": "$2", "probability": 0.5, "observation": "yes"}
    rows = [half] * 100 + [half | {"action": "$3"}] * 100
    rows += [half | {"action": "$1"}] * 2
    assert any(
        "'$1' seems to have had probability 0" in note
        for note in pm.off_policy(rows, 2, 1, game=game).notes
    )


def test_the_logged_policy_needs_distributions_unless_rewards_are_shown() -> None:
    learner = played(rounds=40)
    found = pm.off_policy(learner.history, "$2", "logged", game=learner.game)
    assert "give the learner itself" in found.why
    bandit = pm.games.linear_bandit([[1.0, 0.0], [0.0, 1.0]])
    rng = np.random.default_rng(0)
    rows = []
    for _ in range(400):
        a = int(rng.random() < 0.25)
        shown = [0.5 * (1 - a) + 0.1 * rng.normal()]
        rows.append({"action": a, "probability": (0.75, 0.25)[a], "observation": shown})
    value = pm.off_policy(rows, 0, "logged", game=bandit).values[0]
    assert value.low < 0.125 < value.high
    assert value.high - value.low < 0.2


def test_contexts_have_their_own_choices() -> None:
    learner = pm.Learner("segment_pricing", seed=0, probe=0.3)
    game: Any = learner.game
    theta = game.parameters.relative_interior_point()
    rng = np.random.default_rng(1)
    for _ in range(600):
        context = game.contexts[int(rng.choice(len(game.contexts), p=game.context_distribution))]
        decision = learner.ask(context=context)
        outcome = int(rng.choice(game.d, p=theta))
        learner.tell(decision, game.at(context).signal(decision.action, outcome))
    per_context = {name: game.at(name).actions[0] for name in game.contexts}
    found = pm.off_policy(learner, per_context, "logged").values[0]
    assert found.possible
    other = pm.off_policy(learner, pm.Greedy(), "logged").values[0]
    assert other.possible
    name = game.contexts[0]
    with pytest.raises(InvalidInput, match="every context"):
        pm.off_policy(learner, {name: game.at(name).actions[0]}, "logged")


def test_contexts_that_are_not_listed() -> None:
    """In a world that is linear in features, seen at every decision."""
    theta, rng = np.array([0.3, -0.5]), np.random.default_rng(2)
    base = pm.Game([[1, 0], [0, 1]], [[[1, 0]], [[0, 1]]], pm.AllParameters(2))
    game = pm.ContextualGame([base])
    learner, truth = pm.Learner(game, seed=0, probe=0.3), []
    for _ in range(150):
        x = rng.normal(size=(2, 2))
        decision = learner.ask(context={"features": x, "observation_maps": x[:, None, :]})
        learner.tell(decision, [x[decision.action] @ theta + 0.1 * rng.normal()])
        truth.append((x[0] - x[1]) @ theta)
    for log, options in ((learner, {}), (learner.history, {"game": game})):
        for method in ("doubly_robust", "importance", "self_normalised"):
            found = pm.off_policy(log, 0, 1, method=method, **options)
            assert found.low < np.mean(truth) < found.high
            assert not found.notes
        assert pm.off_policy(log, pm.LinUCB(), "logged", **options).values[0].possible


@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.integers(0, 2), st.floats(0.05, 0.9)),
        min_size=2,
        max_size=12,
    ),
    st.sampled_from(["importance", "doubly_robust", "self_normalised"]),
)
@settings(max_examples=40, deadline=None)
def test_differences_add_up(played: list[tuple[int, int, float]], method: str) -> None:
    game = pm.games.dynamic_pricing()
    rows = [{"action": a, "probability": p, "observation": game.signal(a, x)} for a, x, p in played]
    options: Any = {"game": game, "method": method, "observers": [0, 1, 2]}

    def value(target: Any, against: Any) -> float:
        return pm.off_policy(rows, target, against, **options).estimate

    assert value(0, 1) == pytest.approx(-value(1, 0), abs=1e-9)
    assert value(0, 1) + value(1, 2) == pytest.approx(value(0, 2), abs=1e-9)
    mixed = 0.25 * value(0, 2) + 0.75 * value(1, 2)
    assert value({"$1": 0.25, "$2": 0.75}, 2) == pytest.approx(mixed, abs=1e-9)


def test_tables_pictures_and_notes() -> None:
    learner = played()
    open_one = learner.ask()
    found = pm.off_policy(learner, interval="bernstein")
    assert open_one.id not in {row["id"] for row in learner.history if row["observation"]}
    assert "1 decision without an answer is left out." in found.notes
    assert "<table>" in found._repr_html_()
    assert "effective" in str(found)
    assert found.plot().axes[0].get_xlabel().startswith("earned more per round")
    normal = pm.off_policy(learner)
    for wide, narrow in zip(found.values, normal.values, strict=True):
        assert wide.estimate == narrow.estimate
        assert wide.high - wide.low > narrow.high - narrow.low
    with pytest.raises(InvalidInput, match="2 targets"):
        _ = found.estimate
    assert found["$3"].target == "$3"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"probability": 0.0}, "row 1 of history: probability must be above 0"),
        ({"action": "$9"}, "row 1 of history: no action named"),
        ({"observation": "maybe"}, "row 1 of history: action '\\$2' shows one of"),
        ({"distribution": [0.2, 0.3, 0.5]}, "row 1 of history: distribution must give the action"),
    ],
)
def test_bad_rows_are_named(change: Row, message: str) -> None:
    row = {"action": "$2", "probability": 0.5, "observation": "yes"}
    with pytest.raises(InvalidInput, match=message):
        pm.off_policy([row, row | change], 0, 1, game="dynamic_pricing")


def test_bad_arguments_are_refused() -> None:
    learner = played(rounds=5)
    rows: Any = learner.history
    for options, message in (
        ({"method": "magic"}, "method must be one of"),
        ({"interval": "magic"}, "interval must be one of"),
        ({"level": 1.5}, "level must lie between 0 and 1"),
        ({"target": object()}, "target must be an action"),
        ({"target": {"$1": 0.4}}, "target must be non-negative and sum to 1"),
        ({"method": "self_normalised", "interval": "bernstein"}, "interval must be 'normal'"),
    ):
        with pytest.raises(InvalidInput, match=message):
            pm.off_policy(learner, **options)
    with pytest.raises(InvalidInput, match="game must be given"):
        pm.off_policy(rows)
    with pytest.raises(InvalidInput, match="game must be left out"):
        pm.off_policy(learner, game=learner.game)
    with pytest.raises(InvalidInput, match="got none"):
        pm.off_policy([], game=learner.game)
