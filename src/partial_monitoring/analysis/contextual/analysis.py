"""What kind of game a game with contexts is: each context by itself, and all of them together.

What decides between two actions of one context may be observed in another: as a whole the game can
be learned if the differences of the actions that can be best, in every context that may come, are
combinations of what is shown in contexts that may come. It is easy if, wherever two actions of a
context compete, actions that are best there in contexts that may come are enough for that.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from partial_monitoring.analysis import context_words
from partial_monitoring.analysis.classify import Analysis, Pair, analyze
from partial_monitoring.analysis.contextual import face_proofs
from partial_monitoring.analysis.contextual.alignment import (
    contextual_alignment,
    integrated_alignment,
    possible_contexts,
)
from partial_monitoring.analysis.contextual.choices import UNSEEN, ContextualAlignment
from partial_monitoring.analysis.contextual.face_regions import FaceReader, FaceReading
from partial_monitoring.analysis.contextual.joint_game import Combination, JointGame, joint_game
from partial_monitoring.analysis.observability import view
from partial_monitoring.analysis.verify import judge_of
from partial_monitoring.errors import SolverError
from partial_monitoring.model.contextual import ContextualGame


@dataclass(frozen=True, eq=False)
class ContextualAnalysis:
    """Facts about a game with contexts, with proofs."""

    game: ContextualGame
    contexts: tuple[Analysis, ...]
    """Every context by itself."""
    joint: JointGame
    """All actions of the contexts that may come, as one plain game."""
    combinations: tuple[Combination, ...]
    """For every context that may come, the differences of its Pareto actions from the first one."""
    faces: dict[tuple[int, int, int], FaceReading]
    """By (context, a, b): what all contexts say about neighbours that their own does not tell
    apart where they tie. The first ones that are not told apart decide, and are the last ones."""
    certified: bool
    """Whether the class was decided and verified in exact arithmetic."""
    sound: bool
    """Whether every certificate was found to hold, exactly or within floating-point tolerances."""

    @property
    def possible(self) -> list[int]:
        """The contexts that may come."""
        return possible_contexts(self.game)

    @property
    def silent(self) -> list[str]:
        """Contexts in which nothing about the parameter is shown."""
        return [self.game.contexts[z] for z in self.possible if self.contexts[z].rank == 0]

    @cached_property
    def observable(self) -> bool:
        """Whether everything that matters in some context can be observed in one that may come."""
        return all(combination.seen for combination in self.combinations)

    @property
    def locally_observable(self) -> bool:
        """Whether alpha(E, chi) is bounded over all convex E: what is best tells what matters.

        False also where that was left open, see :attr:`undecided`.
        """
        return self.observable and all(face.seen for face in self.faces.values())

    @property
    def undecided(self) -> list[tuple[int, int, int]]:
        """The (context, a, b) whose face falls into too many regions to look at."""
        return [place for place, face in self.faces.items() if not face.finished]

    @property
    def category(self) -> str:
        """The class: "trivial", "easy", "learnable" or "hopeless".

        "trivial" if every context is, "easy" if the game as a whole is locally observable,
        "learnable" if it is not, or if that is not known.
        """
        if all(self.contexts[z].category == "trivial" for z in self.possible):
            return "trivial"
        if not self.observable:
            return "hopeless"
        return "easy" if self.locally_observable else "learnable"

    @property
    def alignment(self) -> float:
        """alpha(chi), or an upper bound of it; infinite if what matters is shown nowhere."""
        return float(self.alignment_details)

    @cached_property
    def alignment_details(self) -> ContextualAlignment:
        """alpha(chi), and whether it is exact or an upper bound."""
        if not self.observable:
            return UNSEEN
        found = contextual_alignment(self.game, self._pareto)
        apart = sum(float(self.contexts[z].alignment) for z in self.possible)
        # The contexts by themselves give a bound, too, which may be the better one.
        return (
            found
            if found.exact or found <= apart
            else ContextualAlignment(apart, False, found.lower)
        )

    @property
    def conditional_alignment(self) -> float:
        """The average of alpha(z) over the contexts."""
        chi = self.game.context_distribution
        return float(sum(chi[z] * self.contexts[z].alignment for z in self.possible))

    @cached_property
    def integrated_alignment(self) -> ContextualAlignment:
        """alpha-bar(chi), for gaps that are estimated over whole plans (E21)."""
        return integrated_alignment(self.game, self._pareto) if self.observable else UNSEEN

    @property
    def _pareto(self) -> list[list[int]]:
        return [own.representatives for own in self.contexts]

    def verify(self) -> bool:
        """Check every certificate again, independently of how it was found."""
        return not self.problems()

    def problems(self) -> list[str]:
        """Return what is wrong with the certificates, a sentence each; nothing if all hold."""
        own = [
            f"context '{name}': {problem}"
            for name, analysis in zip(self.game.contexts, self.contexts, strict=True)
            for problem in analysis.problems()
        ]
        return own + list(self._joint_problems())

    def _joint_problems(self) -> Iterator[str]:
        """Check what contexts tell each other; every context by itself is taken for granted."""
        judge = judge_of(self.joint.game, self.joint.exact)
        wanted = [(z, b) for z in self.possible for b in self.contexts[z].pareto[1:]]
        if wanted != [(own.context, own.second) for own in self.combinations]:
            yield "the combinations are not those of the Pareto actions."
        everyone = tuple(range(self.joint.game.k))
        for own in self.combinations:
            first = self.contexts[own.context].pareto[0]
            pair = [self.joint.index[own.context, a] for a in (own.first, own.second)]
            if (
                own.first != first
                or own.reading.actions != everyone
                or not judge.reads(own.reading, *pair)
            ):
                yield f"the combination of {(own.context, own.first, own.second)} does not hold."
        if not self.observable:
            return
        wanted_faces = {(z, *pair) for z in self.possible for pair in open_pairs(self, z)}
        decided = any(face.finished and not face.seen for face in self.faces.values())
        if not decided and set(self.faces) != wanted_faces:
            yield "the faces are not those that contexts do not read by themselves."
        reader = _reader(self.joint, self.contexts, self.possible)
        for (z, a, b), face in self.faces.items():
            if face.pair != (self.joint.index[z, a], self.joint.index[z, b]):
                yield f"the face of {(z, a, b)} is that of other actions."
            yield from face_proofs.problems(reader, face)

    def explain(self) -> str:
        """Say in a few sentences what kind of game it is, and why."""
        return context_words.explain(self)

    def _alignment_or_none(self) -> float | None:
        try:
            return float(self.alignment) if np.isfinite(self.alignment) else None
        except SolverError:
            return None

    def to_dict(self) -> dict[str, Any]:
        """Return the facts as plain data."""
        alignment = self._alignment_or_none()
        return {
            "category": self.category,
            "observable": self.observable,
            "locally_observable": self.locally_observable,
            "alignment": alignment,
            "alignment_exact": alignment is not None and self.alignment_details.exact,
            "silent": self.silent,
            "certified": self.certified,
            "contexts": {
                name: analysis.to_dict()
                for name, analysis in zip(self.game.contexts, self.contexts, strict=True)
            },
        }

    def __repr__(self) -> str:
        proof = "certified" if self.certified else "in floating point"
        return f"ContextualAnalysis({self.category}, {len(self.contexts)} contexts, {proof})"

    def __str__(self) -> str:
        return self.explain()


def analyze_contexts(game: ContextualGame) -> ContextualAnalysis:
    """Analyse every context by itself, and what they can tell each other."""
    analyses, joint, combinations = read_combinations(game)
    possible = possible_contexts(game)
    draft = ContextualAnalysis(game, analyses, joint, combinations, {}, False, False)
    faces = {}
    if draft.observable:
        reader = _reader(joint, analyses, possible)
        asked = [(z, *pair) for z in possible for pair in open_pairs(draft, z)]
        for z, a, b in asked:
            witness = analyses[z].cells.faces[a, b].witness
            assert witness is not None
            face = reader.read((joint.index[z, a], joint.index[z, b]), witness)
            faces[z, a, b] = face
            if face.finished and not face.seen:
                break
    draft = ContextualAnalysis(game, analyses, joint, combinations, faces, False, False)
    sound = all(own.sound for own in analyses) and not list(draft._joint_problems())
    certain = joint.exact is not None and all(own.certified for own in analyses)
    certain = certain and all(face.certain for face in faces.values())
    left_open = not any(face.finished and not face.seen for face in faces.values()) and any(
        not face.finished for face in faces.values()
    )
    certified = sound and certain and not left_open
    return ContextualAnalysis(game, analyses, joint, combinations, faces, certified, sound)


def read_combinations(
    game: ContextualGame,
) -> tuple[tuple[Analysis, ...], JointGame, tuple[Combination, ...]]:
    """Return the contexts by themselves, all together, and how what matters is observed."""
    analyses = tuple(analyze(own) for own in game.games)
    joint, possible = joint_game(game), possible_contexts(game)
    if not all(analyses[z].cells.exact for z in possible):
        joint = replace(joint, exact=None)  # proofs are either exact throughout or not at all
    whole = view(joint.game, joint.exact, range(joint.game.k))
    found = []
    for z in possible:
        first, *others = analyses[z].pareto
        for b in others:
            reading = whole.read(joint.index[z, first], joint.index[z, b])
            found.append(Combination(z, first, b, joint.places, reading))
    return analyses, joint, tuple(found)


def open_pairs(analysis: ContextualAnalysis, context: int) -> list[Pair]:
    """Return the neighbours that a context by itself does not tell apart where they tie."""
    own = analysis.contexts[context]
    kept = set(own.representatives)
    return [
        pair
        for pair, reading in own.local_readings.items()
        if not reading.seen and set(pair) <= kept
    ]


def _reader(joint: JointGame, analyses: tuple[Analysis, ...], possible: list[int]) -> FaceReader:
    return FaceReader(joint, {z: analyses[z].representatives for z in possible})
