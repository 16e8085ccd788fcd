"""The registry of policies, and policies as plain data."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput, UnknownName
from partial_monitoring.policies import POLICIES, make, policy_from_dict, policy_to_dict
from partial_monitoring.policies.policy import draw

GAPS = {"exact": pm.gaps.exact, "relaxed": pm.gaps.relaxed, "mean": pm.gaps.mean}
INFORMATION = {"log_det": pm.information.log_det, "directed": pm.information.directed}
SAMPLING: dict[str, Any] = {
    "exact": pm.sampling.exact,
    "approximate": pm.sampling.approximate,
    "deterministic": pm.sampling.deterministic,
    "anytime_e2d": pm.sampling.e2d("anytime"),
}


# -- by name ---------------------------------------------------------------------------------


def test_ids_is_registered() -> None:
    assert POLICIES["ids"] is pm.IDS
    assert make("ids") == pm.IDS()


@pytest.mark.parametrize("name", GAPS)
def test_gaps_by_name(name: str) -> None:
    assert make("ids", gap=name) == pm.IDS(gap=GAPS[name])


@pytest.mark.parametrize("name", INFORMATION)
def test_information_by_name(name: str) -> None:
    assert make("ids", information=name) == pm.IDS(information=INFORMATION[name])


@pytest.mark.parametrize("name", SAMPLING)
def test_sampling_by_name(name: str) -> None:
    assert make("ids", sampling=name) == pm.IDS(sampling=SAMPLING[name])


def test_parts_with_an_argument() -> None:
    assert make("ids", sampling=["generalized", 3.0]) == pm.IDS(sampling=pm.sampling.generalized(3))
    assert make("ids", sampling=["e2d", 0.5]) == pm.IDS(sampling=pm.sampling.e2d(0.5))
    assert make("ids", confidence=["fixed", 0.1]) == pm.IDS(confidence=pm.confidence.fixed(0.1))
    assert make("ids", confidence="paper") == pm.IDS(confidence=pm.confidence.paper())
    certified = pm.IDS(confidence=pm.confidence.likelihood_ratio(0.1))
    assert make("ids", confidence=["likelihood_ratio", 0.1]) == certified


def test_parts_with_several_arguments_which_may_have_defaults() -> None:
    for given, schedule in (
        ("calibrated", pm.confidence.calibrated()),
        (["calibrated", 9], pm.confidence.calibrated(9)),
        (["calibrated", 2, 1], pm.confidence.calibrated(2, 1)),
    ):
        assert make("ids", confidence=given) == pm.IDS(confidence=schedule)
    own = pm.IDS(confidence=pm.confidence.calibrated(2, 1))
    assert policy_to_dict(own)["confidence"] == ["calibrated", 2.0, 1.0]
    assert (
        policy_to_dict(pm.IDS(confidence=pm.confidence.calibrated()))["confidence"] == "calibrated"
    )


def test_parts_may_be_given_themselves() -> None:
    policy = make("ids", gap=pm.gaps.mean, regularization=2.0, norm_bound=3.0)
    assert policy == pm.IDS(gap=pm.gaps.mean, regularization=2.0, norm_bound=3.0)


BAD_NAMES: dict[str, tuple[str, dict[str, Any], str]] = {
    "policy": ("idss", {}, "ids"),
    "option": ("ids", {"gaps": "exact"}, "gap"),
    "gap": ("ids", {"gap": "exacts"}, "exact"),
    "sampling": ("ids", {"sampling": "aproximate"}, "approximate"),
    "built": ("ids", {"sampling": ["generalised", 3.0]}, "generalized"),
    "confidence": ("ids", {"confidence": "papers"}, "paper"),
}


@pytest.mark.parametrize("case", BAD_NAMES.values(), ids=BAD_NAMES.keys())
def test_unknown_names_get_a_suggestion(case: tuple[str, dict[str, Any], str]) -> None:
    name, options, near = case
    with pytest.raises(UnknownName, match=f"did you mean '{near}'") as caught:
        make(name, **options)
    assert str(caught.value).endswith(".")


BAD_OPTIONS: dict[str, dict[str, Any]] = {
    "an argument is missing": {"sampling": ["generalized"]},
    "an argument too many": {"sampling": ["generalized", 3.0, 4.0]},
    "nothing": {"sampling": []},
    "kappa": {"sampling": ["generalized", 1.0]},
    "tradeoff": {"sampling": ["e2d", -1.0]},
    "delta": {"confidence": ["fixed", 2.0]},
    "delta of all rounds": {"confidence": ["likelihood_ratio", 0.0]},
    "a constant below zero": {"confidence": ["calibrated", -1.0]},
    "constants of nothing": {"confidence": ["calibrated", 0, 0]},
    "a constant too many": {"confidence": ["calibrated", 1, 2, 3]},
    "a list where none is known": {"gap": ["exact", 1]},
    "a number": {"gap": 3},
    "nothing at all": {"sampling": None},
    "a list as name": {"sampling": [["generalized"], 3.0]},
}


@pytest.mark.parametrize("options", BAD_OPTIONS.values(), ids=BAD_OPTIONS.keys())
def test_bad_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as caught:
        make("ids", **options)
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)


def test_a_part_that_needs_an_argument_says_so() -> None:
    with pytest.raises(InvalidInput) as caught:
        make("ids", sampling="generalized")
    assert "did you mean 'generalized'" not in str(caught.value)


# -- as plain data ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "policy",
    [
        pm.IDS(),
        pm.IDS(gap=pm.gaps.relaxed, information=pm.information.directed),
        pm.IDS(sampling=pm.sampling.generalized(2.5), confidence=pm.confidence.fixed(0.01)),
        pm.IDS(sampling=pm.sampling.e2d(3), regularization=0.1, norm_bound=5.0),
        pm.IDS(sampling=pm.sampling.e2d("anytime")),
        pm.IDS(confidence=pm.confidence.calibrated(1.5)),
        pm.IDS(confidence=pm.confidence.likelihood_ratio(0.2)),
        pm.IDS(sampling=pm.sampling.approximate),
        pm.IDS(sampling=pm.sampling.deterministic),
        pm.DuelingIDS(),
        pm.DuelingIDS(sampling=pm.sampling.deterministic, confidence=pm.confidence.fixed(0.5)),
    ],
)
def test_there_and_back(policy: Any) -> None:
    data = json.loads(json.dumps(policy_to_dict(policy)))
    assert policy_from_dict(data) == policy


def test_prior_means_become_lists() -> None:
    data = json.loads(json.dumps(policy_to_dict(pm.IDS(prior_mean=np.array([0.25, 0.75])))))
    assert data["prior_mean"] == [0.25, 0.75]


@pytest.mark.parametrize(
    "policy",
    [
        pm.IDS(gap=lambda game, confidence: pm.gaps.mean(game, confidence)),
        pm.IDS(sampling=lambda gaps, information: pm.sampling.exact(gaps, information)),
        pm.IDS(confidence=lambda t: np.log(t)),
        object(),
    ],
)
def test_parts_of_your_own_are_not_plain_data(policy: Any) -> None:
    with pytest.raises(InvalidInput) as caught:
        policy_to_dict(policy)
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize("data", [{}, {"policy": "nobody"}, {"policy": 3}, {"policy": ["ids"]}])
def test_data_without_a_policy_are_refused(data: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        policy_from_dict(data)


@pytest.mark.parametrize("part", ["gap", "information", "sampling", "confidence"])
def test_parts_must_be_functions(part: str) -> None:
    with pytest.raises(InvalidInput, match=part):
        pm.IDS(**{part: "exact"})  # type: ignore[arg-type]


# -- every combination -----------------------------------------------------------------------

GAMES: dict[str, pm.Game] = {
    "simplex": pm.games.dynamic_pricing(),
    "ball": pm.games.linear_bandit(),
    "box": pm.games.bernoulli_bandit_linear(),
    "all": pm.games.graph_dueling(),
    "polytope": pm.Game(
        np.eye(3), np.eye(3)[:, None], pm.Polytope(-np.eye(3), [0.0] * 3, np.ones((1, 3)), [1.0])
    ),
    "nothing seen": pm.games.finite_versus_linear("silent ball"),
    "no rows": pm.Game(np.eye(2), [[], []], pm.Box([0.0, 0.0], [1.0, 1.0])),
    "one action": pm.Game([[1.0, 2.0]], [[[1.0, 0.0]]], pm.Ball([0.0, 0.0], 1.0)),
    "one parameter": pm.Game(np.eye(2), np.eye(2)[:, None], pm.Ball([0.3, 0.4], 0.0)),
}


@pytest.mark.parametrize("game", GAMES.values(), ids=GAMES.keys())
@pytest.mark.parametrize("gap", GAPS.values(), ids=GAPS.keys())
def test_every_combination_plays_every_game(game: pm.Game, gap: pm.gaps.GapEstimate) -> None:
    rules = [*SAMPLING.values(), pm.sampling.generalized(3.0), pm.sampling.e2d(0.3)]
    for information in INFORMATION.values():
        for rule in rules:
            policy = pm.IDS(gap=gap, information=information, sampling=rule)
            result = pm.simulate(game, policy, "random", horizon=4, seeds=2)
            regret = result.regret["ids"]
            assert np.isfinite(regret).all()
            assert (regret >= 0).all()
            assert (result.plays["ids"][:, -1].sum(axis=1) == 4).all()


def test_a_confidence_schedule_of_your_own() -> None:
    policy = pm.IDS(confidence=lambda t: 0.5 * np.log1p(t))
    result = pm.simulate(pm.games.dynamic_pricing(), policy, "random", horizon=5, seeds=2)
    assert np.isfinite(result.regret["ids"]).all()


def test_a_sampling_rule_of_your_own() -> None:
    """Any function of gaps and information: here the uniform distribution."""
    policy = pm.IDS(sampling=lambda gaps, information: np.full(gaps.shape, 1 / gaps.shape[-1]))
    result = pm.simulate(pm.games.dynamic_pricing(), policy, [0, 0, 1], horizon=600, seeds=1)
    assert result.plays["ids"][0, -1] == pytest.approx([200, 200, 200], abs=60)


# -- drawing ---------------------------------------------------------------------------------


def test_drawing_inverts_the_cumulative_distribution() -> None:
    mu = np.array([[0.25, 0.0, 0.5, 0.25]])
    cases = [(0.0, 0), (0.2499, 0), (0.25, 2), (0.7499, 2), (0.75, 3), (np.nextafter(1, 0), 3)]
    for uniform, action in cases:
        assert draw(mu, np.array([uniform])).tolist() == [action]


def test_an_action_without_probability_is_never_drawn() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        mu = rng.dirichlet(np.full(5, 0.3)) * (rng.random(5) < 0.6)
        if mu.sum() == 0:
            continue
        mu = (mu / mu.sum())[None]
        for uniform in (0.0, rng.random(), np.nextafter(1, 0)):
            assert mu[0, draw(mu, np.array([uniform]))[0]] > 0


def test_rows_are_drawn_each_by_itself() -> None:
    mu = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
    assert draw(mu, np.array([0.9, 0.1, 0.4])).tolist() == [0, 1, 0]
