"""Every kind of game has its page: before the first decision, and after some."""

import json

import numpy as np
import pytest

from tests.service.page_site import api, request
from tests.service.studies import KINDS, learner_of, seen

PATHS = ("", "?live=1", "?show=open", "/chart", "/change", "/history", "/decisions/0")


QUICK = ("finite, window", "contexts without a set", "features when asked", "duels", "oracle")
"""The rest is nightly."""


@pytest.mark.parametrize(
    "kind",
    [own if own in QUICK else pytest.param(own, marks=pytest.mark.nightly) for own in KINDS],
)
def test_every_kind_of_game_has_its_page(page_service, kind):
    service, rng = page_service, np.random.default_rng(0)
    name = kind.replace(",", "").replace(" ", "-")
    service.database.study(name, learner_of(kind)._spec.to_dict())
    assert request(service, "GET", f"/studies/{name}")[0] == 200
    for i in range(4):
        hosted = service.engine.hosted(name)
        given, game = {}, hosted.game
        if KINDS[kind].unlisted:
            rows = rng.standard_normal((2, 3)).tolist()
            given = {"context": {"features": rows, "observation_maps": [[row] for row in rows]}}
        elif game.traits.contexts:
            given = {"context": game.contexts[i % len(game.contexts)]}
        own = api(service, f"/v1/studies/{name}/ask", given)["decisions"][0]
        where = hosted._spec.read_context(given.get("context")).game
        answer = {"decision": own["id"], "observation": seen(where, own["action"], rng)}
        if i < 3:
            api(service, f"/v1/studies/{name}/tell", answer)
    for path in PATHS:
        status, _, text = request(service, "GET", f"/studies/{name}{path}")
        assert status == 200, text
    chart = json.loads(request(service, "GET", f"/studies/{name}/chart")[2])
    assert len(chart["actions"]) <= 9
