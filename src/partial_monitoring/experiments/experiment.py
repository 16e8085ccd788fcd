"""An experiment: games and their true parameters, policies, a horizon and seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from partial_monitoring import games as game_registry
from partial_monitoring.errors import InvalidInput, UnknownName, entry, unknown_name
from partial_monitoring.experiments import runner
from partial_monitoring.experiments.runs import Plan, Setting
from partial_monitoring.experiments.store import Store
from partial_monitoring.experiments.workers import ENGINES, worker_count
from partial_monitoring.model.any_game import AnyGame
from partial_monitoring.model.feedback import NOISE, NoiseFunction
from partial_monitoring.policies import DEFAULT
from partial_monitoring.policies.needs import initial_state_of
from partial_monitoring.policies.policy import Policy
from partial_monitoring.simulation.delayed import Delays, Late
from partial_monitoring.simulation.environment import Environment
from partial_monitoring.simulation.progress import Progress
from partial_monitoring.simulation.simulate import (
    MOST_ROUNDS,
    Policies,
    by_name,
    checkpoint_rounds,
    named_policies,
    seed_numbers,
)
from partial_monitoring.simulation.truths import Truth, is_table, read_truth
from partial_monitoring.validation import (
    Array,
    Indices,
    boolean,
    brief,
    file_name,
    frozen,
    labels,
    set_fields,
    whole_number,
)

if TYPE_CHECKING:
    import pyarrow

    from partial_monitoring.simulation.comparison import Comparison

Games = str | AnyGame | Sequence[str | AnyGame] | Mapping[str, str | AnyGame]


@dataclass(frozen=True, init=False, eq=False)
class Experiment(Plan):
    """Policies compared on games.

    Parameters
    ----------
    games
        A game, a name of ``pm.games``, a list of them, or a dict from names of your own to games.
    policies
        A policy, a name, a list of them, or a dict from names of your own to policies;
        ``pm.Calibrated()`` unless given.
    theta
        The true parameters: one parameter, "random" (one per seed), "worst" (one on which the first
        policy has large regret), ``{"among": parameters, "weights": probabilities}``, or for kernel
        games a function or the name of one of ``pm.functions``; or a world that changes, of
        ``pm.truths``. For several games a dict from their names to one of these, or to a dict of
        several with names of their own.
    horizon, seeds, checkpoints, noise, probe, delay, batch, pending
        As for :func:`partial_monitoring.simulate`.
    fewer_seeds
        How many of the seeds, the first ones, policies that take long play, by name.
    name
        The name of the experiment.

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> experiment = pm.Experiment("apple_tasting", ["calibrated", "cbp"], horizon=20, seeds=3)
    >>> experiment.run().column_names
    ['game', 'theta', 'policy', 'seed', 'round', 'regret', 'information', 'ratio']
    """

    def __init__(
        self,
        games: Games,
        policies: Policies = DEFAULT,
        theta: ArrayLike | str | Callable[[Array], Any] | Mapping[str, Any] = "random",
        *,
        horizon: int,
        seeds: int | Iterable[int] = 20,
        checkpoints: ArrayLike | None = None,
        noise: str | NoiseFunction | None = None,
        probe: float = 0.0,
        delay: Delays = 0,
        batch: int = 1,
        pending: str = "expected",
        fewer_seeds: Mapping[str, int] | None = None,
        name: str = "experiment",
    ) -> None:
        rounds = whole_number("horizon", horizon, at_least=1, at_most=MOST_ROUNDS)
        chosen = named_policies(policies, probe)
        numbers = seed_numbers(seeds)
        known, late = named_games(games), Late.read(delay, batch, pending)
        settings = tuple(
            _setting(game_name, game, truth_name, truth, chosen, numbers, noise, rounds)
            for game_name, game in known.items()
            for truth_name, truth in _truths(theta, game_name, game, list(known)).items()
        )
        _refuse_idle_policies(settings, chosen)
        set_fields(
            self,
            name=file_name("name", name),
            settings=settings,
            policies=chosen,
            seeds=frozen(numbers),
            checkpoints=frozen(checkpoint_rounds(checkpoints, rounds)),
            noise=noise,
            fewer=_fewer({} if fewer_seeds is None else fewer_seeds, chosen),
            late=late,
        )

    def run(
        self,
        store: str | Path | None = None,
        *,
        engine: str = "here",
        workers: int | None = None,
        scheduler: str | None = None,
        security: Any = None,
        progress: bool = False,
    ) -> pyarrow.Table:
        """Play what is missing and return everything as an Arrow table.

        One row per game, true parameter, policy, seed and checkpoint; ``.to_pandas()`` makes it a
        data frame. The parameters are those of :meth:`compare`.
        """
        return runner.arrow_table(
            self.compare(
                store,
                engine=engine,
                workers=workers,
                scheduler=scheduler,
                security=security,
                progress=progress,
            )
        )

    def compare(
        self,
        store: str | Path | None = None,
        *,
        engine: str = "here",
        workers: int | None = None,
        scheduler: str | None = None,
        security: Any = None,
        progress: bool = False,
    ) -> list[Comparison]:
        """Play what is missing and return one comparison per game and true parameter.

        Parameters
        ----------
        store
            A folder that keeps finished runs; stored runs are not played again.
        engine
            "here", "processes" (of this machine) or "dask". The numbers are the same on all.
        workers
            Number of processes; by default the number of cores.
        scheduler
            The address of a Dask scheduler; without one a cluster is started on this machine.
        security
            A ``distributed.Security`` for a scheduler that is reached over TLS ("tls://...").
        progress
            Show progress on standard error.
        """
        entry("engine", engine, ENGINES)
        if scheduler is not None and engine != "dask":
            raise InvalidInput(f"scheduler is for the engine 'dask'; got it with {brief(engine)}.")
        if scheduler is not None and not isinstance(scheduler, str):
            raise InvalidInput(f"scheduler must be an address; got {brief(scheduler)}.")
        if security is not None and scheduler is None:
            raise InvalidInput(f"security is for a scheduler; got {brief(security)} without one.")
        if workers is None:
            workers = worker_count(scheduler, security)
        count = whole_number("workers", workers, at_least=1)
        with ExitStack() as stack:
            folder = store if store is not None else stack.enter_context(TemporaryDirectory())
            shown = stack.enter_context(Progress(visible=boolean("progress", progress)))
            kept = Store(folder, warn=shown.say)
            kept.tidy()
            cells = runner.planned(self, kept)
            if store is not None:
                runner.note(self, kept, cells)
            tasks = runner.missing(self, cells, kept, shown, 1 if engine == "here" else count)
            where = {"workers": count, "scheduler": scheduler, "security": security}
            for task, part in ENGINES[engine](list(tasks), **where):
                kept.add(task.configuration, part)
                shown.advance(tasks[task], len(part.seeds))
            return [runner.comparison_of(self, setting, cells, kept) for setting in self.settings]


def _fewer(given: Any, policies: Mapping[str, Any]) -> dict[str, int]:
    """Return how many seeds some policies play."""
    if not isinstance(given, Mapping):
        raise InvalidInput(f"fewer_seeds must be a dict by policy; got {brief(given)}.")
    for name in given:
        entry("policy of the experiment", name, policies)
    return {name: whole_number("fewer_seeds", n, at_least=1) for name, n in given.items()}


def named_games(games: Games) -> dict[str, AnyGame]:
    """Return games by name; unnamed ones are called "game", or "game 1", "game 2", ..."""
    several = isinstance(games, Sequence) and len(games) > 1

    def name(place: int, game: Any) -> str:
        return game if isinstance(game, str) else f"game {place + 1}" if several else "game"

    return by_name("games", games, game_registry.named, name)


def _truths(theta: Any, game_name: str, game: AnyGame, names: Sequence[str]) -> dict[str, Truth]:
    """Return the truths of one game by name."""
    if isinstance(theta, Mapping) and set(theta) <= set(names):
        if game_name not in theta:
            raise InvalidInput(
                f"theta must give the true parameters of every game; {brief(game_name)} is missing."
            )
        theta = theta[game_name]
        if isinstance(theta, Mapping) and not is_table(theta):
            if not theta:
                raise InvalidInput(f"theta of {brief(game_name)} must hold at least one; got none.")
            given = labels("theta", [*theta], len(theta))
            truths = [read_truth(value, game) for value in theta.values()]
            return dict(zip(given, truths, strict=True))
    elif isinstance(theta, Mapping) and not is_table(theta):
        unknown = next(name for name in theta if name not in names)
        raise unknown_name("game of the experiment", unknown, names)
    truth = read_truth(theta, game)
    return {truth.name: truth}


def _setting(
    game_name: str,
    game: AnyGame,
    truth_name: str,
    truth: Truth,
    policies: Mapping[str, Policy[Any]],
    seeds: Indices,
    noise: str | NoiseFunction | None,
    horizon: int,
) -> Setting:
    """Determine which policies play a game; invalid true parameters are refused."""
    if isinstance(noise, str) and noise not in NOISE:
        raise unknown_name("noise", noise, NOISE)
    try:
        truth = truth.prepared(game, horizon)
        if not truth.searched:
            possible = truth.possible(game, seeds)
            Environment(game, possible, np.arange(len(possible)), noise)
    except InvalidInput as error:
        raise InvalidInput(f"game {brief(game_name)}: {error}") from None
    refused = {}
    for name, policy in policies.items():
        try:
            initial_state_of(policy, game, 1)
        except UnknownName:
            raise
        except InvalidInput as error:
            refused[name] = str(error)
    players = {name: policy for name, policy in policies.items() if name not in refused}
    return Setting(game_name, game, truth_name, truth, players, refused)


def _refuse_idle_policies(settings: Sequence[Setting], policies: Mapping[str, Policy[Any]]) -> None:
    """Refuse policies that play none of the games, and games that no policy plays."""
    for name in policies:
        if not any(name in setting.players for setting in settings):
            reason = settings[0].refused[name]
            raise InvalidInput(f"policy {brief(name)} plays none of the games: {reason}")
    for setting in settings:
        if not setting.players:
            raise InvalidInput(f"none of the policies plays the game {brief(setting.game_name)}.")
