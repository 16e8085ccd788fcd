"""The engine against plain NumPy, a conic solver and the limit of one read."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

import numpy as np
from rich.table import Table

import partial_monitoring as pm
from benchmarks import reference
from benchmarks.timing import fastest, most_memory, show
from partial_monitoring.estimation.linear.state import LinearState
from partial_monitoring.numerics.compiled import polyhedron
from partial_monitoring.numerics.compiled.ratio import minimize_rows

Array = np.ndarray


def unit_features(k: int, d: int) -> Array:
    phi = np.random.default_rng(0).standard_normal((k, d))
    return np.asarray(phi / np.linalg.norm(phi, axis=1, keepdims=True))


def simulation() -> Table:
    """Rounds of all seeds together, against one seed after the other."""
    table = Table(title="Simulation, 100 seeds: time per round and seed")
    for column in ("game", "here", "plain NumPy loop", "ratio"):
        table.add_column(column)
    for k, d, relaxed in ((10, 3, False), (100, 20, True)):
        phi = unit_features(k, d)
        theta = np.full(d, 0.3 / np.sqrt(d))
        game = pm.games.linear_bandit(phi, pm.AllParameters(d))
        policy = pm.IDS(gap=pm.gaps.relaxed if relaxed else pm.gaps.exact)
        pm.simulate(game, policy, theta, horizon=5, seeds=2)
        ours = fastest(
            lambda g=game, p=policy, th=theta: pm.simulate(g, p, th, horizon=300, seeds=100),  # type: ignore[misc]
            repeat=3,
        ) / (300 * 100)
        plain = (
            fastest(
                lambda f=phi, th=theta, r=relaxed: reference.run(f, th, 300, 0, relaxed=r),  # type: ignore[misc]
                repeat=3,
            )
            / 300
        )
        name = f"R^d, k={k}, d={d}, {'relaxed' if relaxed else 'exact'} gaps"
        table.add_row(name, show(ours), show(plain), f"{plain / ours:.1f}")
    pricing = pm.games.dynamic_pricing(range(1, 6))
    mixed = [0.1, 0.2, 0.3, 0.3, 0.1]
    pm.simulate(pricing, "ids", mixed, horizon=5, seeds=2)
    ours = fastest(lambda: pm.simulate(pricing, "ids", mixed, horizon=300, seeds=100), repeat=3)
    table.add_row("pricing with 5 prices, exact gaps", show(ours / 30_000), "-", "-")
    phi = unit_features(10, 3)
    bandit = pm.games.linear_bandit(phi, pm.AllParameters(3))
    others: tuple[tuple[str, pm.Game, list[float]], ...] = (
        ("cbp", pricing, mixed),
        ("randcbp", pricing, mixed),
        ("linucb", bandit, [0.2, 0.2, 0.2]),
        ("lints", bandit, [0.2, 0.2, 0.2]),
    )
    for name, game, truth in others:
        pm.simulate(game, name, truth, horizon=5, seeds=2)
        ours = fastest(
            lambda g=game, p=name, th=truth: pm.simulate(g, p, th, horizon=1000, seeds=100),  # type: ignore[misc]
            repeat=3,
        )
        where = "pricing with 5 prices" if game is pricing else "R^d, k=10, d=3"
        table.add_row(f"{where}, {name}", show(ours / 100_000), "-", "-")
    return table


def supports() -> Table:
    """Support functions of simplex and ellipsoid against Clarabel, called directly."""
    table = Table(title="Support function of simplex and ellipsoid")
    for column in ("outcomes", "here", "Clarabel", "ratio", "largest difference"):
        table.add_column(column)
    for d in (3, 5, 10, 20):
        rng = np.random.default_rng(d)
        game = pm.games.dynamic_pricing(range(1, d + 1))
        plays = rng.integers(1, 100, d)
        gram = np.eye(d) + sum(n * game.rows(a).T @ game.rows(a) for a, n in enumerate(plays))
        theta, beta = rng.dirichlet(np.ones(d)), 20.0
        q = pm.Simplex(d).difference_basis()
        inverse = np.linalg.inv(q.T @ gram @ q)[None]
        directions = np.array(
            [b - a for a in game.features for b in game.features if (a != b).any()]
        )
        arguments = (inverse, np.zeros((1, d - 1)), np.array([beta]), 1.0)
        local = np.ascontiguousarray(directions @ q)

        def here(
            args: tuple = arguments, c: Array = local, basis: Array = q, th: Array = theta
        ) -> Array:
            values: Array = polyhedron.pair_supports(*args, c, -basis, th)[0][0]
            return values

        here()
        ours = fastest(here) / len(directions)
        some = directions[:20]
        start = perf_counter()
        theirs = np.array([by_clarabel(gram, theta, c, beta) for c in some])
        clarabel_time = (perf_counter() - start) / len(some)
        off = np.abs(here()[:20] + some @ theta - theirs).max()
        table.add_row(
            str(d), show(ours), show(clarabel_time), f"{clarabel_time / ours:.0f}", f"{off:.1e}"
        )
    return table


def by_clarabel(gram: Array, theta: Array, c: Array, beta: float) -> float:
    import clarabel
    from scipy import sparse

    d = len(theta)
    root = np.linalg.cholesky(gram).T
    rows = np.vstack([np.ones((1, d)), -np.eye(d), np.zeros((1, d)), -root])
    right = np.concatenate([[1.0], np.zeros(d), [np.sqrt(beta)], -root @ theta])
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(d), clarabel.SecondOrderConeT(d + 1)]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    quadratic = sparse.csc_matrix((d, d))
    solver = clarabel.DefaultSolver(quadratic, -c, sparse.csc_matrix(rows), right, cones, settings)
    return -float(solver.solve().obj_val)


def limits() -> Table:
    """Very many actions, against one read of the features."""
    table = Table(title="Many actions")
    for column in ("what", "time", "compared with", "ratio"):
        table.add_column(column)
    k, d = 1_000_000, 50
    phi = unit_features(k, d)
    game = pm.Game(phi, phi[:, None, :], pm.AllParameters(d))
    read = fastest(lambda: phi.sum(), repeat=3)
    for name in ("relaxed", "mean"):
        policy = pm.IDS(gap=getattr(pm.gaps, name))
        state = policy.init(game, 1)

        def one_round(policy: pm.IDS = policy, state: LinearState = state) -> LinearState:
            choice = policy.decide(state, np.array([0.3]))
            return policy.update(state, choice.action, np.array([[0.1]]))

        one_round()
        took = fastest(one_round, repeat=3)
        label = f"a round, k={k:,}, d={d}, {name} gaps"
        table.add_row(label, show(took), "one read of the features", f"{took / read:.1f}")
        extra = most_memory(one_round)
        table.add_row(
            f"memory of {label}",
            f"{extra / 2**20:.0f} MiB",
            "the features",
            f"{extra / phi.nbytes:.2f}",
        )
    rng = np.random.default_rng(0)
    gaps = rng.random((1, k)) + 0.1
    information = rng.random((1, k)) * gaps
    minimize_rows(gaps, information, 2.0, True, 1e-9)
    minimize_rows(gaps, information, 2.0, False, 1e-9)
    exact = fastest(lambda: minimize_rows(gaps, information, 2.0, True, 1e-9), repeat=3)
    approximate = fastest(lambda: minimize_rows(gaps, information, 2.0, False, 1e-9), repeat=3)
    table.add_row(
        f"exact distribution, k={k:,}",
        show(exact),
        "the 4/3-approximation",
        f"{exact / approximate:.2f}",
    )
    small = pm.games.linear_bandit(unit_features(10_000, 20), pm.AllParameters(20))
    policy = pm.IDS()
    state = policy.init(small, 1)
    for t in range(50):
        choice = policy.decide(state, np.array([0.5]))
        state = policy.update(state, choice.action, np.array([[np.sin(t)]]))
    lazily = fastest(lambda: policy.decide(state, np.array([0.5])), repeat=3)
    confidence = policy.confidence_set(state)
    start = perf_counter()
    pm.gaps.exact(small, confidence)
    every = perf_counter() - start
    table.add_row(
        "exact gaps, k=10,000, d=20, lazily", show(lazily), "all pairs", f"{lazily / every:.4f}"
    )
    return table


def default() -> Table:
    """One decision of the default policy; at most 1 ms at k = 1000, d = 50."""
    table = Table(title="The default policy: one decision, one observation")
    for column in ("game", "decision", "observation"):
        table.add_column(column)
    phi, items = unit_features(1000, 50), unit_features(1000, 5)
    games: dict[str, pm.AnyGame] = {
        "R^d, k=1000, d=50": pm.games.linear_bandit(phi, pm.AllParameters(50)),
        "ball, k=1000, d=50": pm.games.linear_bandit(phi),
        "a million duels of 1000 items, d=5": pm.games.dueling(items),
        "contexts, 8 of k=20, d=10": pm.games.contextual_linear_bandit(
            unit_features(160, 10).reshape(8, 20, 10)
        ),
        "function, 400 points": pm.games.kernelized_bandit(np.linspace(0, 1, 400)),
    }
    for name, game in games.items():
        policy, seen = pm.Calibrated(), {"context": np.zeros(1, dtype=np.int64)}
        options = seen if game.traits.contexts else {}
        state = policy.init(game, 1)
        for t in range(50):
            choice = policy.decide(state, np.full((1, 1), 0.5), **options)
            state = policy.update(state, choice.action, np.array([[np.sin(t)]]), **options)
        decide = fastest(lambda: policy.decide(state, np.full((1, 1), 0.5), **options))  # noqa: B023
        update = fastest(
            lambda: policy.update(state, choice.action, np.array([[0.1]]), **options)  # noqa: B023
        )
        table.add_row(name, show(decide), show(update))
    return table


def default_policy() -> Table:
    """The default policy on games with signals, against its compiled part alone."""
    table = Table(title="The default policy where signals are shown")
    for column in ("what", "time", "one update of the likelihood", "ratio"):
        table.add_column(column)
    policy = pm.Calibrated()
    simulated: tuple[tuple[str, pm.Game, list[float]], ...] = (
        ("label-efficient prediction", pm.games.label_efficient(), [0.45, 0.55]),
        ("pricing with 3 prices", pm.games.dynamic_pricing(range(1, 4)), [0.2, 0.5, 0.3]),
        ("pricing with 5 prices", pm.games.dynamic_pricing(range(1, 6)), [0.1, 0.2, 0.3, 0.3, 0.1]),
    )
    for name, game, truth in simulated:
        pm.simulate(game, policy, truth, horizon=5, seeds=2)
        took = fastest(
            lambda g=game, th=truth: pm.simulate(g, policy, th, horizon=1000, seeds=1000),  # type: ignore[misc]
            repeat=3,
        )
        state = policy.init(game, 1000)
        rng = np.random.default_rng(0)
        for _ in range(50):
            chosen = policy.decide(state, np.zeros((1000, 1))).action
            outcome = rng.choice(game.d, size=1000, p=truth)
            state = policy.update(state, chosen, game.observation_maps[chosen, :, outcome])
        known, every = state.known, np.ones(1000, dtype=bool)
        alone = fastest(lambda k=known, e=every: k.refreshed(e, k.model.rivals)) / 1000  # type: ignore[misc]
        here = took / 1_000_000
        table.add_row(
            f"a round of one of 1000 seeds, {name}", show(here), show(alone), f"{here / alone:.2f}"
        )
    for prices in (5, 20, 80):
        game = pm.games.dynamic_pricing(range(1, prices + 1))
        learner = pm.Learner(game, policy)

        def one_round(learner: pm.Learner = learner, game: pm.FiniteGame = game) -> None:
            decision = learner.ask()
            learner.tell(decision, game.signals[decision.action][learner.round % game.d])

        for _ in range(20):
            one_round()
        took = fastest(one_round)
        known = learner._session.state.known
        one = np.ones(1, dtype=bool)
        alone = fastest(lambda k=known, e=one: k.refreshed(e, k.model.rivals))  # type: ignore[misc]
        label = f"one ask and one tell, {prices} prices"
        table.add_row(label, show(took), show(alone), f"{took / alone:.2f}")
    return table


def by_bayesianbandits(phi: Array) -> Callable[[], object] | None:
    try:
        import bayesianbandits as bb
    except ImportError:
        return None
    k, _ = phi.shape

    def features(x: Array, tokens: list[int]) -> Array:
        return np.asarray(phi[tokens].T[None])

    agent = bb.LipschitzContextualAgent(
        [bb.Arm(a) for a in range(k)],
        bb.InformationDirectedSampling(),
        bb.FunctionArmFeaturizer(features),
        bb.NormalRegressor(alpha=1.0, beta=1.0),
        random_seed=0,
    )
    context = np.zeros((1, 1))

    def step() -> None:
        agent.pull(context)
        agent.update(context, np.array([0.1]))

    step()
    return step


def by_vowpal_wabbit(phi: Array) -> Callable[[], object] | None:
    try:
        import vowpalwabbit as vw
    except ImportError:
        return None
    workspace = vw.Workspace("--cb_explore_adf --epsilon 0.1 --quiet")
    lines = ["|a " + " ".join(f"{j}:{x:.6f}" for j, x in enumerate(row)) for row in phi]

    def step() -> None:
        probabilities = workspace.predict(list(lines))
        shown = list(lines)
        shown[0] = f"0:-0.1:{max(probabilities[0], 1e-3)} " + shown[0]
        workspace.learn(shown)

    step()
    return step


def run() -> list[Table]:
    return [default(), default_policy(), simulation(), supports(), limits()]
