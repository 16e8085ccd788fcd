"""Every game of the library is the game of its example."""

from inspect import Parameter, getdoc
from itertools import combinations, product
from typing import Any

import networkx as nx
import numpy as np
import pytest
from numpy.testing import assert_array_equal

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from tests.oracles.known_games import load

g = pm.games


def same(game: pm.Game, name: str, order: list[int] | None = None) -> None:
    """Check that a game of the library is one of the known games, up to the order of actions."""
    known = load(name)
    order = list(range(game.k)) if order is None else order
    assert_array_equal(game.features[order], known.features)
    for a, c in enumerate(order):
        assert_array_equal(game.rows(c), known.rows(a))
    assert game.parameters.equals(known.parameters)


def test_library_games_are_the_known_games() -> None:
    same(g.apple_tasting(), "apple_tasting")
    same(g.label_efficient(), "label_efficient")
    for cost, name in ((0, "0"), (0.5, "0_5"), (1.5, "1_5")):
        same(g.inspection(cost), f"spam_filter_c{name}")
        same(g.spam_filter(cost), f"spam_filter_c{name}")
    same(g.matching_pennies("bandit"), "matching_pennies_bandit")
    same(g.matching_pennies("full"), "matching_pennies_bandit")
    same(g.matching_pennies("none"), "matching_pennies_none")
    same(g.bernoulli_bandit(2), "bernoulli_bandit_2")
    same(g.bernoulli_bandit(3), "bernoulli_bandit_3")
    same(g.finite_versus_linear("simplex"), "paper_example_simplex")
    same(g.finite_versus_linear("ball"), "paper_example_ball_S_embedding")
    same(g.finite_versus_linear("silent ball"), "paper_example_ball_noobs")
    for n in (2, 3, 5):
        same(g.dynamic_pricing(range(1, n + 1)), f"dynamic_pricing_{n}_c2")
    same(g.linear_bandit(), "linear_bandit_3d")
    same(g.bernoulli_bandit_linear(3), "bandit_box")
    same(g.dueling(), "dueling_3_all_ordered_pairs")
    complete = g.graph_dueling(nx.complete_graph(3))
    same(complete, "graph_dueling_complete_3", [0, 3, 4, 1, 5, 2])
    same(g.graph_dueling([(0, 1), (1, 2)]), "graph_dueling_path_3")
    same(g.graph_dueling([(0, 1), (2, 3)]), "graph_dueling_disconnected")
    triangle = g.graph_dueling([(0, 1), (1, 2), (0, 2)], self_pairs=False)
    same(triangle, "graph_dueling_no_selfloops")
    same(g.transductive(), "transductive_ball")
    same(g.loopless_clique(3), "feedback_graph_loopless_clique")
    same(g.revealing_action(3), "feedback_graph_revealing_action")


def test_dynamic_pricing_with_other_valuations() -> None:
    game = g.dynamic_pricing([2, 5], valuations=[1, 3, 9], cost=0.5)
    assert game.rewards.tolist() == [[-0.5, -1, -7], [-0.5, -0.5, -4]]
    assert game.signals == (("no", "yes", "yes"), ("no", "no", "yes"))


def test_bernoulli_bandits_agree() -> None:
    """A finite game with 2^k outcomes sees k directions: the k dimensions of the linear game."""
    for k in (1, 2, 3, 5):
        finite, linear = g.bernoulli_bandit(k), g.bernoulli_bandit_linear(k)
        assert finite.rank == linear.rank == k
        means = np.random.default_rng(k).random(k)
        patterns = np.array(list(product((0, 1), repeat=k)))
        theta = np.prod(np.where(patterns, means, 1 - means), axis=1)
        np.testing.assert_allclose(
            pm.Instance(finite, theta).rewards, pm.Instance(linear, means).rewards
        )


def test_feedback_graphs() -> None:
    game = g.feedback_graph([("a", "b"), ("b", "b")], self_loops=True)
    assert game.actions == ("a", "b")
    assert_array_equal(game.rows(0), [[1, 0], [0, 1]])
    assert_array_equal(game.rows(1), [[0, 1]])
    undirected = g.feedback_graph(nx.path_graph(3))
    assert_array_equal(undirected.rows(1), [[1, 0, 0], [0, 0, 1]])
    directed = g.feedback_graph(nx.DiGraph([(0, 1)]))
    assert directed.row_counts == (1, 0)
    assert g.feedback_graph([], arms=["x", "y"]).row_counts == (0, 0)
    features = [[1, 0], [0, 1], [1, 1]]
    assert_array_equal(
        g.feedback_graph([(0, 2)], arms=[0, 1, 2], features=features).rows(0), [[1, 1]]
    )
    assert g.full_information(3).row_counts == (3, 3, 3)


