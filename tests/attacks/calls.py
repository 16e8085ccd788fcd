"""A valid call of every public function and constructor, which attacks then spoil."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import partial_monitoring as pm

Call = tuple[Callable[..., Any], dict[str, Any]]

APPLES = pm.games.apple_tasting()
SET = pm.Learner(APPLES, pm.IDS()).confidence_set()
PRICING = pm.games.dynamic_pricing()
BANDIT = pm.games.linear_bandit()
SURVEY = pm.games.survey()
KERNEL = pm.kernels.SquaredExponential(0.5)
POINTS = [[0.1], [0.5], [0.9]]
READING = pm.readings.values(POINTS)
SETS = {
    "Ball": pm.Ball([0.0, 0.0], 1.0),
    "Box": pm.Box([0.0, 0.0], [1.0, 1.0]),
    "Simplex": pm.Simplex(2),
    "Polytope": pm.Polytope(-np.eye(2), [0.0, 0.0], [[1.0, 1.0]], [1.0]),
    "AllParameters": pm.AllParameters(2),
}

MADE_BY_THE_LIBRARY = {
    *("Advice", "Analysis", "AsymptoticConstant", "Bounds", "Choices", "Comparison"),
    "ContextualAnalysis",
    *(
        "ContextualBounds",
        "Decision",
        "DuelAnalysis",
        "Halfspaces",
        "Moved",
        "OffPolicy",
        "OpenDecision",
        "Plan",
        "RegretMap",
        "RemoteLearner",
        "Result",
        "Status",
    ),
    *("functions.Known", "readings.Reading", "sampling.Pairs", "confidence.ConfidenceSet"),
    "kernels.FromSklearn",
}
"""Classes of results, which users read, and what ``kernels.as_kernel`` and ``Learner`` make."""

FOR_EXTENSIONS = {
    *("AnyGame", "ParameterSet", "Policy", "Polyhedral", "kernels.Kernel", "sampling.SamplingRule"),
    *(f"gaps.{name}" for name in pm.gaps.__all__),
    *(f"information.{name}" for name in pm.information.__all__),
    *(f"testing.{name}" for name in pm.testing.__all__),
}
"""Protocols, base classes, parts that policies call with what they computed, and checks of all of
them, which fail like any ``assert``."""

TOO_SLOW = {"table_1"}
"""Without an argument, and slow."""


@cache
def result() -> pm.Result:
    return pm.simulate("apple_tasting", ["greedy", "cbp"], [0.7, 0.3], horizon=5, seeds=2)


@cache
def comparisons() -> list[pm.Comparison]:
    experiment = pm.Experiment("apple_tasting", "greedy", [0.7, 0.3], horizon=3, seeds=2)
    return experiment.compare()


@cache
def history() -> list[dict[str, Any]]:
    learner = pm.Learner(PRICING, seed=1, probe=0.5)
    decisions = learner.ask(count=20)
    learner.tell(decisions, [PRICING.signal(own.action, 1) for own in decisions])
    return learner.history


def own_kernel(x: Any, y: Any) -> Any:
    return np.exp(-0.5 * ((x[:, None] - y[None]) ** 2).sum(axis=2))


def draw(rng: Any, count: int) -> Any:
    return rng.uniform(size=(count, 1))


def corner(theta: Any) -> Any:
    return (np.asarray(theta) > 0).astype(float)


RUN = {"horizon": 3, "seeds": 2}
RATIOS = {"gaps": [0.1, 0.5], "information": [0.0, 1.0]}
CONTEXTS = {
    "gaps": [[0.1, 0.5], [0.2, 0.1]],
    "information": [[0.0, 1.0], [1.0, 0.5]],
    "context_distribution": [0.5, 0.5],
}

ARGUMENTS: dict[str, dict[str, Any]] = {
    "AllParameters": {"d": 2},
    "Ball": {"center": [0.0, 0.0], "radius": 1.0},
    "Box": {"low": [0.0, 0.0], "high": [1.0, 1.0]},
    "Polytope": {"a_ub": -np.eye(2), "b_ub": [0.0, 0.0], "a_eq": [[1.0, 1.0]], "b_eq": [1.0]},
    "Simplex": {"d": 2},
    "ContextualGame": {"games": [BANDIT, BANDIT]},
    "ContextualInstance": {"game": SURVEY, "theta_star": np.zeros(SURVEY.d)},
    "DuelingGame": {"item_features": [[1.0, 0.0], [0.0, 1.0]], "parameters": SETS["Ball"]},
    "Experiment": {"games": "apple_tasting", "policies": "greedy", "theta": [0.7, 0.3], **RUN},
    "FiniteGame": {"rewards": [[0, -1], [-2, 0]], "signals": ["ab", "cc"]},
    "Game": {
        "features": np.eye(2),
        "observation_maps": [[[1.0, 0.0]], [[0.0, 1.0]]],
        "parameters": SETS["Ball"],
    },
    "Instance": {"game": APPLES, "theta_star": [0.7, 0.3]},
    "KernelBoxDuelingGame": {"kernel": KERNEL, "low": [0.0], "high": [1.0]},
    "KernelBoxGame": {"kernel": KERNEL, "low": [0.0], "high": [1.0]},
    "KernelDuelingGame": {"kernel": KERNEL, "points": POINTS},
    "KernelGame": {
        "reward_kernel": np.eye(2),
        "observation_kernel": np.eye(2).reshape(2, 1, 2, 1),
        "cross_kernel": np.eye(2).reshape(2, 2, 1),
    },
    "Learner": {"game": APPLES},
    "LogFile": {"path": "log.ndjson"},
    "Measurement": {"action": 0, "rows": [[1.0, 0.0]]},
    "off_policy": {"history": history, "game": PRICING},
    "OracleGame": {"oracle": corner, "parameters": SETS["Box"]},
    "Votes": {"wins": 4, "of": 5},
    "Window": {"days": 30, "unanswered": "good"},
    "advise": {"game": APPLES},
    "alignment": {"game": APPLES},
    "analyze": {"game": APPLES},
    "asymptotic_constant": {"game": APPLES, "theta": [0.7, 0.3]},
    "bounds": {"game": APPLES, "horizon": 100},
    "candidates.grid": {"low": [0.0, 0.0], "high": [1.0, 1.0], "per_axis": 3},
    "candidates.sampled": {"sampler": draw, "count": 3},
    "candidates.sobol": {"low": [0.0], "high": [1.0], "count": 4},
    "confidence.deviations": {"number": 2.0},
    "confidence.fixed": {"failure_probability": 0.1},
    "confidence.likelihood_ratio": {"failure_probability": 0.1},
    "contextual_bounds": {"game": SURVEY, "horizon": 100},
    "finite_alignment_bounds": {"game": APPLES},
    "fit_kernel": {"kernel": KERNEL, "reading": READING, "observations": [0.1, 0.5, 0.2]},
    "from_csv": {"path": "table.csv"},
    "from_table": {"earn": {"a": {"x": (1, "yes")}, "b": {"x": (0, "no")}}},
    "functions.ackley": {"x": [[0.1, 0.2]]},
    "functions.branin": {"x": [[0.1, 0.2]]},
    "functions.hartmann3": {"x": [[0.1, 0.2, 0.3]]},
    "functions.hartmann6": {"x": [[0.1] * 6]},
    "functions.named": {"name": "branin"},
    "games.finite": {"rewards": [[0, -1], [-2, 0]], "signals": ["ab", "cc"]},
    "games.make": {"name": "apple_tasting"},
    "games.named": {"game": "apple_tasting"},
    "games.options_of": {"name": "apple_tasting"},
    "games.summary": {"name": "apple_tasting"},
    "kernels.FromFunction": {"function": own_kernel},
    "kernels.Product": {"factors": (KERNEL, KERNEL)},
    "kernels.Sum": {"terms": (KERNEL, KERNEL)},
    "kernels.as_kernel": {"kernel": KERNEL},
    "kernels.from_dict": {"data": {"type": "linear"}},
    "kernels.from_function": {"function": own_kernel},
    "load_experiment": {"path": "experiment.toml"},
    "load_game": {"path": "game.json"},
    "local_alignment": {
        "game": APPLES,
        "confidence": pm.Learner(APPLES, pm.IDS()).confidence_set(),
    },
    "log_marginal_likelihood": {"kernel": KERNEL, "reading": READING, "observations": [1, 2, 3]},
    "plan": {"game": "apple_tasting", "policy": "greedy", "theta": [0.7, 0.3], **RUN},
    "Product": {"sets": SETS["Ball"]},
    "plot.information": {"results": result},
    "plot.regret": {"results": result},
    "policies.Card": dict.fromkeys(("games", "guarantee", "cost", "reference"), "words")
    | {"setting": "stochastic"},
    "policies.card": {"name": "ids"},
    "policies.Promise": {"mode": "practical", "words": "nothing is proven"},
    "policies.make": {"name": "ids"},
    "policies.name_of": {"policy": pm.IDS()},
    "policies.options_of": {"name": "ids"},
    "policies.policy_from_dict": {"data": pm.policies.policy_to_dict(pm.IDS())},
    "policies.policy_to_dict": {"policy": pm.IDS()},
    "policies.promise": {"name": "ids"},
    "policies.summary": {"name": "ids"},
    "readings.averages": {"points": POINTS, "groups": [[0, 1]]},
    "readings.derivatives": {"points": POINTS, "axis": 0},
    "readings.differences": {"points": POINTS, "pairs": [[0, 1]]},
    "readings.nothing": {"count": 2},
    "readings.one_after_another": {"readings": READING},
    "readings.sums": {"points": POINTS, "groups": [[0, 1]]},
    "readings.together": {"readings": READING},
    "readings.values": {"points": POINTS},
    "readings.weighted": {"points": POINTS, "weights": [[1.0, 0.0, 0.0]]},
    "regret_bound": {"information_ratio": 1.0, "total_information": 2.0, "horizon": 100},
    "sampling.E2D": {"tradeoff": 1.0},
    "sampling.approximate": RATIOS,
    "sampling.contextual": CONTEXTS,
    "sampling.deterministic": RATIOS,
    "sampling.e2d": {"tradeoff": 1.0},
    "sampling.exact": RATIOS,
    "sampling.frank_wolfe": {**CONTEXTS, "steps": 20},
    "sampling.generalized": {"kappa": 2.0},
    "regret_map": {"game": "apple_tasting", "policy": "greedy", "points": 3, **RUN},
    "SegmentedGame": {"games": {"a": APPLES, "b": APPLES}},
    "segments": {"games": {"a": APPLES, "b": APPLES}},
    "save_game": {"game": APPLES, "path": "written.json"},
    "simulate": {"game": "apple_tasting", "policies": "greedy", "theta": [0.7, 0.3], **RUN},
    "truths.adaptive": {"function": lambda t, seed, actions: 0},
    "truths.drifting": {"parameters": [[0.7, 0.3], [0.3, 0.7]]},
    "truths.outcomes": {"source": [0, 1, 1]},
    "truths.switching": {"parameters": [[0.7, 0.3], [0.3, 0.7]]},
    "write_report": {"comparisons": comparisons, "folder": "report", "figures": False},
}
"""What public names need at least; names that are not listed need nothing."""

LATER = (result, comparisons, history)
"""Functions that make an argument when it is needed."""

METHODS: dict[str, tuple[Callable[[], Any], str, dict[str, Any]]] = {
    "Experiment.run": (
        lambda: pm.Experiment("apple_tasting", "greedy", [0.7, 0.3], **RUN),
        "run",
        {},
    ),
    "FiniteGame.observation": (lambda: APPLES, "observation", {"action": 0, "symbol": "good"}),
    "FiniteGame.outcome_index": (lambda: APPLES, "outcome_index", {"outcome": 0}),
    "FiniteGame.signal": (lambda: APPLES, "signal", {"action": 0, "outcome": 0}),
    "Game.action_index": (lambda: BANDIT, "action_index", {"action": 0}),
    "Game.restricted": (lambda: BANDIT, "restricted", {"actions": [0, 1]}),
    "Game.rows": (lambda: BANDIT, "rows", {"action": 0}),
    "ContextualGame.at": (lambda: SURVEY, "at", {"context": 0}),
    "Result.mean": (result, "mean", {"policy": "greedy"}),
    "Result.only": (result, "only", {"seeds": [0]}),
    "Result.save": (result, "save", {"path": "result.parquet"}),
    "Result.load": (lambda: pm.Result, "load", {"path": "missing.parquet"}),
    **{
        f"{name}.{method}": (lambda found=found: found, method, {argument: value})
        for name, found in SETS.items()
        for method, argument, value in (
            ("contains", "points", [[0.5, 0.5]]),
            ("support", "directions", [[1.0, 0.0]]),
            ("project", "point", [2.0, 0.0]),
            ("norm_bound", "prior_mean", [0.0, 0.0]),
        )
    },
}
"""Methods that users call with their own numbers: the object, the method, its arguments."""


def write_inputs() -> None:
    """Write the files that calls read into the current folder."""
    Path("table.csv").write_text(",x,y\na,1 yes,0 no\nb,0 no,1 no\n")
    pm.save_game(APPLES, "game.json")
    Path("experiment.toml").write_text(
        'horizon = 3\nseeds = 2\ngames = ["apple_tasting"]\npolicies = ["greedy"]\n'
    )


def public() -> Iterator[tuple[str, Any]]:
    """Yield the public functions and classes by their names, those of public modules too."""
    for name in pm.__all__:
        found = getattr(pm, name)
        if isinstance(found, ModuleType):
            for inner in found.__all__:
                yield f"{name}.{inner}", getattr(found, inner)
        else:
            yield name, found


def calls() -> dict[str, Call]:
    """Return every public name that can be called, with arguments for which it works."""
    left_out = MADE_BY_THE_LIBRARY | FOR_EXTENSIONS | TOO_SLOW
    found: dict[str, Call] = {}
    for name, function in public():
        error = inspect.isclass(function) and issubclass(function, BaseException)
        if callable(function) and not error and name not in left_out:
            found[name] = function, ARGUMENTS.get(name, {})
    for name, (owner, method, arguments) in METHODS.items():
        found[name] = getattr(owner(), method), arguments
    return found
