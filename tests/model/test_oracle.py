"""Games with an oracle: the same play as with a list, oracles against brute force, refusals."""

from __future__ import annotations

from functools import cache
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.model.files import game_from_dict, game_to_dict
from partial_monitoring.model.oracles import ItemSets, Matchings, Paths, SpanningTrees, TopItems
from partial_monitoring.policies.sweeping.offered import OfferedActions
from partial_monitoring.simulation.environment import Environment

EDGES = ((0, 1), (0, 2), (1, 3), (2, 3), (1, 4), (2, 4), (3, 5), (4, 5), (0, 5))
ORACLES: dict[str, ItemSets] = {
    "m-sets": TopItems(5, 2),
    "one set": TopItems(3, 3),
    "paths": Paths(EDGES, 0, 5),
    "matchings": Matchings(2, 3),
    "square matchings": Matchings(3, 3),
    "trees": SpanningTrees(((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))),
    "parallel edges": SpanningTrees(((7, 9), (7, 9), (9, 8))),
}
every_oracle = pytest.mark.parametrize("name", ORACLES)
every_structure = pytest.mark.parametrize("name", [n for n in ORACLES if n != "one set"])
POLICIES = {"pege": pm.PEGE(), "gcb": pm.GCB(0.05), "etc": pm.ETC(), "etc, 30": pm.ETC(30)}


@cache
def all_sets(name: str) -> list[tuple[int, ...]]:
    """Return all actions by their definitions, sorted."""
    oracle: Any = ORACLES[name]
    if isinstance(oracle, TopItems):
        return list(combinations(range(oracle.items), oracle.size))
    if isinstance(oracle, Matchings):
        partners = permutations(range(oracle.right), oracle.left)
        return sorted(tuple(i * oracle.right + j for i, j in enumerate(p)) for p in partners)
    if isinstance(oracle, SpanningTrees):
        size = len({node for edge in oracle.edges for node in edge}) - 1
        subsets = combinations(range(oracle.d), size)
        return [own for own in subsets if is_tree([oracle.edges[e] for e in own])]
    return sorted(walks(oracle.edges, oracle.source, oracle.target))


def is_tree(edges: list[tuple[int, int]]) -> bool:
    joined: list[set[int]] = []
    for edge in edges:
        met = [group for group in joined if group & set(edge)]
        if any(set(edge) <= group for group in met):
            return False
        joined = [group for group in joined if group not in met] + [set(edge).union(*met)]
    return len(joined) == 1


def walks(edges: Any, start: int, end: int) -> list[tuple[int, ...]]:
    if start == end:
        return [()]
    return [
        tuple(sorted((number, *rest)))
        for number, (one, two) in enumerate(edges)
        if one == start
        for rest in walks(edges, two, end)
    ]


def indicators(name: str) -> Any:
    features = np.zeros((len(all_sets(name)), ORACLES[name].d))
    for row, own in zip(features, all_sets(name), strict=True):
        row[list(own)] = 1.0
    return features


def both(name: str, shows: str) -> tuple[pm.Game, pm.OracleGame]:
    """Return a game with a list of its actions, and the same one with an oracle."""
    oracle, box = ORACLES[name], pm.Box([-1] * ORACLES[name].d, [1] * ORACLES[name].d)
    listed = pm.games.combinatorial_bandit(
        oracle.d, None, subsets=all_sets(name), feedback=shows, parameters=box, noise_std=0.3
    )
    asked = pm.OracleGame(oracle, box, 0.3, shows=shows, observers=indicators(name))
    return listed, asked


# -- the same as with a list -----------------------------------------------------------------------


@every_oracle
@pytest.mark.parametrize("shows", ["semi-bandit", "bandit"])
@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES.keys())
def test_the_same_actions_and_regret_as_with_a_list(name: str, shows: str, policy: Any) -> None:
    listed, asked = both(name, shows)
    seeds = np.arange(3)
    theta = listed.draw_truths(seeds)
    np.testing.assert_array_equal(asked.draw_truths(seeds), theta)
    played = []
    for game in (listed, asked):
        environment, state, labels = Environment(game, theta, seeds), policy.init(game, 3), []
        for t in range(120):
            action = policy.decide(state, np.zeros(3)).action
            labels.append([game.action_label(int(a)) for a in action])
            state = policy.update(state, action, environment.observe(action, t))
        played.append(labels)
    assert played[0] == played[1]
    regret = [
        pm.simulate(game, {"own": policy}, theta, horizon=120, seeds=3).regret["own"]
        for game in (listed, asked)
    ]
    np.testing.assert_allclose(*regret, atol=1e-9)


