"""Learners and simulations of kernel games, which do what they do elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.estimation.kernel import posterior as estimation
from partial_monitoring.kernels import Matern
from partial_monitoring.policies import POLICIES
from partial_monitoring.simulation.environment import Environment
from tests.oracles.kernel_routes import GAMES, bandit, points, truth

PLAYED: dict[str, Any] = {
    "bandit": pm.IDS(),
    "own noise": pm.IDS(gap=pm.gaps.mean),
    "three rows": pm.IDS(information=pm.information.directed_relaxed),
    "localized duels": pm.IDS(gap=pm.gaps.relaxed, sampling=pm.sampling.e2d("anytime")),
    "duels": pm.DuelingIDS(),
    "written": pm.IDS(regularization=0.3, confidence=pm.confidence.fixed(0.1)),
    "transductive": pm.IDS(norm_bound=2.0),
}
FIELDS = ("action", "distribution", "gaps", "information", "ratio", "beta", "estimate")


def played(name: str, rounds: int, seed: int = 3) -> pm.Learner:
    game = GAMES[name]()
    learner = pm.Learner(game, PLAYED[name], seed, allow_hopeless=True)
    instance, rng = pm.Instance(game, truth(game, 0)), np.random.default_rng(seed)
    for _ in range(rounds):
        decision = learner.ask()
        learner.tell(decision, instance.observe(decision.action, rng))
    return learner


def alike(one: pm.Decision, two: pm.Decision) -> None:
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


@pytest.mark.parametrize("name", PLAYED)
def test_a_decision_says_what_and_why(name: str) -> None:
    learner = played(name, 6)
    game, decision = learner.game, learner.ask()
    count = game.item_count if isinstance(game, pm.KernelDuelingGame) else game.k
    assert decision.id.endswith("-6")
    assert decision.round == 7
    for part in (decision.distribution, decision.gaps, decision.information, decision.estimate):
        assert part.shape == (count,)
    assert decision.distribution.sum() == pytest.approx(1.0, abs=1e-12)
    assert decision.probability > 0
    assert decision.label == game.action_label(decision.action)
    assert decision.label in decision.explain()
    assert "<table" in decision._repr_html_()
    status = learner.status()
    assert status.round == 7
    assert status.best in str(status)
    assert learner.norm_bound == (2.0 if name == "transductive" else game.norm_bound)
    np.testing.assert_array_equal(learner.prior_mean, np.zeros(game.d))


def test_the_estimate_is_that_of_the_rewards() -> None:
    """With hundreds of answers f_hat is close to what actions earn."""
    game = bandit(6, noise_std=0.1)
    theta = truth(game, 1)
    learner = pm.Learner(game)
    rng = np.random.default_rng(0)
    actions = np.arange(600) % 6
    learner.tell_past(actions.tolist(), (theta[actions] + 0.1 * rng.normal(size=600)).tolist())
    # A mean of 100 answers has a deviation of 0.01.
    np.testing.assert_allclose(learner.ask().estimate, theta, atol=0.06)


@pytest.mark.parametrize("policy", ["linucb", "greedy", "squarecb"])
def test_policies_in_coordinates_report_rewards_as_well(policy: str) -> None:
    """The numbers of a ridge regression are the same in coordinates and with the kernel."""
    game = GAMES["low rank"]()
    mine, theirs = (pm.Learner(game, POLICIES[name]()) for name in (policy, "ids"))
    rng = np.random.default_rng(1)
    actions, seen = rng.integers(0, game.k, 40).tolist(), rng.normal(size=40).tolist()
    for learner in (mine, theirs):
        learner.tell_past(actions, seen)
    np.testing.assert_allclose(mine.ask().estimate, theirs.ask().estimate, atol=1e-8)
    assert mine.status().best == theirs.status().best
    assert mine.norm_bound == game.norm_bound


def test_what_a_decision_reports_is_the_users_to_change() -> None:
    for name in ("bandit", "duels", "localized duels"):
        learner = played(name, 3)
        first = learner.ask()
        kept = first.estimate.copy()
        first.estimate[:] = 7.0
        np.testing.assert_array_equal(learner.ask().estimate, kept)
    learner = played("bandit", 3)
    first = learner.ask(available=[0, 1])
    kept = first.estimate.copy()
    first.estimate[:] = 7.0
    np.testing.assert_array_equal(learner.ask().estimate, kept)


@pytest.mark.parametrize("name", PLAYED)
def test_a_saved_learner_goes_on_as_if_nothing_had_happened(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(estimation, "REFRESH", 8)
    learner = played(name, 12)
    waiting = learner.ask()
    learner.save(tmp_path / "learner.json")
    again = pm.Learner.load(tmp_path / "learner.json")
    assert again.history == learner.history
    rng = np.random.default_rng(5)
    for both in (waiting.id, None, None, None):
        one, two = (learner.ask(), again.ask()) if both is None else (waiting, both)
        if isinstance(two, pm.Decision):
            alike(one, two)
        seen = rng.normal(size=learner.game.row_count(one.action)).tolist()
        learner.tell(one, seen)
        again.tell(two, seen)
    alike(learner.ask(), again.ask())


@pytest.mark.parametrize("name", PLAYED)
def test_a_learner_does_what_a_simulation_does(name: str) -> None:
    game, policy = GAMES[name](), PLAYED[name]
    theta = truth(game, 2)
    result = pm.simulate(
        game, {"p": policy}, theta, horizon=40, seeds=[6], checkpoints=np.arange(1, 41)
    )
    plays = np.diff(result.plays["p"][0], axis=0, prepend=0)
    learner = pm.Learner(game, policy, 6, allow_hopeless=True)
    world = Environment(game, theta[None], np.array([6]))
    for t in range(40):
        decision = learner.ask()
        assert decision.action == plays[t].argmax()
        shown = world.observe(np.array([decision.action]), t)[0]
        learner.tell(decision, shown[: game.row_count(decision.action)].tolist())


def test_told_past_is_told_one_by_one() -> None:
    game = GAMES["three rows"]()
    one, two = (pm.Learner(game, seed=1, allow_hopeless=True) for _ in range(2))
    rng = np.random.default_rng(0)
    actions = rng.integers(0, game.k, 20)
    seen = [rng.normal(size=game.row_count(int(a))).tolist() for a in actions]
    one.tell_past(actions.tolist(), seen)
    for action, observation in zip(actions, seen, strict=True):
        two.tell_past([game.actions[action]], [observation])
    alike(one.ask(), two.ask())


def test_data_that_contradict_the_noise_are_reported() -> None:
    game = bandit(5, noise_std=0.01)
    learner = pm.Learner(game)
    rng = np.random.default_rng(0)
    learner.tell_past((np.arange(60) % 5).tolist(), (0.3 * rng.normal(size=60)).tolist())
    assert any("times as much as noise_std says" in text for text in learner.status().warnings)


def test_answers_are_checked() -> None:
    game = GAMES["two rows"]()
    learner = pm.Learner(game)
    decision = learner.ask()
    for wrong in ([0.1], [0.1, np.nan], [0.1, 0.2, 0.3], "yes", [None], [[0.1, 0.2]]):
        with pytest.raises(InvalidInput, match="observation"):
            learner.tell(decision, wrong)
    learner.tell(decision, [0.1, 0.2])
    with pytest.raises(InvalidInput, match=r"decision '.*-0' has been told already"):
        learner.tell(decision, [0.1, 0.2])
    with pytest.raises(InvalidInput, match="no action named 'there'"):
        learner.ask(available=["there"])
    with pytest.raises(InvalidInput, match="prior_mean must be left out, a kernel game has prior"):
        pm.Learner(game, pm.IDS(prior_mean=np.zeros(game.d)))


# -- true functions ----------------------------------------------------------------------------


def run(game: pm.KernelGame, theta: Any, policy: str = "ids", **options: Any) -> Any:
    return pm.simulate(game, policy, theta, **({"horizon": 12, "seeds": [3, 8]} | options))


def test_a_function_is_its_values_at_the_points() -> None:
    game = bandit(8, dimension=2)

    def bump(x: Any) -> Any:
        return np.exp(-((x - 0.4) ** 2).sum(axis=1))

    values = bump(points(8, 2))
    np.testing.assert_array_equal(game.function_values(bump), values)
    by_function, by_values, by_seed = (
        run(game, theta) for theta in (bump, values, np.stack([values, values]))
    )
    for other in (by_values, by_seed):
        np.testing.assert_array_equal(by_function.regret["ids"], other.regret["ids"])
    duels = pm.games.kernelized_dueling(points(8, 2))
    first, second = (run(duels, theta, "dueling_ids") for theta in (bump, values))
    np.testing.assert_array_equal(first.regret["dueling_ids"], second.regret["dueling_ids"])


def test_one_function_per_seed() -> None:
    game = bandit(8)
    two = np.stack([truth(game, 0), truth(game, 1)])
    both = run(game, two)
    for i, seed in enumerate((3, 8)):
        alone = run(game, two[i], seeds=[seed])
        np.testing.assert_array_equal(alone.regret["ids"][0], both.regret["ids"][i])


@pytest.mark.parametrize("name", GAMES)
def test_random_functions_have_the_norm_of_the_bound(name: str) -> None:
    game = GAMES[name]()
    drawn = game.draw_truths(np.arange(4))
    inverse = np.linalg.pinv(game.gram.matrix, rcond=1e-11, hermitian=True)
    norms = np.sqrt(np.einsum("nd,de,ne->n", drawn, inverse, drawn))
    np.testing.assert_allclose(norms, game.norm_bound, rtol=1e-4)
    assert game.d == 1 or not np.allclose(drawn[0], drawn[1])
    np.testing.assert_array_equal(drawn[2:3], game.draw_truths(np.array([2])))


def test_random_functions_of_many_points() -> None:
    game = bandit(400, Matern(1.5, 0.2), norm_bound=2.0)
    drawn = game.draw_truths(np.arange(2))
    norm = np.sqrt(drawn[0] @ np.linalg.solve(game.gram.matrix, drawn[0]))
    assert norm == pytest.approx(2.0, rel=1e-6)


@pytest.mark.parametrize("name", ["bandit", "two rows", "duels"])
def test_the_worst_function_is_within_the_bound_and_bad(name: str) -> None:
    game = GAMES[name]()
    policy = "dueling_ids" if name == "duels" else "ids"
    found = run(game, "worst", policy, horizon=8)
    theta = found.theta[0]
    inverse = np.linalg.pinv(game.gram.matrix, rcond=1e-11, hermitian=True)
    norm = np.sqrt(theta @ inverse @ theta)
    assert 0.7 * game.norm_bound < norm <= game.norm_bound * (1 + 1e-4)
    usual = run(game, "random", policy, horizon=8, seeds=20)
    assert found.mean(policy)[-1] > usual.mean(policy)[-1]


@pytest.mark.parametrize("name", ["bandit", "three rows", "localized duels"])
def test_worlds_of_many_candidates_do_not_write_maps_down(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = run(GAMES[name](), "random").regret["ids"]
    monkeypatch.setattr("partial_monitoring.model.game.MOST_MEANS", 0)
    game = GAMES[name]()
    np.testing.assert_allclose(run(game, "random").regret["ids"], usual, atol=1e-12)
    assert "observation_maps" not in vars(game)


BAD_THETA: dict[str, tuple[str, Any, str]] = {
    "a word": ("bandit", "bad", "true parameter theta named 'bad'. Known: "),
    "short": ("bandit", np.zeros(3), "theta must have shape (12,)"),
    "nan": ("bandit", np.full(12, np.nan), "theta must be finite"),
    "three for two seeds": ("bandit", np.zeros((3, 12)), "theta must have one row per seed, 2"),
    "a function of slopes": ("slopes", lambda x: x[:, 0], "theta may be a function only for"),
    "a function without points": ("written", lambda x: x[:, 0], "theta may be a function only"),
    "columns": ("bandit", lambda x: x, "what theta returns must have shape (12,)"),
    "not finite": ("bandit", lambda x: x[:, 0] * np.inf, "what theta returns must be finite"),
}


@pytest.mark.parametrize("case", BAD_THETA)
def test_bad_functions_are_refused(case: str) -> None:
    name, theta, words = BAD_THETA[case]
    with pytest.raises(InvalidInput) as caught:
        run(GAMES[name](), theta)
    assert words in str(caught.value)


# -- policies ----------------------------------------------------------------------------------

CHECKED: dict[str, list[str]] = {
    "bandit": ["ids", "linucb", "lints", "greedy", "epsilon_greedy", "squarecb"],
    "three rows": ["ids", "greedy"],
    "duels": ["ids", "dueling_ids"],
    "transductive": ["ids"],
}


@pytest.mark.parametrize("name", CHECKED)
def test_policies_pass_their_check_on_kernel_games(name: str) -> None:
    for policy in CHECKED[name]:
        pm.testing.check_policy(POLICIES[policy](), on=GAMES[name](), rounds=12)


class Scribbles(pm.IDS):
    """Changes the state that it is handed, where kernels keep it."""

    def update(self, state: Any, action: Any, observation: Any, context: Any = None) -> Any:
        following = super().update(state, action, observation, context)
        state.estimate.log[0].rows[:] = 3.0
        return following


def test_a_policy_that_scribbles_over_what_was_seen_is_found_out() -> None:
    with pytest.raises(AssertionError, match="it changes the state that it is handed"):
        pm.testing.check_policy(Scribbles(), on=bandit(4))
