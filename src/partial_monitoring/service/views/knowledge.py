"""What a study knows: its summary, the status, the estimate, regret, and numbers for metrics."""

from __future__ import annotations

from typing import Any

import numpy as np

from partial_monitoring.errors import InvalidInput
from partial_monitoring.learner.alarms.watch import KINDS
from partial_monitoring.learner.base import LearnerBase
from partial_monitoring.learner.spec import Spec
from partial_monitoring.learner.status import confidence_of, status_of
from partial_monitoring.policies import policy_to_dict
from partial_monitoring.policies.on_device import on_host
from partial_monitoring.service.study.hosted import SETTINGS
from partial_monitoring.service.study.watched import watching
from partial_monitoring.service.views.alarming import active
from partial_monitoring.service.views.believed import Cost, Overview, Place, overview
from partial_monitoring.service.views.plainly import plain_row
from partial_monitoring.service.views.taken import remembered, taken
from partial_monitoring.service.views.theory import theory_of
from partial_monitoring.service.words import in_words

MOST_NAMED = 200
"""Largest number of actions, contexts or entries of theta that are listed."""


def summary(hosted: LearnerBase) -> dict[str, Any]:
    """Return what a study is and how it stands, without another decision."""
    own, known = taken(hosted), known_of(hosted)
    spec, session = own.spec, own.session
    stored = getattr(hosted, "settings", {})  # with what the service notes for itself
    return plain_row(
        {
            "name": getattr(hosted, "name", getattr(own.storage, "name", None)),
            "state": getattr(hosted, "state", "running"),
            "settings": {name: stored[name] for name in SETTINGS if name in stored},
            "created_at": getattr(hosted, "created_at", None),
            "version": session.seq,
            "game": described(spec),
            "policy": described_policy(spec),
            "seed": spec.seed,
            "window": spec.settings.get("window"),
            **theory_of(hosted).summary,
            "promise": promised(spec),
            "decisions": session.asked,
            "told": session.told,
            "open": len(session.open),
            "round": session.round,
            "best": known.best,
            "may_be_best": [row.label for row in known.beliefs if row.may_be_best][:MOST_NAMED],
            "at_risk": known.at_risk,
            "why": known.why,
            "alarms": [alarm["kind"] for alarm in active(hosted)],
        }
    )


def spec(hosted: LearnerBase) -> dict[str, Any]:
    """Return what plays, so that whoever reads the log can fold it: exact, as it is stored."""
    return taken(hosted).spec.to_dict()


def known_of(hosted: LearnerBase) -> Overview:
    """Return what is known after the last event, computed once for it."""
    own, watched = taken(hosted), watching(hosted)
    past = {} if watched is None else dict(watched.watch.past)
    seq = own.session.seq, sum(sums.plays for sums in past.values())  # the watch may be behind
    return remembered(hosted, "overview", seq, lambda: overview(own, past))


def described(spec: Spec) -> dict[str, Any]:
    """Return of which kind a game is, and what its actions, contexts and signals are called."""
    game: Any = spec.game
    traits = game.traits
    kinds = ("oracle", "contexts", "duels", "finite", "function")
    found: dict[str, Any] = {
        "kind": next((name for name in kinds if getattr(traits, name)), "linear"),
        "listed": traits.listed,
        "count": game.k,
        "dimension": game.d,
    }
    if traits.duels and traits.listed:
        found["items"] = list(game.items[:MOST_NAMED])
    elif traits.listed:
        found["actions"] = list(game.actions[:MOST_NAMED])
    if traits.contexts:
        found["contexts"] = list(game.contexts[:MOST_NAMED])
    elif traits.finite:
        found["outcomes"] = list(game.outcomes[:MOST_NAMED])
        found["signals"] = [list(map(str, own)) for own in _signals(game)]
    return found


def _signals(game: Any) -> list[Any]:
    """Return what each of the first actions can show."""
    shown = range(min(game.k, MOST_NAMED))
    return [dict.fromkeys(game.signal(a, x) for x in range(len(game.outcomes))) for a in shown]


def described_policy(spec: Spec) -> Any:
    """Return the policy as plain data; its name if it is one's own."""
    try:
        return policy_to_dict(on_host(spec.policy))
    except InvalidInput:
        return {"policy": type(spec.policy).__name__}


