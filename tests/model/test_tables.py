from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput

EARN = {"look": {"fine": -1, "bad": -1}, "skip": {"fine": 0, "bad": -5}}
SEE = {"look": {"fine": "ok", "bad": "fault"}, "skip": {"fine": "-", "bad": "-"}}


def check(game: pm.FiniteGame) -> None:
    assert game.actions == ("look", "skip")
    assert game.outcomes == ("fine", "bad")
    assert game.rewards.tolist() == [[-1, -1], [0, -5]]
    assert game.signals == (("ok", "fault"), ("-", "-"))


def test_one_table_of_pairs() -> None:
    cells = {a: {x: (EARN[a][x], SEE[a][x]) for x in EARN[a]} for a in EARN}
    check(pm.from_table(cells))


def test_two_tables_in_any_column_order() -> None:
    turned = {a: dict(reversed(row.items())) for a, row in reversed(SEE.items())}
    check(pm.from_table(EARN, turned))


def test_data_frames() -> None:
    check(pm.from_table(pd.DataFrame(EARN).T, pd.DataFrame(SEE).T))


def test_csv_files(tmp_path: Path) -> None:
    one = tmp_path / "game.csv"
    one.write_text("action,fine,bad\nlook,-1 ok,-1 fault\n\nskip, 0 | -, -5 | -\n")
    check(pm.from_csv(one))
    check(pm.load_game(one))  # type: ignore[arg-type]
    earn, see = tmp_path / "earn.csv", tmp_path / "see.csv"
    earn.write_text("action,fine,bad\nlook,-1,-1\nskip,0,-5\n")
    see.write_text("action,bad,fine\nlook,fault,ok\nskip,-,-\n")
    check(pm.from_csv(earn, see))


def csv_of(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


BAD: list[tuple[Any, str]] = [
    (
        lambda p: pm.from_table({1: {"x": (1, "s")}, "1": {"x": (1, "s")}}),
        "earn has labels that rea",
    ),
    (
        lambda p: pm.from_table(pd.DataFrame([[1, 2]], columns=["x", "x"]), SEE),
        "earn must have rows",
    ),
    (
        lambda p: pm.from_csv(csv_of(p / "e.csv", "a,x\nb,much s\n")),
        "{p}/e.csv: cell ('b', 'x') must have a number as reward; got 'much'.",
    ),
    (lambda p: pm.from_csv(csv_of(p / "e.csv", "a;x\nb;1 s\n")), "{p}/e.csv: must hold a row of"),
    (lambda p: pm.from_table({}), "earn must have at least one row; got an empty table."),
    (lambda p: pm.from_table([1]), "earn must map each action to a row {outcome: cell}; got list."),
    (lambda p: pm.from_table(EARN), "cell ('look', 'fine') must be a pair (reward, signal); got -"),
    (lambda p: pm.from_table(EARN, {"look": SEE["look"]}), "see has other rows than earn: 'skip'"),
    (
        lambda p: pm.from_table(EARN | {"skip": {"fine": 1}}, SEE),
        "row 'skip' of earn has other columns: 'bad' appears in only one of them.",
    ),
    (
        lambda p: pm.from_table({"a": {"x": ("much", "s")}}),
        "earn['a'] must be real numbers in rows of equal length; got 'much'.",
    ),
    (lambda p: pm.from_csv(p / "no.csv"), "{p}/no.csv: cannot be read: No such file or directory."),
    (lambda p: pm.from_csv(csv_of(p / "e.csv", "")), "{p}/e.csv: must hold a row of outcomes and"),
    (lambda p: pm.from_csv(csv_of(p / "e.csv", "a,x\nb\n")), "{p}/e.csv: line 2 must have 2 cells"),
    (
        lambda p: pm.from_csv(csv_of(p / "e.csv", "a,x\nb,5\n")),
        "{p}/e.csv: cell ('b', 'x') must read 'reward signal'; got '5'.",
    ),
    (
        lambda p: pm.from_csv(csv_of(p / "e.csv", "a,x\nb,5 s\nb,5 s\n")),
        "{p}/e.csv: actions and outcomes must be different from each other.",
    ),
]


@pytest.mark.parametrize(("call", "message"), BAD, ids=[message for _, message in BAD])
def test_bad_tables_get_one_sentence(call: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as caught:
        call(tmp_path)
    assert str(caught.value).startswith(
        message.format(p=tmp_path, outcome=None) if "{p}" in message else message
    )
