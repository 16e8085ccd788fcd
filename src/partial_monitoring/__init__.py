"""Decisions whose reward is not what you observe.

``import partial_monitoring as pm`` gives the names below; each module is loaded when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from partial_monitoring import candidates as candidates
    from partial_monitoring import errors as errors
    from partial_monitoring import functions as functions
    from partial_monitoring import games as games
    from partial_monitoring import kernels as kernels
    from partial_monitoring import readings as readings
    from partial_monitoring import testing as testing
    from partial_monitoring.baselines.cbp import CBP as CBP
    from partial_monitoring.baselines.cbp import RandCBP as RandCBP
    from partial_monitoring.baselines.gaussian_process import GPUCB as GPUCB
    from partial_monitoring.baselines.gaussian_process import (
        ExpectedImprovement as ExpectedImprovement,
    )
    from partial_monitoring.baselines.greedy import EpsilonGreedy as EpsilonGreedy
    from partial_monitoring.baselines.greedy import Greedy as Greedy
    from partial_monitoring.baselines.greedy import SquareCB as SquareCB
    from partial_monitoring.baselines.optimism import LinTS as LinTS
    from partial_monitoring.baselines.optimism import LinUCB as LinUCB
    from partial_monitoring.baselines.thompson import GPTS as GPTS
    from partial_monitoring.baselines.thompson import DuelingTS as DuelingTS
    from partial_monitoring.comparison import Comparison as Comparison
    from partial_monitoring.contextual_game import ContextualGame as ContextualGame
    from partial_monitoring.dueling_game import DuelingGame as DuelingGame
    from partial_monitoring.estimation import confidence as confidence
    from partial_monitoring.estimation.marginal_likelihood import fit_kernel as fit_kernel
    from partial_monitoring.estimation.marginal_likelihood import (
        log_marginal_likelihood as log_marginal_likelihood,
    )
    from partial_monitoring.experiments.experiment import Experiment as Experiment
    from partial_monitoring.experiments.files import load_experiment as load_experiment
    from partial_monitoring.finite_game import FiniteGame as FiniteGame
    from partial_monitoring.game import Game as Game
    from partial_monitoring.game_files import load_game as load_game
    from partial_monitoring.game_files import save_game as save_game
    from partial_monitoring.ids import gaps as gaps
    from partial_monitoring.ids import information as information
    from partial_monitoring.ids import sampling as sampling
    from partial_monitoring.ids.dueling import DuelingIDS as DuelingIDS
    from partial_monitoring.ids.joint_policy import ContextualIDS as ContextualIDS
    from partial_monitoring.ids.policy import IDS as IDS
    from partial_monitoring.instance import ContextualInstance as ContextualInstance
    from partial_monitoring.instance import Instance as Instance
    from partial_monitoring.kernel_box_game import KernelBoxGame as KernelBoxGame
    from partial_monitoring.kernel_dueling_game import KernelDuelingGame as KernelDuelingGame
    from partial_monitoring.kernel_game import KernelGame as KernelGame
    from partial_monitoring.learner import Learner as Learner
    from partial_monitoring.observability.advice import Advice as Advice
    from partial_monitoring.observability.advice import Measurement as Measurement
    from partial_monitoring.observability.advice import advise as advise
    from partial_monitoring.observability.bounds import Bounds as Bounds
    from partial_monitoring.observability.bounds import bounds as bounds
    from partial_monitoring.observability.bounds import (
        finite_alignment_bounds as finite_alignment_bounds,
    )
    from partial_monitoring.observability.bounds import regret_bound as regret_bound
    from partial_monitoring.observability.classify import Analysis as Analysis
    from partial_monitoring.observability.classify import analyze as analyze
    from partial_monitoring.observability.contexts import ContextualAnalysis as ContextualAnalysis
    from partial_monitoring.observability.contextual_bounds import (
        ContextualBounds as ContextualBounds,
    )
    from partial_monitoring.observability.contextual_bounds import (
        contextual_bounds as contextual_bounds,
    )
    from partial_monitoring.observability.regions import alignment as alignment
    from partial_monitoring.observability.regions import local_alignment as local_alignment
    from partial_monitoring.observability.table_1 import table_1 as table_1
    from partial_monitoring.parameter_sets import AllParameters as AllParameters
    from partial_monitoring.parameter_sets import Ball as Ball
    from partial_monitoring.parameter_sets import Box as Box
    from partial_monitoring.parameter_sets import ParameterSet as ParameterSet
    from partial_monitoring.parameter_sets import Polytope as Polytope
    from partial_monitoring.parameter_sets import Simplex as Simplex
    from partial_monitoring.policy import Decision as Decision
    from partial_monitoring.refitting import Refitted as Refitted
    from partial_monitoring.report.folder import write_report as write_report
    from partial_monitoring.result import Result as Result
    from partial_monitoring.simulation import simulate as simulate
    from partial_monitoring.tables import from_csv as from_csv
    from partial_monitoring.tables import from_table as from_table

_HOMES = {
    "baselines.cbp": ("CBP", "RandCBP"),
    "baselines.gaussian_process": ("ExpectedImprovement", "GPUCB"),
    "baselines.greedy": ("EpsilonGreedy", "Greedy", "SquareCB"),
    "baselines.optimism": ("LinTS", "LinUCB"),
    "baselines.thompson": ("DuelingTS", "GPTS"),
    "comparison": ("Comparison",),
    "contextual_game": ("ContextualGame",),
    "dueling_game": ("DuelingGame",),
    "kernel_box_game": ("KernelBoxGame",),
    "kernel_dueling_game": ("KernelDuelingGame",),
    "kernel_game": ("KernelGame",),
    "experiments.experiment": ("Experiment",),
    "experiments.files": ("load_experiment",),
    "estimation.marginal_likelihood": ("fit_kernel", "log_marginal_likelihood"),
    "finite_game": ("FiniteGame",),
    "game": ("Game",),
    "game_files": ("load_game", "save_game"),
    "ids.dueling": ("DuelingIDS",),
    "ids.joint_policy": ("ContextualIDS",),
    "ids.policy": ("IDS",),
    "instance": ("ContextualInstance", "Instance"),
    "learner": ("Learner",),
    "observability.advice": ("Advice", "Measurement", "advise"),
    "observability.bounds": (
        "Bounds",
        "bounds",
        "finite_alignment_bounds",
        "regret_bound",
    ),
    "observability.classify": ("Analysis", "analyze"),
    "observability.contexts": ("ContextualAnalysis",),
    "observability.contextual_bounds": ("ContextualBounds", "contextual_bounds"),
    "observability.regions": ("alignment", "local_alignment"),
    "observability.table_1": ("table_1",),
    "parameter_sets": ("AllParameters", "Ball", "Box", "ParameterSet", "Polytope", "Simplex"),
    "policy": ("Decision",),
    "refitting": ("Refitted",),
    "report.folder": ("write_report",),
    "result": ("Result",),
    "simulation": ("simulate",),
    "tables": ("from_csv", "from_table"),
}
_MODULES = {
    "candidates": "candidates",
    "confidence": "estimation.confidence",
    "errors": "errors",
    "functions": "functions",
    "games": "games",
    "gaps": "ids.gaps",
    "information": "ids.information",
    "kernels": "kernels",
    "readings": "readings",
    "sampling": "ids.sampling",
    "testing": "testing",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = ["__version__", *_MODULES, *_HOME_OF]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"partial_monitoring.{_MODULES[name]}")
    if name in _HOME_OF:
        value = getattr(import_module(f"partial_monitoring.{_HOME_OF[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'partial_monitoring' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