@every_oracle
def test_oracles_know_the_best_action_and_how_many_there_are(name: str) -> None:
    oracle, features = ORACLES[name], indicators(name)
    assert oracle.log_count == pytest.approx(np.log(len(features)), abs=1e-9)
    rng = np.random.default_rng(0)
    for _ in range(50):
        theta = rng.standard_normal(oracle.d)
        found = oracle(theta)
        assert found.tolist() in features.tolist()
        assert found @ theta == pytest.approx((features @ theta).max())
    assert oracle(np.zeros(oracle.d)).tolist() in features.tolist()


@every_structure
def test_the_second_best_action_is_found_by_leaving_out_items(name: str) -> None:
    features, rng = indicators(name), np.random.default_rng(1)
    game = both(name, "bandit")[1]
    actions: Any = pm.PEGE().init(game, 1).actions
    assert isinstance(actions, OfferedActions)
    for _ in range(30):
        theta = rng.standard_normal(game.d)
        values = np.sort(features @ theta)
        assert actions.gap(theta, game.best_action(theta)) == pytest.approx(values[-1] - values[-2])


def test_the_second_best_of_sets_that_contain_each_other() -> None:
    """Any set of items: the best one has those with positive weights, the second flips one."""
    game = pm.OracleGame(lambda theta: (theta > 0).astype(float), pm.Box([-1] * 4, [1] * 4))
    actions: Any = pm.GCB().init(game, 1).actions
    theta = np.array([0.5, -0.2, 0.4, -0.3])
    assert actions.gap(theta, game.best_action(theta)) == pytest.approx(0.2)
    given = pm.OracleGame(
        game.oracle, game.parameters, second=lambda theta: np.array([1.0, 0, 0, 0])
    )
    actions = pm.GCB().init(given, 1).actions
    assert actions.gap(theta, game.best_action(theta)) == pytest.approx(0.4)


def test_actions_that_are_no_sets_need_a_second_oracle() -> None:
    """The corners of a box: PEGE plays them, GCB asks for the second best corner."""
    corners = pm.OracleGame(lambda theta: np.sign(theta) + (theta == 0), pm.Ball([0.2] * 3, 1), 0.1)
    assert (
        pm.simulate(corners, "pege", [0.5, -0.4, 0.2], horizon=40, seeds=2).regret["pege"] >= 0
    ).all()
    with pytest.raises(InvalidInput, match="second must be given for actions that are not sets"):
        pm.simulate(corners, "gcb", [0.5, -0.4, 0.2], horizon=40, seeds=2)

    def second(theta: Any) -> Any:
        phi = corners.best_action(theta).copy()
        phi[np.abs(theta).argmin()] *= -1
        return phi

    whole = pm.OracleGame(corners.oracle, corners.parameters, 0.1, second=second)
    result = pm.simulate(whole, pm.GCB(0.01), [0.5, -0.4, 0.2], horizon=500, seeds=4)
    assert (result.regret["gcb"][:, -1] == result.regret["gcb"][:, -10]).all()
    assert whole.action_index("[1.0, -1.0, 1.0]") == whole.best_for([0.5, -0.4, 0.2])


# -- observers -------------------------------------------------------------------------------------


@every_oracle
@pytest.mark.parametrize("shows", ["semi-bandit", "bandit"])
def test_observers_are_found_with_the_oracle(name: str, shows: str) -> None:
    """Without noise one sweep estimates all differences."""
    oracle = ORACLES[name]
    box = pm.Box([-1] * oracle.d, [1] * oracle.d)
    game = pm.OracleGame(oracle, box, 0.3, shows=shows)
    pm.testing.check_game(game)
    policy, features = pm.ETC(1), indicators(name)
    state, theta = policy.init(game, 1), game.draw_truths(np.array([4]))
    environment = Environment(game, theta, np.array([0]), "none")
    for t in range(len(state.plan.observers)):
        action = policy.decide(state, np.zeros(1)).action
        assert game.vector(int(action[0])).tolist() in features.tolist()
        state = policy.update(state, action, environment.observe(action, t))
    away = features - features[0]
    if len(features) > 1:
        np.testing.assert_allclose(away @ state.theta[0], away @ theta[0], atol=1e-9)
    assert environment.gap(policy.decide(state, np.zeros(1)).action)[0] == pytest.approx(
        0, abs=1e-9
    )


