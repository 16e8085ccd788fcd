"""The tables of a report as files: CSV for machines, Markdown for people."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from io import StringIO
from pathlib import Path
from typing import Any

from partial_monitoring import disk
from partial_monitoring.errors import visible
from partial_monitoring.report import text
from partial_monitoring.report.leaderboard import leaderboard
from partial_monitoring.report.ranking import Duel, Ranking
from partial_monitoring.report.side_by_side import Side, side_by_side
from partial_monitoring.report.summary import Section, section_rows

Row = Mapping[str, Any]

FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
"""What a spreadsheet reads as the start of a formula, also in its wide form."""

NUMBER = re.compile(r"[+-]?\d+(\.\d*)?(e[+-]?\d+)?", re.ASCII)


def write_tables(
    folder: Path,
    sections: Sequence[Section],
    rankings: Sequence[Ranking],
    duels: Mapping[tuple[str, str], Duel],
) -> None:
    """Write every table; the curves, a row per checkpoint, only as CSV."""
    disk.make_folder(folder)
    write_csv(folder / "summary.csv", section_rows(sections))
    disk.write_text(folder / "summary.md", markdown(summary_for_people(sections)))
    write_csv(folder / "ranking.csv", ranking_rows(rankings))
    disk.write_text(folder / "ranking.md", markdown(ranking_for_people(rankings)))
    places = [asdict(place) for place in leaderboard(sections)]
    write_csv(folder / "leaderboard.csv", places)
    disk.write_text(folder / "leaderboard.md", markdown(places_for_people(sections)))
    sides = [row for side in side_by_side(sections) for row in side_rows(side)]
    write_csv(folder / "side_by_side.csv", sides)
    disk.write_text(folder / "side_by_side.md", sides_for_people(side_by_side(sections)))
    pairs = pair_rows(sections)
    write_csv(folder / "pairs.csv", pairs)
    disk.write_text(folder / "pairs.md", markdown([_for_people(row) for row in pairs]))
    write_csv(folder / "duels.csv", [asdict(duel) for duel in duels.values()])
    write_csv(folder / "curves.csv", curve_rows(sections))


def summary_for_people(sections: Sequence[Section]) -> list[Row]:
    """Return the summary with numbers rounded to what they are worth."""
    return [
        {
            "game": section.comparison.title,
            "class": section.verdict.category,
            "policy": summary.policy,
            "mean regret": text.with_error(summary.mean, summary.error),
            "median": text.amount(summary.median),
            "95 %": text.amount(summary.q95),
            "linear": text.MISSING if summary.linear is None else text.percent(summary.linear),
            "exponent": text.exponent(summary.exponent),
            "of the class": text.power(section.verdict.exponent),
            "time per round": text.duration(summary.seconds_per_round),
            "": "clearly best" if summary.policy == section.winner else "",
        }
        for section in sections
        for summary in section.summaries
    ]


def ranking_rows(rankings: Sequence[Ranking]) -> list[Row]:
    """Return a row per policy and set of games that the same policies played."""
    return [
        {"games": _games(ranking), "instances": len(ranking.sections)} | asdict(standing)
        for ranking in rankings
        for standing in ranking.standings
    ]


def ranking_for_people(rankings: Sequence[Ranking]) -> list[Row]:
    """Return the rankings with numbers rounded to what they are worth."""
    return [
        {
            "games": _games(ranking),
            "": place,
            "policy": standing.policy,
            "ahead of others": text.percent(standing.ahead),
            "mean rank": f"{standing.mean_rank:.2f}",
            "clearly better": standing.clear_wins,
            "clearly worse": standing.clear_losses,
            "time per round": text.duration(standing.seconds_per_round),
        }
        for ranking in rankings
        for place, standing in enumerate(ranking.standings, start=1)
    ]


def places_for_people(sections: Sequence[Section]) -> list[Row]:
    """Return the leaderboard with numbers rounded to what they are worth."""
    return [
        {
            "": rank,
            "policy": place.policy,
            "regret over the least": text.amount(place.ratio),
            "at most": text.amount(place.worst),
            "least regret on": place.wins,
            "instances": place.instances,
            "linear regret": text.percent(place.linear),
            "time per round": text.duration(place.seconds_per_round),
        }
        for rank, place in enumerate(leaderboard(sections), start=1)
    ]


def _games(ranking: Ranking) -> str:
    return ", ".join(ranking.games)


def pair_rows(sections: Sequence[Section]) -> list[Row]:
    """Return every two policies on every instance with their difference."""
    return [
        _where(section) | asdict(pair) | {"clearly_better": pair.better or ""}
        for section in sections
        for pair in section.pairs
    ]


def curve_rows(sections: Sequence[Section]) -> list[Row]:
    """Return what is drawn, a row per policy and point."""
    rows: list[Row] = []
    for section in sections:
        for policy, curve in section.curves.items():
            drawn = asdict(curve)
            where = _where(section) | {"policy": policy}
            points = zip(*(values.tolist() for values in drawn.values()), strict=True)
            rows += [where | dict(zip(drawn, point, strict=True)) for point in points]
    return rows


def side_rows(side: Side) -> list[Row]:
    """Return a row per policy and truth of a game that was played with several."""
    return [
        {
            "game": side.game,
            "policy": policy,
            "instance": column.comparison.instance,
            "against": column.comparison.result.against or "the best action",
            "regret_mean": found.mean,
            "regret_se": found.error,
        }
        for policy in side.policies
        for column in side.columns
        if (found := column.by_policy.get(policy))
    ]


def sides_for_people(sides: Sequence[Side]) -> str:
    """Return a table per game, with a row per policy and a column per truth."""
    tables = []
    for side in sides:
        rows = [
            {"policy": policy}
            | {
                column.comparison.instance: text.with_error(found.mean, found.error)
                if (found := column.by_policy.get(policy))
                else text.MISSING
                for column in side.columns
            }
            for policy in side.policies
        ]
        notes = "".join(f"\n{line}.\n" for line in text.comparators(side.columns))
        tables.append(f"## {_plain(side.game)}\n\n{markdown(rows)}{notes}")
    return "\n".join(tables)


def _where(section: Section) -> dict[str, Any]:
    return {"game": section.comparison.game_name, "instance": section.comparison.instance}


def write_csv(path: Path, rows: Sequence[Row]) -> None:
    """Write rows under their keys; a file without rows is empty."""
    lines = StringIO(newline="")
    if rows:
        writer = csv.DictWriter(lines, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows({key: _cell(value) for key, value in row.items()} for row in rows)
    disk.write_text(path, lines.getvalue())


def _cell(value: Any) -> Any:
    """Keep spreadsheets from reading a formula in a text: an apostrophe marks it as a text.

    >>> _cell("=1+1"), _cell("ids"), _cell("-0.5"), _cell(-0.5)
    ("'=1+1", 'ids', '-0.5', -0.5)
    """
    if not isinstance(value, str):
        return value
    plain = "\n".join(map(visible, value.split("\n")))
    starts = plain.lstrip().startswith(FORMULA) or value[:1] in ("\t", "\r", "\n")
    return f"'{plain}" if starts and not NUMBER.fullmatch(plain) else plain


def markdown(rows: Sequence[Row]) -> str:
    r"""Return rows as a Markdown table.

    >>> print(markdown([{"policy": "a|b", "regret": 1.5}]), end="")
    | policy | regret |
    |---|---|
    | a\|b | 1.5 |
    """
    if not rows:
        return ""
    lines = [list(rows[0]), *([str(value) for value in row.values()] for row in rows)]
    head, *body = ("| " + " | ".join(map(_plain, line)) + " |" for line in lines)
    return "\n".join([head, "|" + "---|" * len(rows[0]), *body]) + "\n"


def _plain(cell: str) -> str:
    """Keep the text of a cell on its line and in its column."""
    cell = visible(" ".join(cell.split()))
    for mark in ("\\", "|", "<"):
        cell = cell.replace(mark, "\\" + mark)
    return cell


def _for_people(row: Row) -> Row:
    return {
        key: text.amount(value) if isinstance(value, float) else value for key, value in row.items()
    }
