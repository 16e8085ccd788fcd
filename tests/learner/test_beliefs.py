"""The table of a status: intervals against brute force, plays and shares against the log."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

import partial_monitoring as pm
from partial_monitoring.estimation.confidence import level
from partial_monitoring.learner.counts import Tallies
from partial_monitoring.learner.picture import shares_over_time
from tests.golden import runs
from tests.oracles.cases import CASES, spec_of
from tests.oracles.learners import learned

Array = np.ndarray[Any, np.dtype[np.float64]]

PHI = np.array([[1.0, 0.2, 0.0], [0.1, 0.9, -0.3], [0.0, -0.4, 1.0], [0.5, 0.5, 0.5]])


def linear(parameters: Any) -> pm.Game:
    return pm.Game(PHI, PHI[:, None], parameters, 0.5)


ROWS = np.concatenate([np.eye(3), -np.eye(3), np.ones((1, 3))])
SETS = {
    "ball": linear(pm.Ball(np.zeros(3), 1.0)),
    "box": linear(pm.Box([-0.2] * 3, [0.6] * 3)),
    "polytope": linear(pm.Polytope(ROWS, np.append(np.ones(6), 0.8))),
    "simplex": linear(pm.Simplex(3)),
    "everything": linear(pm.AllParameters(3)),
}


def extremes(confidence: Any, row: Array) -> tuple[float, float]:
    """Least and largest <row, theta> over E_t, by a general solver from the centre."""
    gram, center, beta = confidence.gram[0], confidence.center[0], float(confidence.beta[0])
    theta = confidence.parameters

    def inside(x: Array) -> float:
        away = x - center
        return float(beta - away @ gram @ away)

    limits: list[Any] = [{"type": "ineq", "fun": inside}]
    match theta:
        case pm.Ball():
            limits.append({"type": "ineq", "fun": lambda x: 1.0 - x @ x})
        case pm.Box():
            limits.append({"type": "ineq", "fun": lambda x: np.append(x + 0.2, 0.6 - x)})
        case pm.Polytope():
            limits.append({"type": "ineq", "fun": lambda x: np.append(np.ones(6), 0.8) - ROWS @ x})
        case pm.Simplex():
            limits.append({"type": "eq", "fun": lambda x: x.sum() - 1.0})
            limits.append({"type": "ineq", "fun": lambda x: x})
    options = {"maxiter": 500, "ftol": 1e-12}
    ends = [
        minimize(lambda x, s=s: s * row @ x, center, constraints=limits, options=options)
        for s in (1.0, -1.0)
    ]
    return float(row @ ends[0].x), float(row @ ends[1].x)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("count", [0, 3, 60])
def test_intervals_are_the_least_and_largest_rewards_in_the_confidence_set(
    name: str, count: int
) -> None:
    game = SETS[name]
    learner = learned(game, pm.IDS(), count, seed=3)
    confidence = learner.confidence_set()
    for row in learner.status().table:
        low, high = extremes(confidence, PHI[row.action])
        assert (row.low, row.high) == pytest.approx((low, high), abs=2e-4)
        assert row.low <= row.earns <= row.high
        assert row.earns == pytest.approx(float(PHI[row.action] @ confidence.center[0]))


def test_intervals_of_likely_distributions() -> None:
    policy = pm.IDS(confidence=pm.confidence.likelihood_ratio(0.05))
    learner = learned(pm.games.dynamic_pricing(), policy, 60)
    confidence: Any = learner.confidence_set()
    grid = np.random.default_rng(0).dirichlet(np.ones(3), 20_000)
    inside = grid[[bool(confidence.contains(theta)[0]) for theta in grid]]
    rewards = inside @ learner.game.features.T  # type: ignore[attr-defined]
    for row in learner.status().table:
        own = rewards[:, row.action]
        assert row.low - 1e-9 <= own.min() <= row.low + 0.05
        assert row.high - 0.05 <= own.max() <= row.high + 1e-9


def test_intervals_of_functions_are_those_of_the_posterior() -> None:
    points, kernel = np.linspace(0, 1, 12)[:, None], pm.kernels.SquaredExponential(0.3)
    game = pm.games.kernelized_bandit(points, kernel=kernel, noise_std=0.2)
    learner = learned(game, pm.IDS(), 20)
    events = [(row["action"], row["observation"]) for row in learner.events]
    seen, shown = np.array([a for a, _ in events]), np.array([np.ravel(y)[0] for _, y in events])
    gram = kernel.evaluate(points)
    lam = learner.regularization
    inverse = np.linalg.inv(gram[np.ix_(seen, seen)] + lam * np.eye(len(seen)))
    means = gram[:, seen] @ inverse @ shown
    spread = gram.diagonal() - np.einsum("ai,ij,aj->a", gram[:, seen], inverse, gram[:, seen])
    width = np.sqrt(learner.confidence_set().beta[0] * spread / lam)
    for row in learner.status().table:
        found, middle, reach = (row.earns, row.low, row.high), means[row.action], width[row.action]
        assert found == pytest.approx((middle, middle - reach, middle + reach), abs=1e-6)


def test_items_of_duels_are_the_same_whether_items_or_pairs_are_estimated() -> None:
    phi = np.random.default_rng(1).standard_normal((5, 3))
    game = pm.games.dueling(phi, parameters=pm.Ball(np.zeros(3), 1.0))
    one, two = (learned(game, policy, 40) for policy in (pm.IDS(), pm.DuelingIDS()))
    mine, theirs = one.status(), two.status()
    assert (mine.best, mine.action, mine.plausible) == (
        theirs.best,
        theirs.action,
        theirs.plausible,
    )
    assert mine.table.noun == "item"
    for row in mine.table:
        other = theirs.table[row.label]
        found = row.earns, row.low, row.high
        assert found == pytest.approx((other.earns, other.low, other.high), abs=1e-6)
        away = phi[row.action] - phi[mine.action]
        ends = extremes(two.confidence_set(), away)
        assert (row.low, row.high) == pytest.approx(ends, abs=2e-4)
        assert (row.plays, row.may_be_best) == (other.plays, other.may_be_best)
    pairs = [row["action"] for row in one.events]
    assert {row.action: row.plays for row in mine.table} == Counter(
        item for pair in pairs for item in set(divmod(pair, 5))
    )


@pytest.mark.parametrize("case", CASES, ids=map(" / ".join, CASES))
def test_every_policy_with_an_estimate_has_a_table(case: tuple[str, str]) -> None:
    spec = spec_of(case)
    learner, rng = pm.Learner(spec.game, spec.policy, 7), np.random.default_rng(0)
    context = {"context": 0} if spec.game.traits.contexts else {}
    for _ in range(2):
        decision = learner.ask(**context)
        learner.tell(decision, runs.answer(spec.game, decision, rng, **context))
    status = learner.status(**context)
    table, text = status.table, str(status)
    assert text.splitlines()[0].split() == [table.noun, *" ".join(table.heads).split()]
    assert table.rows[0].label == status.best
    assert [row.earns for row in table] == sorted((row.earns for row in table), reverse=True)
    assert all(row.low <= row.earns <= row.high for row in table)
    assert {row.label for row in table if row.may_be_best} <= set(status.plausible)
    if table.noun == "action":
        assert sum(row.plays for row in table) == 2
        assert sum(row.share for row in table) == pytest.approx(1.0)
        assert sum(row.next for row in table) == pytest.approx(1.0)
    if table.noun != "point":
        assert {row.label for row in table if row.may_be_best} == set(status.plausible)
    assert json.loads(json.dumps(status.to_dict()))["table"] == table.to_list()


def test_contexts_of_segments_have_tables_of_their_own() -> None:
    price = pm.games.dynamic_pricing()
    learner = pm.Learner(pm.segments({"small": price, "large": price}), pm.IDS())
    learner.tell_past(["$1"] * 30, ["yes"] * 30, ["small"] * 30)
    found = learner.statuses()
    assert [own.table["$1"].plays for own in found.values()] == [30, 0]
    widths = [own.table["$2"].high - own.table["$2"].low for own in found.values()]
    assert widths[0] <= widths[1]


# -- plays and shares ------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=300))
def test_shares_over_time_are_those_of_the_log(actions: list[int]) -> None:
    observed = Tallies().added([(a, [0.0], 1) for a in actions])
    edges, shares = shares_over_time(pm.games.apple_tasting(), observed, [0, 1, 2, 3])
    assert (edges[0], edges[-1], len(edges)) == (0, len(actions), shares.shape[1] + 1)
    assert len(edges) <= 17
    for j, (start, stop) in enumerate(pairwise(edges)):
        own = actions[int(start) : int(stop)]
        assert [own.count(a) / len(own) for a in range(4)] == pytest.approx(list(shares[:, j]))


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(0, 1), min_size=1, max_size=32))
def test_the_share_is_that_of_the_latest_quarter(actions: list[int]) -> None:
    learner = pm.Learner(pm.games.linear_bandit(np.eye(2)), pm.IDS())
    learner.tell_past(actions, [0.1] * len(actions))
    latest = actions[3 * len(actions) // 4 :]
    table = learner.status().table
    assert table["0"].share == pytest.approx(latest.count(0) / len(latest))
    assert table["1"].plays == actions.count(1)
    said = "of the latest play;" if len(latest) == 1 else f"of the latest {len(latest)} plays;"
    assert any(said in note for note in table.notes)


# -- what is said ----------------------------------------------------------------------------


def test_the_level_is_the_one_that_is_proven() -> None:
    assert level(pm.confidence.paper(), 101) == pytest.approx(1 - 1 / 101**2)
    assert level(pm.confidence.fixed(0.1), 5) == pytest.approx(0.9)
    assert level(pm.confidence.likelihood_ratio(0.05), 5) == pytest.approx(0.95)
    assert level(pm.confidence.paper(), 1) == 1.0
    assert level(pm.confidence.deviations(2), 5) is None
    assert level(pm.confidence.calibrated(), 5) is None
    assert level(lambda t: np.full(len(t), np.log(4.0)), 5) == pytest.approx(0.75)


def test_intervals_are_explained() -> None:
    game = pm.games.apple_tasting()
    said = {
        pm.IDS(): "with probability at least 99.99 % all rewards lie there, if the model holds",
        pm.IDS(confidence=pm.confidence.fixed(0.1)): "with probability at least 90 %",
        pm.IDS(confidence=pm.confidence.deviations(2)): "2 posterior standard deviations to either "
        "side (about 95 % each), not proven",
    }
    for policy, words in said.items():
        text = str(learned(game, policy, 200).status())
        assert words in text
        assert "No action ever earns more than 0" in text
    assert "all that the model allows" in str(pm.Learner(game, pm.IDS()).status())
    money = pm.games.finite([[3.0, 0.0], [1.0, 1.0]], ["ab", "aa"])
    assert "more than 0" not in str(pm.Learner(money, pm.IDS()).status())


def test_large_games_show_the_top_few() -> None:
    phi = np.random.default_rng(0).standard_normal((500, 3))
    learner = learned(pm.games.linear_bandit(phi), None, 50)
    table = learner.status().table
    assert (len(table), table.more) == (200, 300)
    assert "and 488 more" in str(learner.status())
    assert table.rows[0].earns == pytest.approx(float(learner.confidence_set().means.max()))


def test_a_table_is_found_by_label_and_as_a_data_frame() -> None:
    table = learned(pm.games.dynamic_pricing(), None, 30).status().table
    assert table["$2"].label == "$2"
    with pytest.raises(pm.errors.InvalidInput, match="action"):
        table["$7"]
    frame = table.to_pandas()
    assert list(frame.columns)[:5] == ["action", "label", "earns", "low", "high"]
    assert frame.earns.tolist() == [row.earns for row in table]


@pytest.mark.filterwarnings("error")
def test_labels_cannot_spoil_the_table() -> None:
    game = pm.games.finite(
        [[1.0, 0.0], [0.0, 1.0]], ["ab", "ab"], actions=["<b>$x$</b>\x1b[2J", "$a & $b"]
    )
    learner = learned(game, None, 20)
    assert "\x1b" not in str(learner.status())
    html = learner._repr_html_()
    assert "<b>$x" not in html
    assert html.count("<svg") == 2
    learner.plot().canvas.draw()  # type: ignore[attr-defined]