def promised(spec: Spec) -> dict[str, Any]:
    """Return whether what the policy claims is guaranteed, in words."""
    promise = spec.promise
    if promise is None:
        words = "the policy does not say what it promises"
        return {"guaranteed": False, "sentence": f"Practical, no bound holds: {words}."}
    if promise.certified:
        return {"guaranteed": True, "sentence": f"Guaranteed: {promise.words}."}
    words = promise.words.removeprefix("no bound is proven").lstrip("; ")
    rest = f": {words}" if words else ""
    return {"guaranteed": False, "sentence": f"Practical, no bound holds{rest}."}


def status(hosted: LearnerBase, context: Any = None) -> dict[str, Any]:
    """Return what each action earns, which may still be best, and where data and model clash.

    With contexts that of one of them, the first one unless it is given.
    """
    own = taken(hosted)
    where = own.context(context)
    known = {
        "version": own.session.seq,
        "context": _named(where.name),
        "promise": promised(own.spec),
    }
    try:
        with own.spec.patience:
            found = status_of(own.spec, own.session, where)
    except InvalidInput as error:
        return plain_row(known | {"round": own.session.round, "actions": [], "why": str(error)})
    rows = found.to_dict()
    table = rows.pop("table")
    noun = {"noun": found.table.noun, "more": found.table.more, "against": found.table.against}
    words = {"actions": table, "notes": found.table.notes}
    words |= {"sentences": [in_words(own) for own in found.sentences()]}
    words |= {"warnings": [in_words(own) for own in found.warnings]}
    return plain_row(rows | known | noun | words | {"why": ""})


def _named(name: Any) -> str | None:
    """Return the label of a context; one that is not listed has none."""
    return name if name is None or isinstance(name, str) else "unlisted"


def estimate(hosted: LearnerBase, context: Any = None) -> dict[str, Any]:
    """Return theta_hat and what each action is estimated to earn."""
    own = taken(hosted)
    spec, session = own.spec, own.session
    where, game = own.context(context), spec.game
    known: dict[str, Any] = {"version": session.seq, "round": session.round}
    known |= {"context": _named(where.name), "theta": None, "names": None, "beta": None}
    try:
        found = confidence_of(spec, session, where)
    except InvalidInput as error:
        return plain_row(known | {"actions": [], "why": str(error)})
    if found.center.shape[1] <= MOST_NAMED:
        known["theta"] = found.center[0]
        known["names"] = getattr(game, "outcomes", None)
    known["beta"] = float(found.beta[0])
    place = Place(where, session.counts.at(spec.logged(where)), found)
    return plain_row(known | {"actions": place.table().to_list(), "why": ""})


def regret(hosted: LearnerBase) -> dict[str, Any]:
    """Return what was lost by now: estimated, at most if the truth is in E_t, and by the theory.

    Plays are those that were observed since the last reset, without logged data.
    """
    known = known_of(hosted)
    own = taken(hosted)
    notes = [f"Of {known.cost.plays:,} plays that were observed since the last reset."]
    if known.cost.unknown:
        notes.append(f"{known.cost.unknown:,} more were in contexts or at points not kept.")
    if known.why:
        notes = [known.why]
    if not promised(own.spec)["guaranteed"]:
        notes.append("No bound is proven for this policy: the theory is that of IDS.")
    per = max(known.cost.plays, 1)
    found = costs(hosted, known.cost)
    return plain_row(
        {"version": own.session.seq, "plays": known.cost.plays, **found}
        | {"per_round": {name: None if x is None else x / per for name, x in found.items()}}
        | {"notes": notes}
    )


def costs(hosted: LearnerBase, cost: Cost) -> dict[str, float | None]:
    """Return the three numbers of the regret."""
    theoretical = theory_of(hosted).regret(cost.plays) if cost.estimate == cost.estimate else None
    found = {"estimate": cost.estimate, "at_most": cost.at_most, "theory": theoretical}
    return {name: x if x is not None and np.isfinite(x) else None for name, x in found.items()}


def gauges(hosted: LearnerBase) -> dict[str, Any]:
    """Return the numbers of a study for metrics: open decisions, risk, regret, alarms."""
    own, known = taken(hosted), known_of(hosted)
    return plain_row(
        {
            "version": own.session.seq,
            "decisions": own.session.asked,
            "told": own.session.told,
            "open": len(own.session.open),
            "plausible": sum(row.may_be_best for row in known.beliefs),
            "at_risk": known.at_risk,
            "regret_estimate": known.cost.estimate,
            "alarms": dict.fromkeys(KINDS, False) | {own["kind"]: True for own in active(hosted)},
        }
    )