@pytest.mark.parametrize("feedback", ["quantitative", "sign"])
def test_dueling_is_sum_and_difference(feedback: str) -> None:
    phi = np.random.default_rng(0).standard_normal((4, 3))
    game = g.dueling(phi, feedback=feedback)
    for index, (a, b) in enumerate(product(range(4), repeat=2)):
        np.testing.assert_allclose(game.features[index], phi[a] + phi[b])
        np.testing.assert_allclose(game.rows(index), [phi[a] - phi[b]])
    assert game.noise_std == 1.0


def test_sign_duels_have_means_within_bounds_everywhere() -> None:
    phi = np.random.default_rng(1).standard_normal((5, 3)) * 4
    game = g.dueling(phi, feedback="sign")
    widest = max(float(game.parameters.support(row[0])) for row in game.observation_maps)
    assert widest == pytest.approx(1)


def test_graph_dueling_needs_the_pairs_once() -> None:
    assert g.graph_dueling([(0, 1), (1, 0)]).k == 3
    assert g.graph_dueling(nx.DiGraph([(0, 1), (1, 0)])).k == 4


def test_combinatorial_bandits() -> None:
    phi = np.random.default_rng(0).standard_normal((4, 2))
    semi = g.combinatorial_bandit(4, 2, features=phi)
    full = g.combinatorial_bandit(4, 2, features=phi, feedback="bandit")
    for index, subset in enumerate(combinations(range(4), 2)):
        np.testing.assert_allclose(semi.features[index], phi[list(subset)].sum(axis=0))
        np.testing.assert_allclose(semi.rows(index), phi[list(subset)])
        np.testing.assert_allclose(full.rows(index), [semi.features[index]])
    listed = g.combinatorial_bandit(3, subsets=[[0], [2, 1], []])
    assert listed.actions == ("{0}", "{1, 2}", "{}")
    assert listed.row_counts == (1, 2, 0)


def test_transductive_probes_may_earn() -> None:
    game = g.transductive([[1, 0]], [[0, 1], [[1, 1], [1, -1]]], probe_features=[[1, 1], [0, 0]])
    assert game.row_counts == (0, 1, 2)
    assert_array_equal(game.features, [[1, 0], [1, 1], [0, 0]])


def test_games_with_contexts() -> None:
    bandit = g.contextual_linear_bandit([[[1, 0], [0, 1]], [[3, 0], [0, 4]]], [0.25, 0.75])
    assert_array_equal(bandit.at(1).features, [[3, 0], [0, 4]])
    assert_array_equal(bandit.at(1).observation_maps[:, 0], [[3, 0], [0, 4]])
    duels = g.contextual_dueling([[[1, 0], [0, 1]], [[0, 1], [1, 1]]])
    assert_array_equal(duels.at(1).features[1], [1, 2])
    assert_array_equal(duels.at(1).observation_maps[1, 0], [-1, 0])
    pricing = g.segment_pricing([1, 2], [0, 1], cost=3)
    assert_array_equal(pricing.at(0).rewards, g.dynamic_pricing([1, 2], cost=3).rewards)
    assert_array_equal(pricing.at(1).rewards, [[-1, -2], [0, -1]])
    assert pricing.at(1).signals == (("yes", "yes"), ("yes", "yes"))
    assert pricing.at(0).outcomes == pricing.at(1).outcomes


def test_contextual_apple_tasting_is_apple_tasting_in_each_context() -> None:
    game = g.contextual_apple_tasting([[1, 0], [0.25, 0.75]], lost_sale=2, bad_sale=3)
    theta = np.array([0.4, 0.8, 1.0])
    for x, context in (((1, 0), 0), ((0.25, 0.75), 1)):
        rotten = np.dot(x, theta[:2])
        expected = [-3 * rotten, -2 * (1 - rotten)]
        assert game.at(context).features @ theta == pytest.approx(expected)
        assert game.at(context).rows("taste") @ theta == pytest.approx([rotten])
        assert game.at(context).row_counts == (0, 1)
    assert game.parameters.contains(theta)


def test_survey_and_greedy_exploration() -> None:
    survey = g.survey(3, answer_rate=0.2)
    assert_array_equal(survey.context_distribution, [0.2, 0.8])
    assert survey.at("answers").rank == 3
    assert survey.at("silent").rank == 0
    game = g.greedy_exploration(8)
    for theta in np.random.default_rng(0).standard_normal((50, 2)):
        inside = theta / np.linalg.norm(theta)
        best = [game.at(z).features[(game.at(z).features @ inside).argmax()] for z in range(8)]
        assert np.linalg.matrix_rank(np.array(best), tol=1e-6) == 2


