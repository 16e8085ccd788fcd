"""Open decisions are counted by context and action, few of them or many."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.learner.waiting import FEW, OpenDecisions, Waiting

PHI = np.random.default_rng(0).normal(size=(3, 2))
EVERYWHERE = pm.AllParameters(2)
CONTEXTS = pm.ContextualGame([pm.Game(PHI, PHI[:, None], EVERYWHERE)] * 2)


def unlisted(number: int) -> pm.Game:
    return pm.Game(PHI + number, PHI[:, None] + number, EVERYWHERE)


def contexts(kind: str) -> list[Any]:
    if kind == "none":
        return [pm.games.dynamic_pricing().context()]
    found = [CONTEXTS.context(z) for z in (0, 1)]
    return found if kind == "listed" else [*found, *(CONTEXTS.context(unlisted(i)) for i in (1, 2))]


@pytest.mark.parametrize("kind", ["none", "listed", "some unlisted"])
@pytest.mark.parametrize("most", [1, FEW, FEW + 1, 40])
def test_pending_decisions_are_those_that_are_open(kind: str, most: int) -> None:
    rng, every, own = np.random.default_rng(most), contexts(kind), OpenDecisions()
    plain: dict[str, Waiting] = {}
    for t in range(200):
        if len(plain) < most and rng.random() < 0.6:
            given = every[rng.integers(len(every))]
            waiting = Waiting({"decision": f"own-{t}"}, given, int(rng.integers(3)))
            plain[f"own-{t}"], before = waiting, own
            own = own.with_item(f"own-{t}", waiting)
            assert len(before) == len(own) - 1
        elif plain:
            name = str(rng.choice(list(plain)))
            taken, own = own.taken(name)
            assert taken is plain.pop(name)
        assert dict(own.items()) == plain
        assert bool(own) == bool(plain)
        expected = Counter(
            (id_of(x.context.given), x.context.outer(x.action)) for x in plain.values()
        )
        found = {
            (id_of(given), action): count
            for given, pending in own.pending()
            for action, count in zip(
                pending.action.tolist(), pending.often[0].tolist(), strict=True
            )
        }
        assert found == expected


def id_of(given: Any) -> Any:
    return given.features.tobytes() if isinstance(given, pm.Game) else repr(given)
