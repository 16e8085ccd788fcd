"""The analysis of a game with contexts: each context by itself, and all of them together.

What decides between two actions of one context may be observed in another: as a whole the game can
be learned if the differences of the actions that can be best, in every possible context, are
combinations of observations in possible contexts. It is easy if, wherever two actions of a
context compete, actions that are best there in possible contexts suffice for that.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from partial_monitoring.analysis.analysis import Analysis
from partial_monitoring.analysis.contextual import alignment as alignments
from partial_monitoring.analysis.contextual.alignment import ContextualAlignment, possible_contexts
from partial_monitoring.analysis.contextual.certificates import joint_certificates, joint_of
from partial_monitoring.analysis.contextual.faces import (
    FaceCertificate,
    FaceDivider,
    face_problems,
    well_formed,
)
from partial_monitoring.analysis.contextual.joint_game import JointCertificate, JointGame, same_game
from partial_monitoring.analysis.explain import html_lines, verification
from partial_monitoring.analysis.form import is_certificate, is_tuple
from partial_monitoring.analysis.verify import judge_of
from partial_monitoring.display import as_lines, number
from partial_monitoring.errors import InvalidInput, SolverError
from partial_monitoring.model.contextual import ContextualGame

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HEADLINES = {
    "trivial": "Trivial: in every context one action is always best, and nothing is to be learned.",
    "easy": "Easy: regret can be kept to the order of the square root of the number of rounds.",
    "learnable": (
        "Learnable: all that matters can be observed in contexts that come, so that regret can be "
        "kept to the order of n^(2/3) in n rounds, possibly lower."
    ),
    "hopeless": "Hopeless: regret may grow in proportion to the number of rounds.",
}
"""The first sentence about a game of each class."""


@dataclass(frozen=True, eq=False)
class ContextualAnalysis:
    """Facts about a game with contexts, with proofs."""

    game: ContextualGame
    contexts: tuple[Analysis, ...]
    """Every context by itself."""
    joint: JointGame
    """All actions of the possible contexts, as one plain game."""
    combinations: tuple[JointCertificate, ...]
    """For every possible context, the differences of its Pareto actions from the first one."""
    faces: dict[tuple[int, int, int], FaceCertificate]
    """By (context, a, b): whether all contexts together distinguish neighbours that their own
    context does not distinguish where they tie. The search stops at the first pair that cannot be
    distinguished."""
    certified: bool
    """Whether the class was decided and verified in exact arithmetic."""
    sound: bool
    """Whether every certificate was found to hold, exactly or within floating-point tolerances."""

    @property
    def possible(self) -> list[int]:
        """The possible contexts."""
        return possible_contexts(self.game)

    @property
    def silent(self) -> list[str]:
        """Contexts in which nothing about the parameter can be observed."""
        return [self.game.contexts[z] for z in self.possible if self.contexts[z].rank == 0]

    @cached_property
    def observable(self) -> bool:
        """Whether everything that matters in some context can be observed in a possible one."""
        return all(combination.seen for combination in self.combinations)

    @property
    def locally_observable(self) -> bool:
        """Whether alpha(E, chi) is bounded over all convex E: best actions show what matters.

        False also where that was left undecided, see :attr:`undecided`.
        """
        return self.observable and all(face.seen for face in self.faces.values())

    @property
    def undecided(self) -> list[tuple[int, int, int]]:
        """The (context, a, b) whose face has too many regions to consider."""
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
        """alpha(chi), or an upper bound of it; infinite if what matters cannot be observed."""
        return float(self.alignment_details)

    @cached_property
    def alignment_details(self) -> ContextualAlignment:
        """alpha(chi), and whether it is exact or an upper bound."""
        if not self.observable:
            return alignments.UNOBSERVABLE
        found = alignments.contextual_alignment(self.game, self._pareto)
        apart = sum(float(self.contexts[z].alignment) for z in self.possible)
        if found.exact or found <= apart:
            return found
        # The contexts alone give a bound as well, which is the better one here.
        return ContextualAlignment(apart, False, found.lower)

    @property
    def conditional_alignment(self) -> float:
        """The average of alpha(z) over the contexts."""
        chi = self.game.context_distribution
        return float(sum(chi[z] * self.contexts[z].alignment for z in self.possible))

    @cached_property
    def integrated_alignment(self) -> ContextualAlignment:
        """alpha-bar(chi), for gaps that are estimated over whole plans (E21)."""
        if not self.observable:
            return alignments.UNOBSERVABLE
        return alignments.integrated_alignment(self.game, self._pareto)

    @property
    def _pareto(self) -> list[list[int]]:
        return [own.representatives for own in self.contexts]

    def verify(self) -> bool:
        """Check every certificate again, independently of how it was found."""
        return not self.problems()

    def problems(self) -> list[str]:
        """Return one sentence for every certificate that does not hold."""
        games = [own.linear for own in self.game.games]
        if not is_tuple(self.contexts, Analysis) or len(self.contexts) != len(games):
            return ["the analyses of the contexts are not complete."]
        named = list(zip(self.game.contexts, self.contexts, games, strict=True))
        if not all(same_game(own.game, game) for _, own, game in named):
            return ["the analyses of the contexts are those of other games."]
        found = [f"context '{name}': {what}" for name, own, _ in named for what in own.problems()]
        return found or self._joint_problems(joint_of(self.game, self.contexts))

    def _joint_problems(self, joint: JointGame) -> list[str]:
        """Check the certificates of all contexts together, given those of every context."""
        if not self.joint.same(joint):
            return ["the joint game is another one."]
        found = list(self._combination_problems(joint)) or list(self._face_problems(joint))
        if self.certified and not found and (joint.exact is None or not self._decided):
            found.append("not everything was decided in exact arithmetic, but called certified.")
        return found

    def _combination_problems(self, joint: JointGame) -> Iterator[str]:
        """Check whether all contexts together reveal the differences of Pareto actions."""
        judge, exact = judge_of(joint.game, joint.exact), joint.exact is not None
        pareto = {z: self.contexts[z].pareto for z in self.possible}
        wanted = [(z, own[0], b) for z, own in pareto.items() for b in own[1:]]
        if not is_tuple(self.combinations, JointCertificate) or wanted != [
            (own.context, own.first, own.second) for own in self.combinations
        ]:
            yield "the combinations are not those of the Pareto actions."
            return
        everyone = tuple(range(joint.game.k))
        for (z, a, b), own in zip(wanted, self.combinations, strict=True):
            known = own.places == joint.places and is_certificate(joint.game, exact, own.reading)
            if (
                not known
                or own.reading.actions != everyone
                or not judge.accepts(own.reading, joint.index[z, a], joint.index[z, b])
            ):
                yield f"the combination of {(z, a, b)} does not hold."

    def _face_problems(self, joint: JointGame) -> Iterator[str]:
        """Check that the faces that contexts leave open are decided, with proofs."""
        wanted = set(self._open_pairs) if self.observable else set()
        if not isinstance(self.faces, dict) or not set(self.faces) <= wanted:
            yield "the faces are not those that contexts leave open by themselves."
            return
        divider, index = self._divider(), joint.index
        malformed = False
        for (z, a, b), face in self.faces.items():
            if not isinstance(face, FaceCertificate) or not well_formed(divider, face):
                malformed = True
                yield f"the face of {(z, a, b)} is malformed."
            elif face.pair != (index[z, a], index[z, b]):
                malformed = True
                yield f"the face of {(z, a, b)} is that of other actions."
        if malformed:
            return
        faces = self.faces.values()
        if wanted != set(self.faces) and not any(face.refuted for face in faces):
            yield "the faces are not those that contexts leave open by themselves."
        for face in faces:
            yield from face_problems(divider, face, faces)

    @property
    def _decided(self) -> bool:
        """Whether the class follows from what was decided in the arithmetic of the game."""
        faces = self.faces.values()
        decided = any(face.refuted for face in faces) or all(face.finished for face in faces)
        return (
            decided
            and all(face.certain for face in faces)
            and all(own.certified for own in self.contexts)
        )

    @property
    def _open_pairs(self) -> list[tuple[int, int, int]]:
        """(context, a, b) of neighbours that a context alone does not distinguish at a tie."""
        return [
            (z, *pair)
            for z in self.possible
            for pair in self.contexts[z].neighboring_cells
            if not self.contexts[z].local_readings[pair].seen
        ]

    def _divider(self) -> FaceDivider:
        return FaceDivider(self.joint, {z: self.contexts[z].representatives for z in self.possible})

    def explain(self) -> str:
        """Say in plain sentences what kind of game this is and why."""
        return _sentences(self)

    def plot(self, context: int | str | None = None, ax: Any = None) -> Figure:
        """Draw every possible context by itself, or a single one, into axes if there are any."""
        from partial_monitoring.analysis import pictures

        if context is not None:
            return pictures.plot(self.contexts[self.game.context_index(context)], ax)
        if ax is not None:
            raise InvalidInput("axes hold the picture of one context; say which one by context=.")
        names = [self.game.contexts[z] for z in self.possible]
        title = f"{self.category.capitalize()} as a whole; each context by itself:"
        return pictures.plot_contexts([self.contexts[z] for z in self.possible], names, title)

    def to_dict(self) -> dict[str, Any]:
        """Return the facts as plain data."""
        try:
            alignment = self.alignment if np.isfinite(self.alignment) else None
        except SolverError:
            alignment = None
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

    def _repr_html_(self) -> str:
        return html_lines(self.explain())


def analyze_contexts(game: ContextualGame) -> ContextualAnalysis:
    """Analyse every context by itself, and all of them together."""
    analyses, joint, combinations = joint_certificates(game)
    draft = ContextualAnalysis(game, analyses, joint, combinations, {}, False, False)
    if draft.observable:
        draft = replace(draft, faces=_divided_faces(draft))
    sound = all(own.sound for own in analyses) and not draft._joint_problems(joint)
    certified = sound and joint.exact is not None and draft._decided
    return replace(draft, certified=certified, sound=sound)


def _divided_faces(analysis: ContextualAnalysis) -> dict[tuple[int, int, int], FaceCertificate]:
    """Divide faces into regions, up to the first pair that is not distinguished."""
    divider, faces = analysis._divider(), {}
    for z, a, b in analysis._open_pairs:
        witness = analysis.contexts[z].cells.faces[a, b].witness
        assert witness is not None
        index = analysis.joint.index
        faces[z, a, b] = divider.certify((index[z, a], index[z, b]), witness)
        if faces[z, a, b].refuted:
            break
    return faces


def _sentences(analysis: ContextualAnalysis) -> str:
    """Return the explanation of a game with contexts, one sentence per line."""
    lines = [HEADLINES[analysis.category]]
    for z in analysis.possible:
        name = analysis.game.contexts[z]
        chance = number(float(analysis.game.context_distribution[z]))
        lines.append(f"'{name}' (probability {chance}) {_by_itself(analysis, z)}.")
    undecided = (
        "Decided in floating point (the data are not rational, the parameter set is curved, or the "
        "game is too large)."
    )
    problems = [] if analysis.sound else analysis.problems()
    proof = verification(analysis.certified, problems, undecided)
    return as_lines([*lines, *_reason(analysis), proof])


def _by_itself(analysis: ContextualAnalysis, z: int) -> str:
    """Return what a context is without the others, and whether they help."""
    own = analysis.contexts[z]
    shows = "shows nothing and " if own.rank == 0 else ""
    alone = f"{shows}is {own.category} by itself"
    needs = [one for one in analysis.combinations if one.context == z]
    helped = own.category == "hopeless" and all(one.seen for one in needs)
    return f"{alone}, but what it needs to know is shown in other contexts" if helped else alone


def _reason(analysis: ContextualAnalysis) -> list[str]:
    """Return sentences on what decides the class."""
    lines = []
    for one in analysis.combinations:
        if not one.seen:
            where = _pair(analysis, one.context, one.first, one.second)
            lines.append(f"{where} cannot be told apart by anything that any context shows.")
    if analysis.category == "easy" and analysis.faces:
        lines.append(
            "Wherever two actions of a context compete for being best, the best actions of all "
            "contexts together show which is better."
        )
    unseen = [place for place, face in analysis.faces.items() if face.refuted]
    if unseen:
        lines.append(
            f"{_pair(analysis, *unseen[0])} can tie where the best actions of all contexts "
            f"together do not show which of the two is better."
        )
    elif analysis.undecided:
        where = _pair(analysis, *analysis.undecided[0])
        lines.append(f"{where} tie in too many ways to consider: it may be easier than said here.")
    return lines


def _pair(analysis: ContextualAnalysis, z: int, a: int, b: int) -> str:
    own = analysis.game.at(z)
    return f"In '{analysis.game.contexts[z]}' '{own.actions[a]}' and '{own.actions[b]}'"