def test_observers_that_do_not_suffice_are_refused() -> None:
    game = pm.games.m_sets(4, 2, observers=[[1, 1, 0, 0]])
    with pytest.raises(InvalidInput, match="PEGE needs observers that show the difference") as own:
        pm.PEGE().init(game, 1)
    assert "\n" not in str(own.value)
    blind = pm.OracleGame(
        TopItems(4, 2), pm.Box([0] * 4, [1] * 4), shows=lambda phi: np.zeros((1, 4))
    )
    with pytest.raises(InvalidInput, match="needs observers"):
        pm.simulate(blind, "etc", horizon=2)


def test_own_functions_say_what_is_shown() -> None:
    """Only the first of the chosen items is seen."""
    game = pm.OracleGame(
        TopItems(4, 2), pm.Box([0] * 4, [1] * 4), 0.1, shows=lambda phi: np.eye(4)[[phi.argmax()]]
    )
    assert game.m == 1
    with pytest.raises(InvalidInput, match="needs observers"):
        pm.PEGE().init(game, 1)  # the last item is never seen
    more = pm.OracleGame(
        TopItems(4, 2), pm.Box([0] * 4, [1] * 4), 0.1, shows=lambda phi: np.diag(phi)[phi > 0], m=1
    )
    with pytest.raises(InvalidInput, match="m must be the largest number of rows"):
        pm.simulate(more, "pege", horizon=2)


# -- the interface ---------------------------------------------------------------------------------

READY = {
    "m_sets": pm.games.m_sets(),
    "shortest_path": pm.games.shortest_path(),
    "matching": pm.games.matching(2, 3),
    "spanning_tree": pm.games.spanning_tree(),
}
every_ready = pytest.mark.parametrize("name", READY)


@every_ready
def test_ready_games_pass_all_checks(name: str, tmp_path: Path) -> None:
    game = READY[name]
    pm.testing.check_game(game)
    for policy in (pm.PEGE(), pm.GCB(), pm.ETC()):
        pm.testing.check_policy(policy, game, rounds=10)
    for ending in ("json", "toml"):
        pm.save_game(game, tmp_path / f"game.{ending}")
        again = pm.load_game(tmp_path / f"game.{ending}")
        assert game_to_dict(again) == game_to_dict(game)
    assert pm.games.make(name).d >= 1
    assert "oracle" in str(game)
    assert pm.simulate(game, "pege", horizon=5, seeds=2).backend["pege"].startswith("batched: ")


@every_ready
def test_learners_and_instances(name: str, tmp_path: Path) -> None:
    game: Any = READY[name]
    theta = game.draw_truths(np.array([1]))[0]
    instance, rng = pm.Instance(game, theta), np.random.default_rng(0)
    learner = pm.Learner(game, "gcb", seed=2)
    for _ in range(15):
        decision = learner.ask()
        assert instance.reward(instance.best_action) - instance.reward(decision.label) >= 0
        learner.tell(decision, instance.observe(decision.action, rng))
    learner.save(tmp_path / "learner.json")
    again = pm.Learner.load(tmp_path / "learner.json")  # a game that has met no action
    assert again.ask().label == learner.ask().label
    fresh = game_from_dict(game_to_dict(game))
    assert pm.Learner.replay(fresh, "gcb", 2, again.events, check=True).round == 16
    with pytest.raises(InvalidInput, match="game must list its actions"):
        instance.gaps  # noqa: B018


