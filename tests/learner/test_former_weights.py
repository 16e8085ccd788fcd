"""Learners of earlier versions are read: those that forgot by age alone, and knew no doubt."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.learner import files
from partial_monitoring.learner.spec import Spec
from partial_monitoring.learner.states import alike, saved

SAVED = Path(__file__).parents[1] / "golden" / "saved"


def known(learner: pm.Learner) -> Any:
    return saved(learner._session.state, learner._spec.start.state)


def without_doubt(state: Any) -> Any:
    """Return a state without what earlier versions did not keep."""
    own = state.get("known", {})
    return state | {"known": {key: own[key] for key in own if key != "doubt"}} if own else state


def kept(name: str) -> Any:
    return json.loads((SAVED / f"{name}.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", ["forgets_signals", "forgets_linear"])
def test_with_events_all_that_was_observed_is_weighed_as_it_is_now(
    name: str, tmp_path: Path
) -> None:
    learner = pm.Learner.load(SAVED / f"{name}.json")
    assert kept(name)["format"] == 4
    again = pm.Learner.replay(
        learner.game, learner.policy, events=kept(name)["events"], seed=learner.seed
    )
    assert alike(known(learner), known(again))
    assert not alike(known(learner), kept(name)["snapshot"]["state"])
    assert learner.round == 21
    learner.save(tmp_path / "learner.json")
    assert alike(known(pm.Learner.load(tmp_path / "learner.json")), known(learner))


@pytest.mark.parametrize("name", ["forgets_unlogged", "forgets_linear_unlogged"])
def test_without_events_what_was_known_is_kept(name: str, tmp_path: Path) -> None:
    learner = pm.Learner.load(SAVED / f"{name}.json")
    assert alike(without_doubt(known(learner)), kept(name)["snapshot"]["state"])
    decision, game = learner.ask(), learner.game
    learner.tell(decision, game.signal(decision.action, 0) if game.traits.finite else [0.5])
    learner.save(tmp_path / "learner.json")
    assert alike(known(pm.Learner.load(tmp_path / "learner.json")), known(learner))


@pytest.mark.parametrize("name", ["signals_5", "signals_5_unlogged"])
def test_what_an_earlier_version_did_not_keep_is_computed(name: str, tmp_path: Path) -> None:
    learner = pm.Learner.load(SAVED / f"{name}.json")
    state = kept(name)["snapshot"]["state"]
    assert "doubt" not in state["known"]
    for field in ("round", "seen", "plays"):
        assert known(learner)["known"][field] == state["known"][field]
    if kept(name)["events"] is None:  # else they are counted again, with the prior of now
        assert alike(without_doubt(known(learner)), state)
    doubt = learner._session.state.known.doubt
    assert doubt.shape == (1, 1)
    assert doubt > 0
    learner.save(tmp_path / "learner.json")
    again = pm.Learner.load(tmp_path / "learner.json")
    assert known(again) == known(learner)
    assert again.ask().label == learner.ask().label


def test_a_file_of_now_without_it_is_refused(tmp_path: Path) -> None:
    learner, path = pm.Learner.load(SAVED / "signals_5_unlogged.json"), tmp_path / "learner.json"
    learner.save(path)
    data = json.loads(path.read_text(encoding="utf-8"))
    del data["snapshot"]["state"]["known"]["doubt"]
    data["digest"] = files._digest(*files._texts(data))
    path.write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(InvalidInput, match="another 'state' than a learner writes"):
        pm.Learner.load(path)


def test_a_file_of_now_must_be_what_its_events_make(tmp_path: Path) -> None:
    learner, path = pm.Learner.load(SAVED / "forgets_signals.json"), tmp_path / "learner.json"
    learner.save(path)
    data = json.loads(path.read_text(encoding="utf-8"))
    assert data["format"] == files.FORMAT == 6
    data["snapshot"]["state"] = kept("forgets_signals")["snapshot"]["state"]
    data["digest"] = files._digest(*files._texts(data))
    path.write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(InvalidInput, match="another 'state' than its events make"):
        pm.Learner.load(path)


def test_snapshots_of_other_weights_are_not_used() -> None:
    """They have another hash, so that the events are folded; other policies keep theirs."""
    plain, forgets = (Spec("dynamic_pricing", pm.Calibrated(half_life=h)) for h in (None, 9.0))
    assert plain.digest == _former(plain)
    assert forgets.digest != _former(forgets)


def _former(spec: Spec) -> str:
    return sha256(json.dumps(spec.to_dict(), sort_keys=True).encode()).hexdigest()
