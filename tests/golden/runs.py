"""Seeded runs of every kind of game with every policy that plays it, as numbers and hashes.

``python -m tests.golden`` compares them with ``golden.json`` bit for bit and lists what differs;
``python -m tests.golden --write`` writes the file anew. The test asks for the same actions and for
numbers within 1e-9, because the last bits depend on the processor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import Any

import numpy as np

import partial_monitoring as pm
from partial_monitoring import policies as registry

ROUNDS, SEEDS = 60, 3
NUMBERS = ("regret", "information", "ratio")

FITTED = {"kernel / refitted": 1e-6}
"""How closely numbers can agree on another processor, where kernels are fitted to what was seen:
the optimiser stops when a step gains next to nothing, a little earlier or later by rounding."""

LINEAR = ("linucb", "lints", "greedy", "epsilon_greedy", "squarecb")
FUNCTIONS = ("gp_ucb", "gp_ts", "expected_improvement")


def _features() -> Any:
    return np.random.default_rng(0).standard_normal((12, 3)) / 4


def _box() -> Any:
    kernel = pm.kernels.Matern(2.5, 0.3)
    return pm.KernelBoxGame(kernel, [0, 0], [1, 2], noise_std=0.1)


GAMES: dict[str, tuple[Callable[[], Any], Any]] = {
    "finite": (pm.games.dynamic_pricing, [0.2, 0.5, 0.3]),
    "finite, five prices": (lambda: pm.games.dynamic_pricing([1, 2, 3, 4, 5], cost=2), "random"),
    "finite, two outcomes": (pm.games.label_efficient, [0.45, 0.55]),
    "linear": (pm.games.linear_bandit, "random"),
    "linear, all of R^d": (
        lambda: pm.games.linear_bandit(_features(), pm.AllParameters(3)),
        "random",
    ),
    "linear, a box": (
        lambda: pm.games.linear_bandit(_features(), pm.Box([-1] * 3, [1] * 3)),
        "random",
    ),
    "bernoulli": (pm.games.bernoulli_bandit_linear, "random"),
    "heteroscedastic": (pm.games.heteroscedastic_linear_bandit, "random"),
    "transductive": (pm.games.transductive, "random"),
    "duels": (lambda: pm.games.dueling(_features()), "random"),
    "localized duels": (pm.games.graph_dueling, "random"),
    "kernel duels": (pm.games.kernelized_dueling, "random"),
    "contexts": (pm.games.survey, [0.3, 0.7]),
    "finite contexts": (pm.games.segment_pricing, "random"),
    "contextual bandit": (pm.games.contextual_linear_bandit, "random"),
    "kernel": (pm.games.kernelized_bandit, "random"),
    "box": (_box, "random"),
}

ON_FINITE = ("ids", "cbp", "randcbp")
ON_CONTEXTS = ("ids", "contextual_ids")
POLICIES: dict[str, tuple[str, ...]] = {
    "finite": ON_FINITE,
    "finite, five prices": ON_FINITE,
    "finite, two outcomes": ON_FINITE,
    "linear": ("ids", *LINEAR),
    "linear, all of R^d": ("ids", *LINEAR),
    "linear, a box": ("ids", *LINEAR),
    "bernoulli": ("ids", *LINEAR),
    "heteroscedastic": ("ids", *LINEAR),
    "transductive": ("ids",),
    "duels": ("dueling_ids",),
    "localized duels": ("ids",),
    "kernel duels": ("dueling_ids", "dueling_ts"),
    "contexts": ON_CONTEXTS,
    "finite contexts": ON_CONTEXTS,
    "contextual bandit": (*ON_CONTEXTS, *LINEAR),
    "kernel": ("ids", *FUNCTIONS, "linucb", "lints"),
}

OPTIONS: dict[str, dict[str, Any]] = {"randcbp": {"levels": 20}}
"""Options with other defaults when the numbers were recorded."""

VARIANTS: dict[str, dict[str, Any]] = {
    "relaxed": {"gap": "relaxed"},
    "mean": {"gap": "mean"},
    "directed": {"information": "directed"},
    "directed, relaxed": {"information": "directed_relaxed"},
    "approximate": {"sampling": "approximate"},
    "deterministic": {"sampling": "deterministic"},
    "generalized": {"sampling": ["generalized", 3.0]},
    "anytime e2d": {"sampling": "anytime_e2d"},
    "two deviations": {"confidence": ["deviations", 2.0]},
    "regularized": {"regularization": 0.3, "confidence": ["fixed", 0.1]},
}
VARIED = ("finite", "linear", "linear, all of R^d", "linear, a box", "kernel", "contexts")
CONTEXTUAL: dict[str, dict[str, Any]] = {
    "relaxed": {"gap": "relaxed"},
    "mean": {"gap": "mean"},
    "estimated": {"chances": "estimated"},
    "frank-wolfe": {"solver": "frank_wolfe"},
    "integrated": {"integrated": True},
}


def cases() -> dict[str, tuple[str, Any, int]]:
    """Return game, policy and rounds of every case by name."""
    found: dict[str, tuple[str, Any, int]] = {}
    make = registry.make
    for game, policies in POLICIES.items():
        for policy in policies:
            found[f"{game} / {policy}"] = game, make(policy, **OPTIONS.get(policy, {})), ROUNDS
    for game in VARIED:
        for name, options in VARIANTS.items():
            found[f"{game} / ids, {name}"] = game, make("ids", **options), ROUNDS // 2
    for name, options in CONTEXTUAL.items():
        policy = make("contextual_ids", **options)
        found[f"contexts / contextual_ids, {name}"] = "contexts", policy, ROUNDS // 2
    found["kernel / refitted"] = "kernel", pm.Refitted(first=10), ROUNDS // 2
    for name in ("ids", "gp_ucb", "expected_improvement"):
        options = {"gap": "mean"} if name == "ids" else {}
        found[f"box / {name}"] = "box", make(name, **options), 6
    for game in GAMES:
        found[f"{game} / calibrated"] = game, pm.Calibrated(), 6 if game == "box" else ROUNDS // 2
    return found


def played(case: str) -> dict[str, Any]:
    """Return what a simulation gives: numbers of every seed, plays, and a hash of all bits."""
    name, policy, rounds = cases()[case]
    build, theta = GAMES[name]
    result = pm.simulate(build(), {"policy": policy}, theta, horizon=rounds, seeds=SEEDS)
    tables = {key: getattr(result, key)["policy"] for key in (*NUMBERS, "plays")}
    bits = sha256(b"".join(np.ascontiguousarray(t).tobytes() for t in tables.values()))
    plays = tables["plays"][:, -1]
    return {
        **{key: tables[key][:, -1].tolist() for key in NUMBERS},
        "plays": [[[int(a), int(own[a])] for a in np.flatnonzero(own)] for own in plays],
        "hash": bits.hexdigest()[:16],
    }


def decisions(game_name: str) -> Iterator[dict[str, Any]]:
    """Return thirty live decisions with the first policy of a game, with made-up answers."""
    build, _ = GAMES[game_name]
    game = build()
    policy = registry.make("ids", gap="mean") if game_name == "box" else None
    policy = policy or registry.make(POLICIES[game_name][0])
    learner = pm.Learner(game, policy, seed=7)
    contexts = getattr(game, "contexts", None)
    rng = np.random.default_rng(1)
    for t in range(4 if game_name == "box" else 30):
        given = {} if contexts is None else {"context": t % len(contexts)}
        decision = learner.ask(**given)
        yield {
            "label": decision.label,
            "probability": decision.probability,
            "ratio": decision.ratio,
            "beta": decision.beta,
            "estimate": float(np.sum(decision.estimate)),
        }
        learner.tell(decision, answer(game, decision, rng, **given))


def answer(game: Any, decision: Any, rng: Any, context: int | None = None) -> Any:
    """Return something that may be observed after a decision."""
    own = game if context is None else game.at(context)
    if isinstance(own, pm.FiniteGame):
        shown = own.signals[decision.action]
        return shown[int(rng.integers(len(shown)))]
    count = own.row_count(decision.action)
    if own.noise == "bernoulli":
        return rng.integers(0, 2, count).astype(float)
    if own.noise == "sign":
        return rng.choice([-1.0, 1.0], count)
    return rng.standard_normal(count) / 4
