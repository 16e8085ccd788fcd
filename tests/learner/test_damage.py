"""A saved learner that is damaged or not consistent is refused in one sentence, or right."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring import policies as registry
from partial_monitoring.errors import InvalidInput
from partial_monitoring.learner import files
from tests.golden import runs

CASES = [
    ("finite", "ids"),
    ("finite", "cbp"),
    ("linear", "lints"),
    ("linear, a box", "epsilon_greedy"),
    ("contexts", "contextual_ids"),
    ("duels", "dueling_ids"),
    ("kernel", "gp_ucb"),
]
Tampered = Iterator[tuple[str, Callable[[Any], Any]]]


def played(case: tuple[str, str], rounds: int = 12, **options: Any) -> pm.Learner:
    """A learner with answers, logged data and two decisions still open."""
    game, rng = runs.GAMES[case[0]][0](), np.random.default_rng(1)
    learner = pm.Learner(game, registry.make(case[1]), seed=7, **options)
    for t in range(rounds):
        given = {"context": t % len(game.games)} if game.traits.contexts else {}
        decision = learner.ask(**given)
        if t % 5 != 4:
            learner.tell(decision, runs.answer(game, decision, rng, **given))
        if t == 6:
            past = runs.answer(game, decision, rng, **given)
            learner.tell_past([decision.label], [past], [given["context"]] if given else None)
    return learner


def signed(data: Any) -> str:
    """The text of a file with the checksum of its content."""
    try:
        digest = files._digest(*files._texts(data))
    except (ValueError, KeyError):
        digest = ""
    return json.dumps(data | {"digest": digest})


def arrays(state: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the places of the arrays of a saved state."""
    for name, value in (state or {}).items():
        if isinstance(value, dict):
            yield from arrays(value, (*path, name))
        elif np.size(value):
            yield (*path, name)


def put(*path: Any, to: Any) -> Callable[[Any], Any]:
    """Change what is at a place of a file; a function is applied to what is there."""

    def change(data: Any) -> None:
        for key in path[:-1]:
            data = data[key]
        data[path[-1]] = to(data[path[-1]]) if callable(to) else to

    return change


def without(*path: Any) -> Callable[[Any], Any]:
    def change(data: Any) -> None:
        for key in path[:-1]:
            data = data[key]
        del data[path[-1]]

    return change


def tampered(data: Any) -> Tampered:
    """Yield names and changes after which a file is not what any learner has written."""
    for place in arrays(data["snapshot"]["state"]):
        at = ("snapshot", "state", *place)
        kind = np.array(_at(data, at)).dtype.kind
        yield f"negated {place}", put(*at, to=_changed(lambda x: ~x if x.dtype == bool else -x - 1))
        yield f"flat {place}", put(*at, to=lambda x: np.ravel(x).tolist())
        yield f"longer {place}", put(*at, to=lambda x: x + x)
        yield f"words {place}", put(*at, to="many")
        yield f"nothing {place}", put(*at, to=None)
        if kind == "f":
            for value in (float("nan"), float("inf"), None, 10**400):
                yield f"{str(value)[:4]} in {place}", put(*at, to=_first(value))
            yield f"shifted {place}", put(*at, to=_changed(lambda x: x * 1.01 + 1e-2))
    for name in ("seq", "asked", "told"):
        for value in (-1, 0, 99, 1.5, "3", None):
            yield f"{name} {value}", put("snapshot", name, to=value)
    yield "nothing open", put("snapshot", "open", to=[])
    yield "open twice", put("snapshot", "open", to=lambda x: x + x[:1])
    yield "open though told", put("snapshot", "open", to=lambda x: [*data["events"][:1], *x])
    yield "other tokens", put("snapshot", "tokens", to=[["x", 0]])
    yield "no counts", put("snapshot", "counts", to={})
    yield "no snapshot", put("snapshot", to=None)
    yield "counts", put("snapshot", "counts", "recent", to=lambda x: x[:-1])
    yield "no events", put("events", to=[])
    yield "events twice", put("events", to=lambda x: x + x)
    yield "an event less", put("events", to=lambda x: x[:-1])
    yield "an event in the middle less", put("events", to=lambda x: x[:3] + x[4:])
    yield "no list of events", put("events", to={"seq": 1})
    for i in (0, 5, len(data["events"]) - 1) if data["events"] else ():
        event, at = data["events"][i], ("events", i)
        for name in event:
            for value in (None, [], -1, 99, 0.5, "x", True, float("nan")):
                yield f"{event['kind']} {i}: {name} {str(value)[:9]}", put(*at, name, to=value)
            yield f"{event['kind']} {i}: no {name}", without(*at, name)
    for value in ("no", 1, 0, None, []):
        yield f"hopeless {value}", put("settings", "allow_hopeless", to=value)
    for value in (True, 3.0, "3", 0, 4, -1, None, [3]):
        yield f"format {value}", put("format", to=value)
    for value in (-1, 0.5, True, None, "7", 2**63):
        yield f"seed {value}", put("seed", to=value)
    for name in ("game", "policy", "settings", "snapshot", "events", "format", "seed"):
        yield f"no {name}", without(name)
        yield f"{name} is a list", put(name, to=[1])
    yield "an unknown policy", put("policy", "policy", to="best")