@pytest.mark.parametrize("name", g.GAMES)
def test_every_game_has_a_default_and_a_complete_description(name: str) -> None:
    text = getdoc(g.GAMES[name]) or ""
    assert g.summary(name)
    for part in ("Model:", "Example\n-------\n>>> " if ">>>" in text else "Example", "Reference:"):
        assert part.split("\n")[0] in text
    assert ">>>" in text
    assert isinstance(g.make(name), pm.Game | pm.ContextualGame)
    assert Parameter.empty not in g.options_of(name).values()


def test_any_prices_can_be_told_apart() -> None:
    assert g.dynamic_pricing([10000, 10001]).actions == ("$10000", "$10001")
    assert g.dynamic_pricing([19.999, 20]).outcomes == ("$19.999", "$20")


def test_graphs_from_arrays_and_unsorted_graphs() -> None:
    assert g.feedback_graph(np.array([[2, 1], [1, 0]])).actions == ("0", "1", "2")
    assert g.feedback_graph(nx.DiGraph([(2, 1), (1, 0)])).actions == ("0", "1", "2")


BAD: list[tuple[Any, str]] = [
    (lambda: g.graph_dueling(self_pairs="no"), "self_pairs must be true or false; got 'no'."),
    (lambda: g.feedback_graph(None), "edges must be a list; got None."),
    (lambda: g.feedback_graph(arms=[[]]), "nodes must be a list; got [[]]."),
    (lambda: g.combinatorial_bandit(subsets=5), "subsets must be lists of item indices; got 5."),
    (lambda: g.transductive(probes=3), "probes must be a list of observation maps; got 3."),
    (lambda: g.summary("x"), "no game named 'x'"),
    (lambda: g.make("linear"), "no game named 'linear'; did you mean 'linear_bandit'?"),
    (lambda: g.make("duel"), "no game named 'duel'; did you mean 'dueling'?"),
    (lambda: g.make("dueling_bandit"), "no game named 'dueling_bandit'; did you mean 'dueling'?"),
    (lambda: g.make("inspection", price=1), "no option of inspection named 'price'"),
    (lambda: g.options_of("x"), "no game named 'x'"),
    (lambda: g.matching_pennies("some"), "information must be one of 'full', 'bandit', 'none'; go"),
    (lambda: g.bernoulli_bandit(17), "arms must be at most 12, since the finite game has 2^arms"),
    (lambda: g.bernoulli_bandit(0), "arms must be a whole number >= 1; got 0."),
    (lambda: g.combinatorial_bandit(3, 4), "size must not exceed the number of items, 3; got 4."),
    (lambda: g.combinatorial_bandit(3, None), "size must be a whole number >= 1; got None."),
    (lambda: g.combinatorial_bandit(60, 30), "size 30 of 60 items gives 118264581564861424 subset"),
    (lambda: g.combinatorial_bandit(3, subsets=[[3]]), "subsets must hold different item indices"),
    (lambda: g.feedback_graph([(0,)]), "edges must be pairs (from, to); got (0,)."),
    (lambda: g.feedback_graph([(0, 1)], arms=[0]), "edges must connect known nodes; 1 is not amo"),
    (lambda: g.feedback_graph([]), "edges must name at least one node; got none."),
    (lambda: g.graph_dueling([], items=[0, 1], self_pairs=False), "a dueling game needs at least"),
    (lambda: g.transductive(probes=[]), "probes must hold at least one map, else nothing is ever"),
    (lambda: g.transductive(probes=[[1, 2, 3]]), "probes[0] must have shape (2,); got (3,)."),
    (lambda: g.survey(2, 1.5), "answer_rate must lie between 0 and 1; got 1.5."),
    (lambda: g.contextual_apple_tasting([[1, 1]]), "descriptions must be weights of at least"),
    (lambda: g.contextual_apple_tasting(np.zeros((0, 2))), "descriptions must hold at least one"),
    (lambda: g.contextual_linear_bandit([[1, 0]]), "features must have shape (contexts, k, d)"),
    (lambda: g.dynamic_pricing([1, 1]), "actions must be different from each other; '$1' appears"),
    (lambda: g.dynamic_pricing([]), "rewards must not be empty; got shape (0, 0)."),
    (lambda: g.dynamic_pricing(cost=np.nan), "cost must be finite; got nan."),
]


@pytest.mark.parametrize(("call", "message"), BAD, ids=[message for _, message in BAD])
def test_bad_input_gets_one_sentence(call: Any, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        call()
    assert str(caught.value).startswith(message)