def test_what_needs_a_list_is_refused_in_a_sentence() -> None:
    game: Any = READY["m_sets"]
    for refused in (
        lambda: pm.analyze(game),
        lambda: pm.alignment(game),
        lambda: pm.bounds(game, 100),
        lambda: pm.Learner(game),
        lambda: pm.simulate(game, "ids", horizon=2),
        lambda: pm.simulate(game, "linucb", horizon=2),
        lambda: pm.simulate(game, "pege", horizon=2, probe=0.1),
        lambda: pm.regret_map(game, "pege", horizon=2),
        lambda: pm.Learner(game, "pege").ask(available=["{0, 1, 2}"]),
        lambda: pm.Learner(game, "pege").status(),
        lambda: game.actions,
        lambda: game.linear,
    ):
        with pytest.raises(InvalidInput) as caught:
            refused()
        assert str(caught.value).endswith(".")
        assert "\n" not in str(caught.value)


def test_numbers_are_hashes_of_actions() -> None:
    one, two = pm.games.m_sets(5, 2), pm.games.m_sets(5, 2)
    assert one.action_index("{1, 3}") == two.number([0, 1, 0, 1, -0.0])
    assert one.action_label(one.action_index("{ 3,1 }")) == "{1, 3}"
    for unknown in (7, "nobody", "{5}", "{-1}", "{0.5}", "[1, 2]", None, "[[1]]"):
        with pytest.raises(InvalidInput, match="action must"):
            one.action_index(unknown)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: pm.games.m_sets(3, 4), "size must be at most 3"),
        (lambda: pm.games.shortest_path([(0, 1), (1, 0)]), "edges must not form a cycle"),
        (lambda: pm.games.shortest_path([(0, 1), (2, 3)]), "no path does"),
        (lambda: pm.games.shortest_path([(0, 0)]), "pairs of different nodes"),
        (lambda: pm.games.shortest_path([(0, 1)], 5), "source must be a node"),
        (lambda: pm.games.shortest_path(3), "edges must be pairs"),  # type: ignore[arg-type]
        (lambda: pm.games.matching(3, 2), "left must be at most 2"),
        (lambda: pm.games.spanning_tree([(0, 1), (2, 3)]), "edges must connect all nodes"),
        (lambda: pm.games.m_sets(3, 2, feedback="full"), "shows must be"),
        (lambda: pm.OracleGame("best", pm.Simplex(2)), "oracle must be a function"),  # type: ignore[arg-type]
        (lambda: pm.OracleGame(TopItems(3, 2), pm.Simplex(2)), "parameters must have dimension 3"),
        (lambda: pm.OracleGame(lambda x: [1], pm.Simplex(2)), "what oracle returns"),
        (lambda: pm.games.m_sets(3, 2, observers=np.zeros((0, 3))), "observers must hold"),
        (lambda: game_from_dict({"oracle": {"type": "cycles"}, "parameters": {}}), "type of an"),
        (lambda: game_from_dict({"oracle": 3, "parameters": {}}), "oracle must be a table"),
        (lambda: game_to_dict(pm.OracleGame(lambda x: x, pm.Simplex(2))), "oracle of the library"),
    ],
)
def test_wrong_input_is_refused(build: Any, words: str) -> None:
    with pytest.raises(InvalidInput, match=words) as caught:
        build()
    assert str(caught.value).endswith(".")


def test_bounded_observations_need_means_within_bounds() -> None:
    game = pm.OracleGame(TopItems(3, 2), pm.Box([-1] * 3, [1] * 3), 0.5, noise="bernoulli")
    assert pm.simulate(game, "etc", [0.2, 0.5, 0.9], horizon=5, seeds=2).horizon == 5
    with pytest.raises(InvalidInput, match="need means between 0 and 1"):
        pm.simulate(game, "etc", [-0.2, 0.5, 0.9], horizon=5, seeds=2)


def test_many_actions() -> None:
    """There are 10! matchings; nine or more of them show all pairs."""
    game = pm.games.matching(10)
    assert len(pm.PEGE().init(game, 1).plan.observers) <= 15
    result = pm.simulate(game, {"own": pm.ETC(200)}, "random", horizon=400, seeds=2)
    late = (
        result.regret["own"][:, -1]
        - result.regret["own"][:, np.searchsorted(result.checkpoints, 300)]
    )
    assert (late < 0.1 * result.regret["own"][:, -1]).all()