def _at(data: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        data = data[key]
    return data


def _changed(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: change(np.array(value)).tolist()


def _first(value: Any) -> Callable[[Any], Any]:
    def change(nested: Any) -> Any:
        return [change(nested[0]), *nested[1:]] if isinstance(nested, list) else value

    return change


def fingerprint(learner: pm.Learner) -> Any:
    """What a learner decides from, bit by bit, but for probabilities that were logged."""
    session = files.steps.snapshot(learner._spec, learner._session)
    names = ("seq", "kind", "decision", "round", "action", "label", "observation", "context")
    rows = [{name: row[name] for name in names if name in row} for row in learner.events]
    for row in rows:
        row["observation"] = row.get("observation") or None  # of an action that shows nothing
    return json.dumps([learner.seed, session["state"], session["asked"], rows])


def loaded(path: Path) -> pm.Learner | None:
    """The learner in a file, or None if it is refused in one sentence."""
    try:
        return pm.Learner.load(path)
    except InvalidInput as error:
        said = str(error)
    assert said.endswith(".")
    assert "\n" not in said
    return None


@pytest.mark.parametrize("case", CASES, ids=map(" / ".join, CASES))
def test_tampered_files_are_refused_or_right(case: tuple[str, str], tmp_path: Path) -> None:
    """With the checksum of what was written; without it everything is refused."""
    path, learner = tmp_path / "learner.json", played(case)
    learner.save(path)
    original, right = path.read_text(), fingerprint(learner)
    path.write_text(signed(json.loads(original)))
    assert fingerprint(pm.Learner.load(path)) == right
    accepted = []
    for number, (name, change) in enumerate(tampered(json.loads(original))):
        data = json.loads(original)
        change(data)
        path.write_text(signed(data))
        found = loaded(path)
        if found is not None and fingerprint(found) != right:
            accepted.append(name)
        if number % 10 == 0 and json.dumps(data) != json.dumps(json.loads(original)):
            path.write_text(json.dumps(data))
            assert loaded(path) is None
    assert accepted == []
    assert number > 100


def test_states_that_are_not_computed_again_are_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, learner = tmp_path / "learner.json", played(("finite", "ids"))
    learner.save(path)
    original = json.loads(path.read_text())
    monkeypatch.setattr(files, "REFOLDED", 5)
    assert fingerprint(pm.Learner.load(path)) == fingerprint(learner)
    for name, change in tampered(original):
        data = json.loads(json.dumps(original))
        change(data)
        path.write_text(signed(data))
        found, unseen = loaded(path), name.startswith(("negated", "shifted"))
        assert found is None or unseen or fingerprint(found) == fingerprint(learner), name
    data = json.loads(json.dumps(original))
    put("snapshot", "state", "estimate", "round", to=[3])(data)
    path.write_text(signed(data))
    with pytest.raises(InvalidInput, match="round must be 12; got"):
        pm.Learner.load(path)


SEEN_BY_NONE = ("open seq 99", "open time 99", "open time 0.5", "tally 3 99")
"""The number and the time of an ask among others, and how much observations scatter."""


def known(learner: pm.Learner) -> Any:
    """What a learner without a log decides from and reports, bit by bit."""
    return json.dumps([learner.seed, files.steps.snapshot(learner._spec, learner._session)])


@pytest.mark.parametrize(("case", "rounds"), [(CASES[0], 12), (CASES[4], 90)])
def test_tampered_snapshots_are_refused_or_right(
    case: tuple[str, str], rounds: int, tmp_path: Path
) -> None:
    """Without events, numbers that were learned can be exchanged for others like them."""
    path, learner = tmp_path / "learner.json", played(case, rounds, storage=None)
    learner.save(path)
    original, right = json.loads(path.read_text()), known(learner)
    assert original["events"] is None
    path.write_text(signed(original))
    assert known(pm.Learner.load(path)) == right
    accepted = []
    for name, change in (*tampered(original | {"events": []}), *changed_counts(original)):
        data = json.loads(json.dumps(original))
        try:
            change(data)
        except (TypeError, KeyError, IndexError):
            continue  # of events, which are not there
        path.write_text(signed(data))
        found = loaded(path)
        unseen = name.startswith(("negated", "shifted", "seq", "nothing open", *SEEN_BY_NONE))
        if not (found is None or unseen or known(found) == right):
            accepted.append(name)
    assert accepted == []


def changed_counts(data: Any) -> Tampered:
    """Yield changes of what was counted and of what is open."""
    counts = ("snapshot", "counts")
    for i, ask in enumerate(data["snapshot"]["open"]):
        for name in set(ask) - {"probability"}:
            for value in (None, [], -1, 99, 0.5, "x", True, float("nan")):
                yield f"open {name} {str(value)[:5]}", put("snapshot", "open", i, name, to=value)
    for value in ([], [[]], [["x", 0], ["y", 99]], [[None, 1]], [["-", 0]], None, {}):
        yield f"tokens {value}", put("snapshot", "tokens", to=value)
    for name in ("contexts", "unlisted", "recent"):
        for value in (None, {}, "x", [1], [["x", 1, [0.0]]]):
            yield f"counts {name} {value}", put(*counts, name, to=value)
    for z, (_, own) in enumerate(data["snapshot"]["counts"]["contexts"]):
        at = (*counts, "contexts", z, 1)
        for value in (-1, 0, 10**6, 0.5, None):
            yield f"rounds {value}", put(*at, "rounds", to=value)
        for i in range(len(own["actions"])):
            for place in range(5):
                for value in (None, -1, 99, float("nan"), [], [[0, 1, [0.5]]], "x"):
                    yield f"tally {place} {value}", put(*at, "actions", i, place, to=value)


def test_no_flipped_bit_is_silent(tmp_path: Path) -> None:
    """Except where the file still says the same, as with 1E-05 and 1e-05."""
    path, rng = tmp_path / "learner.json", np.random.default_rng(0)
    played(("finite", "ids")).save(path)
    original = path.read_bytes()
    for place in rng.choice(8 * len(original), 400, replace=False).tolist():
        flipped = bytearray(original)
        flipped[place // 8] ^= 1 << place % 8
        path.write_bytes(flipped)
        found = loaded(path)
        assert found is None or json.loads(flipped) == json.loads(original)


def test_a_key_that_appears_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "learner.json"
    played(("finite", "ids")).save(path)
    path.write_text(path.read_text().replace('"seed": 7', '"seed": 8, "seed": 7'))
    with pytest.raises(InvalidInput, match="key 'seed' appears twice"):
        pm.Learner.load(path)


@pytest.mark.parametrize(
    "text", ["[" * 10**5, '{"format": 3, "game": ' + "[" * 900 + "]" * 900 + "}"]
)
def test_deep_files_are_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "learner.json"
    path.write_text(text)
    assert loaded(path) is None


def test_signals_that_are_not_finite_are_saved(tmp_path: Path) -> None:
    game = pm.FiniteGame(np.eye(2), [[1.0, float("inf")], [1.0, 2.0]])
    learner = pm.Learner(game, allow_hopeless=True)
    learner.tell_past([0], [float("inf")])
    learner.save(tmp_path / "learner.json")
    assert fingerprint(pm.Learner.load(tmp_path / "learner.json")) == fingerprint(learner)


@pytest.mark.parametrize("name", ["finite", "cbp", "linear", "contexts"])
def test_old_files_are_checked_too(name: str, tmp_path: Path) -> None:
    """They have no checksum; what their observations do not make is refused."""
    original = Path(__file__).parents[1] / "golden" / "saved" / f"{name}.json"
    path = tmp_path / "learner.json"
    changes = [
        put("open", to=[-1]),
        put("open", to=[0]),
        put("open", to=[]),
        put("told", to=[]),
        put("told", to=lambda x: x + x),
        put("told", to=lambda x: [[99, *x[0][1:]], *x[1:]]),
        put("told", to=lambda x: [[x[0][0], [float("nan")], *x[0][2:]], *x[1:]]),
        put("history", to=lambda x: [x[0] | {"id": 7}, *x[1:]]),
        put("allow_hopeless", to="no"),
        put("format", to=True),
    ]
    checked, right = len(changes), fingerprint(pm.Learner.load(original))
    for place in arrays(json.loads(original.read_text())["arrays"]):
        changes.append(
            put("arrays", *place, to=_changed(lambda x: ~x if x.dtype == bool else -x - 1))
        )
        changes.append(put("arrays", *place, to=_first(float("nan"))))
    for number, change in enumerate(changes):
        data = json.loads(original.read_text())
        change(data)
        path.write_text(json.dumps(data))
        found = loaded(path)
        assert found is None or (number >= checked and fingerprint(found) == right), number
