"""Logged data: counts, weights, probabilities, tables, bad rows, and the history."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.policies.repeated import MOST_IN_TURN

ROWS = [("$1", "yes"), ("$2", "no"), ("$2", "yes"), ("$3", "no"), ("$3", "yes")]

LEARNERS: dict[str, Any] = {
    "default": lambda: pm.Learner("dynamic_pricing", seed=1),
    "ids": lambda: pm.Learner("dynamic_pricing", pm.IDS(), seed=1),
    "cbp": lambda: pm.Learner("dynamic_pricing", "cbp", seed=1),
    "guarded": lambda: pm.Learner("dynamic_pricing", pm.Calibrated(guard=1.0), seed=1),
    "probes": lambda: pm.Learner("dynamic_pricing", "ids", seed=1, probe=0.1),
    "likely": lambda: pm.Learner(
        "dynamic_pricing", pm.IDS(confidence=pm.confidence.likelihood_ratio(0.1)), seed=1
    ),
}

VECTORS: dict[str, Any] = {
    "default": lambda: pm.Learner(pm.games.linear_bandit(), seed=1),
    "linucb": lambda: pm.Learner(pm.games.linear_bandit(), "linucb", seed=1),
    "duels": lambda: pm.Learner(pm.games.dueling(), seed=1),
    "duels of a kernel": lambda: pm.Learner("kernelized_dueling", seed=1),
    "kernel": lambda: pm.Learner("kernelized_bandit", pm.IDS(), seed=1),
    "box": lambda: pm.Learner(pm.KernelBoxGame(pm.kernels.Matern(2.5, 0.3), [0.0], [1.0])),
}


def known(learner: pm.Learner) -> Any:
    """What a learner decides next, and how it is counted."""
    decision = learner.ask()
    tallies = learner._session.counts.at(None).actions
    counted = {a: (own.plays, [round(x, 6) for x in own.total]) for a, own in tallies.items()}
    return learner.round, decision.distribution, counted


def assert_alike(one: pm.Learner, two: pm.Learner, tolerance: float = 1e-6) -> None:
    """Two learners know the same, up to rounding."""
    (round_one, mu, counted), (round_two, nu, again) = known(one), known(two)
    assert round_one == round_two
    assert counted == again
    np.testing.assert_allclose(mu, nu, atol=tolerance)


@pytest.mark.parametrize("name", LEARNERS)
@settings(max_examples=5, deadline=None)
@given(data=st.data())
def test_counts_are_as_many_rows(name: str, data: st.DataObject) -> None:
    chosen = data.draw(st.lists(st.sampled_from(ROWS), min_size=1, max_size=5))
    counts = data.draw(st.lists(st.integers(1, 40), min_size=len(chosen), max_size=len(chosen)))
    counted, expanded = LEARNERS[name](), LEARNERS[name]()
    counted.tell_past(*zip(*chosen, strict=True), counts=counts)
    every = [row for row, n in zip(chosen, counts, strict=True) for _ in range(n)]
    expanded.tell_past(*zip(*every, strict=True))
    assert_alike(counted, expanded, 1e-4)
    assert len(counted.events) - 1 == len(chosen)  # and the ask


@pytest.mark.parametrize("name", VECTORS)
def test_counts_of_vectors_are_as_many_rows(name: str) -> None:
    counted, expanded = VECTORS[name](), VECTORS[name]()
    rows = [(2, [0.25]), (1, [0.5]), (2, [1.0])]
    counted.tell_past(*zip(*rows, strict=True), counts=[3, 1, 4])
    every = [rows[i] for i in (0, 0, 0, 1, 2, 2, 2, 2)]
    expanded.tell_past(*zip(*every, strict=True))
    assert_alike(counted, expanded)


def test_signals_are_counted_exactly() -> None:
    counted, expanded = LEARNERS["default"](), LEARNERS["default"]()
    counted.tell_past(["$2", "$3"], ["no", "yes"], counts=[7, 30])
    expanded.tell_past(["$2"] * 7 + ["$3"] * 30, ["no"] * 7 + ["yes"] * 30)
    one, two = counted._session.state.known, expanded._session.state.known
    for name in ("round", "seen", "plays"):
        assert (getattr(one, name) == getattr(two, name)).all(), name
    prior = one.model.signals.prior  # a fraction, which rounds
    np.testing.assert_array_equal(np.round(one.counts - prior, 9), np.round(two.counts - prior, 9))


def test_a_million_observations_take_no_time_and_many_in_turn_are_refused() -> None:
    learner = LEARNERS["default"]()
    learner.tell_past(["$2", "$2"], ["yes", "no"], counts=[600_000, 400_000])
    assert learner.round == 1_000_001
    bounded = LEARNERS["cbp"]()
    with pytest.raises(InvalidInput, match=f"row 0 of counts: .* at most {MOST_IN_TURN}"):
        bounded.tell_past(["$2"], ["yes"], counts=[MOST_IN_TURN + 1])
    assert bounded.round == 1


@settings(max_examples=20, deadline=None)
@given(weights=st.lists(st.floats(0.01, 50.0), min_size=4, max_size=4), wide=st.booleans())
def test_weights_are_those_of_weighted_least_squares(weights: list[float], *, wide: bool) -> None:
    features = np.array([[1.0, 0.0], [0.6, 0.8], [1e4 if wide else 0.0, 1.0]])
    parameters = pm.AllParameters(2)
    game = pm.Game(features, features[:, None], parameters, noise_std=1.0)
    learner = pm.Learner(game, pm.IDS(norm_bound=1.0), seed=0)
    actions, shown = [0, 1, 2, 1], [0.5, -0.2, 0.3, 0.9]
    learner.tell_past(actions[:2], [[y] for y in shown[:2]], weights=weights[:2])
    learner.tell_past(actions[2:3], [[shown[2]]])  # an ordinary one in between
    learner.tell_past(actions[3:], [[shown[3]]], weights=weights[3:])
    rows, weight = features[actions], np.array([*weights[:2], 1.0, weights[3]])
    gram = np.eye(2) + (rows * weight[:, None]).T @ rows
    expected = np.linalg.solve(gram, (rows * weight[:, None]).T @ shown)
    found = learner.confidence_set().data
    basis = found.design.basis
    np.testing.assert_allclose(basis @ found.gram[0] @ basis.T, gram, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(basis @ found.coordinates[0], expected, rtol=1e-6, atol=1e-9)
    assert learner.round == 5


def test_a_weighted_average_is_as_its_observations() -> None:
    one, two = (pm.Learner(pm.games.linear_bandit(), pm.IDS(), seed=2) for _ in range(2))
    one.tell_past([0, 1], [[0.5], [0.25]], weights=[4.0, 2.0])
    two.tell_past([0] * 4 + [1] * 2, [[0.0], [1.0], [0.75], [0.25], [0.5], [0.0]])
    mine, other = one.confidence_set().data, two.confidence_set().data
    np.testing.assert_allclose(mine.gram, other.gram, rtol=1e-12)
    np.testing.assert_allclose(mine.vector, other.vector, atol=1e-12)


@pytest.mark.parametrize("name", ["default", "cbp", "guarded", "likely"])
def test_who_counts_refuses_weights(name: str) -> None:
    learner = LEARNERS[name]()
    with pytest.raises(InvalidInput, match="row 1 of weights: weights must be 1 for "):
        learner.tell_past(["$2", "$2"], ["yes", "no"], weights=[1, 0.5])
    assert learner.round == 1
    assert learner.events == []


def test_probabilities_reach_policies_that_weight_by_them_and_off_policy_values() -> None:
    rows = ["taste", "taste", "taste"], ["good", "good", "rotten"]
    moved = pm.Learner("apple_tasting", "feedexp3", seed=0)
    moved.tell_past(*rows, probabilities=[0.5, 0.25, 1.0])
    plain = pm.Learner("apple_tasting", "feedexp3", seed=0)
    plain.tell_past(*rows, probabilities=[1.0, 1.0, 1.0])
    assert moved.ask().distribution.tolist() != plain.ask().distribution.tolist()

    learner = pm.Learner("apple_tasting", pm.IDS(), seed=0)
    learner.tell_past(*rows, counts=[30, 30, 40], probabilities=[0.5, 0.5, 0.5])
    from_learner, from_history = (
        pm.off_policy(learner),
        pm.off_policy(learner.history, game=learner.game),
    )
    assert str(from_learner) == str(from_history)
    assert "100" in str(from_learner)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"actions": ["$1", "$9"]}, "row 1 of actions: no action named '$9'"),
        ({"observations": ["yes", "maybe"]}, "row 1 of observations: action '$2' shows one of"),
        ({"counts": [2, 0]}, "row 1 of counts: count must be a whole number >= 1; got 0."),
        ({"counts": [2, 1.5]}, "row 1 of counts: count must be"),
        ({"weights": [1.0, -1.0]}, "row 1 of weights: weight must be positive; got -1.0."),
        ({"probabilities": [1.0, 1.5]}, "row 1 of probabilities: probability must be at most 1"),
        ({"probabilities": [1.0, 0.0]}, "row 1 of probabilities: probability must be positive"),
        ({"contexts": [None, "here"]}, "row 1 of contexts: "),
        ({"counts": [1]}, "counts must hold one entry per action, 2; got 1."),
        ({"observations": None}, "observations must be a list"),
        ({"columns": {"action": "a"}}, "columns must be left out unless a table is given."),
    ],
)
def test_bad_rows_are_named_and_nothing_changes(given: dict[str, Any], message: str) -> None:
    learner = LEARNERS["ids"]()
    with pytest.raises(InvalidInput) as caught:
        learner.tell_past(**{"actions": ["$1", "$2"], "observations": ["yes", "no"], **given})
    assert str(caught.value).startswith(message)
    assert learner.round == 1
    assert learner.events == []


def test_logged_data_are_in_the_history_and_are_replayed(tmp_path: Any) -> None:
    learner = pm.Learner(pm.games.linear_bandit(), pm.IDS(), seed=1)
    learner.tell_past([0, 1], [[0.5], [0.25]], counts=[4, 1], weights=[2.0, 1.0])
    learner.tell(learner.ask(), [0.1])
    past = learner.history[:2]
    assert [row["id"] for row in past] == [None, None]
    assert past[0] | {"label": ""} == {
        **{"id": None, "action": 0, "label": "", "observation": [0.5]},
        **{"count": 4, "weight": 2.0},
    }
    learner.save(tmp_path / "learner.json")
    loaded = pm.Learner.load(tmp_path / "learner.json")
    replayed = pm.Learner.replay(learner.game, pm.IDS(), 1, learner.events, check=True)
    expected = learner.ask().distribution.tolist()
    assert loaded.ask().distribution.tolist() == expected
    assert replayed.ask().distribution.tolist() == expected


class Series:
    """A column as data frames have them."""

    def __init__(self, values: list[Any]) -> None:
        self.values = values

    def to_list(self) -> list[Any]:
        return self.values


class Frame:
    """A data frame as polars has them, without a dependency."""

    def __init__(self, columns: dict[str, list[Any]]) -> None:
        self._columns = columns
        self.columns = list(columns)

    def __getitem__(self, name: str) -> Series:
        return Series(self._columns[name])


def pandas(columns: dict[str, list[Any]]) -> Any:
    return pytest.importorskip("pandas").DataFrame(columns)


def polars(columns: dict[str, list[Any]]) -> Any:
    return pytest.importorskip("polars").DataFrame(columns)


def arrow(columns: dict[str, list[Any]]) -> Any:
    return pytest.importorskip("pyarrow").table(columns)


@pytest.mark.parametrize("kind", [dict, Frame, pandas, polars, arrow])
def test_tables_are_as_their_columns(kind: Any) -> None:
    columns = {"action": ["$1", "$2", "$3"], "observation": ["yes", "no", "no"]}
    listed = LEARNERS["ids"]()
    listed.tell_past(columns["action"], columns["observation"], counts=[2, 1, 5])
    named, renamed = LEARNERS["ids"](), LEARNERS["ids"]()
    named.tell_past(kind(columns | {"count": [2, None, 5], "day": [1, 2, 3]}))
    renamed.tell_past(
        kind({"price": columns["action"], "answer": columns["observation"], "n": [2, 1, 5]}),
        columns={"action": "price", "observation": "answer", "count": "n"},
    )
    expected = listed.ask().distribution.tolist()
    assert named.ask().distribution.tolist() == expected
    assert renamed.ask().distribution.tolist() == expected


@pytest.mark.parametrize("kind", [dict, Frame, pandas, polars])
def test_bad_tables_are_refused_in_one_sentence(kind: Any) -> None:
    learner, table = LEARNERS["ids"](), kind({"action": ["$1", "$2"], "answer": ["yes", "maybe"]})
    for options, message in (
        ({}, "actions must have a column 'observation'; its columns are"),
        ({"columns": {"observation": "other"}}, "actions must have a column 'other'"),
        ({"columns": {"observed": "answer"}}, "no columns named 'observed'"),
        ({"columns": ["answer"]}, "columns must be a dict such as"),
        ({"columns": {"observation": "answer"}}, "row 1 of observations: action '$2' shows"),
        ({"counts": [1, 2]}, "counts must be left out with a table, as a column of it."),
    ):
        with pytest.raises(InvalidInput) as caught:
            learner.tell_past(table, **options)
        assert str(caught.value).startswith(message)
    assert learner.events == []


def test_observations_with_several_entries_are_several_columns() -> None:
    maps = [[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0]]]
    game = pm.Game([[1.0, 0.0], [0.0, 1.0]], maps, pm.Ball([0.0, 0.0], 1.0))
    table = {"action": [0, 1], "y1": [0.5, 0.25], "y2": [0.1, float("nan")]}
    one, two = (pm.Learner(game, pm.IDS(), seed=0) for _ in range(2))
    one.tell_past(table, columns={"observation": ["y1", "y2"]})
    two.tell_past([0, 1], [[0.5, 0.1], [0.25]])
    assert one.ask().distribution.tolist() == two.ask().distribution.tolist()


def test_contexts_are_a_column() -> None:
    one, two = (pm.Learner("survey", seed=0) for _ in range(2))
    game: Any = one.game
    context, other = game.contexts[0], game.contexts[-1]
    action = game.at(context).actions[0]
    rows = {"action": [action] * 2, "observation": [[0.5] * game.at(context).row_count(0)] * 2}
    one.tell_past(rows | {"context": [context, context], "count": [3, 2]})
    two.tell_past([action] * 5, rows["observation"][:1] * 5, [context] * 5)
    ours, theirs = one.ask(context=other), two.ask(context=other)
    np.testing.assert_allclose(ours.distribution, theirs.distribution, atol=1e-9)
