"""The numbers of a report against brute force and scipy."""

import csv
import io
import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import partial_monitoring as pm
from partial_monitoring.report import tables
from partial_monitoring.report.game_class import MOST_ACTIONS, verdict
from partial_monitoring.report.ranking import duels, rankings
from partial_monitoring.report.series import (
    COLORS,
    DARK,
    curves,
    log_range,
    plays,
    policy_styles,
    thinned,
)
from partial_monitoring.report.significance import FEWEST, holm, pairs, too_few
from partial_monitoring.report.summary import sections, summary_rows
from partial_monitoring.report.text import answer, facts, headline, with_error
from tests.oracles import report_samples as samples
from tests.oracles.report_samples import comparison, made_up


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_holm_rejects_step_by_step(p: list[float]) -> None:
    level = 0.05
    rejected = set()
    for step, i in enumerate(np.argsort(p, kind="stable")):  # the textbook procedure
        if p[i] > level / (len(p) - step):
            break
        rejected.add(int(i))
    adjusted = holm(p)
    assert {i for i, value in enumerate(adjusted) if value <= level * (1 + 1e-12)} == rejected


def test_a_summary_is_what_numpy_says() -> None:
    result = made_up({"ids": 0.5, "other": 0.7}, seeds=9)
    rows = summary_rows([comparison(result)])
    final = result.regret["other"][:, -1]
    row = rows[1]
    assert (row["policy"], row["horizon"], row["seeds"]) == ("other", 1000, 9)
    assert row["regret_mean"] == pytest.approx(final.mean())
    assert row["regret_se"] == pytest.approx(stats.sem(final))
    assert row["regret_median"] == pytest.approx(np.median(final))
    assert row["regret_q95"] == pytest.approx(np.quantile(final, 0.95))
    assert row["exponent"] == pytest.approx(0.7)
    assert row["class_exponent"] == pytest.approx(2 / 3)
    assert row["seconds"] == 0.5
    assert row["seconds_per_round"] == pytest.approx(0.5 / 9000)
    assert [row["best"] for row in rows] == [True, False]


def test_numbers_that_do_not_exist_are_none() -> None:
    (row,) = summary_rows([comparison(made_up({"ids": 0.5}, seeds=1, rounds=(1,)))])
    assert row["regret_se"] is None
    assert row["exponent"] is None
    assert row["p_against_best"] is None


def test_pairs_are_differences_of_means_with_students_interval() -> None:
    result = made_up({"a": 0.5, "b": 0.6}, seeds=FEWEST)
    (pair,) = pairs(result)
    apart = result.regret["a"][:, -1] - result.regret["b"][:, -1]
    low, high = stats.ttest_1samp(apart, 0).confidence_interval()
    assert (pair.difference, pair.low, pair.high) == pytest.approx((apart.mean(), low, high))
    assert pair.better == "a"


def test_equal_regret_up_to_rounding_is_a_tie() -> None:
    result = made_up({"a": 0.5, "b": 0.6}, seeds=10)
    result.regret["b"][:] = result.regret["a"] * (1 + 1e-14)
    (section,) = sections(comparison(result))
    assert section.pairs[0].p == 1.0
    assert section.leaders == ["a", "b"]
    assert [standing.wins for standing in rankings([section])[0].standings] == [1, 1]
    assert answer(section).startswith("All policies have the same regret")


def test_one_seed_proves_nothing() -> None:
    (section,) = sections(comparison(made_up({"a": 0.1, "b": 0.9}, seeds=1)))
    assert section.leaders == ["a", "b"]
    assert np.isnan(section.pairs[0].low)
    assert "1 seed cannot prove" in answer(section)


def test_few_seeds_never_prove_an_order() -> None:
    for seeds in (6, 20, FEWEST - 1, FEWEST):
        (section,) = sections(comparison(made_up({"a": 0.1, "b": 0.9}, seeds=seeds)))
        assert too_few(seeds) == section.undecided == (section.winner is None)
        assert ("cannot prove" in answer(section)) == too_few(seeds)


def test_ranks_agree_with_scipy() -> None:
    counted = sections(
        [
            comparison(made_up({"a": 0.50, "b": 0.52, "c": 0.51}, seeds=12)),
            comparison(made_up({"a": 0.40, "b": 0.39, "c": 0.80}, seeds=12)),
        ]
    )
    names = ["a", "b", "c"]
    ranks = []
    for section in counted:
        final = np.array([section.comparison.result.regret[name][:, -1] for name in names])
        ranks.append(stats.rankdata(final, axis=0).mean(axis=1))
    expected = dict(zip(names, np.mean(ranks, axis=0), strict=True))
    ((standings),) = (own.standings for own in rankings(counted))
    assert {s.policy: s.mean_rank for s in standings} == pytest.approx(expected)
    assert [s.ahead for s in standings] == sorted((s.ahead for s in standings), reverse=True)
    assert sum(s.clear_wins for s in standings) == sum(s.clear_losses for s in standings)


def test_duels_are_shares_of_seeds_averaged_over_games() -> None:
    first, second = (made_up({"a": e, "b": 0.5}, seeds=10) for e in (0.45, 0.52))
    found = duels(sections([comparison(first), comparison(second)]), ["a", "b"])
    ahead = [(r.regret["a"] < r.regret["b"])[:, -1].mean() for r in (first, second)]
    assert found["a", "b"].share == pytest.approx(np.mean(ahead))
    assert found["b", "a"].share == pytest.approx(1 - np.mean(ahead))


def test_only_policies_that_played_the_same_games_are_ranked_together() -> None:
    counted = sections(
        [
            comparison(made_up({"all": 0.5, "other": 0.6}, seeds=60), name="one"),
            comparison(made_up({"special": 0.1, "all": 0.5, "other": 0.6}, seeds=60), name="two"),
            comparison(made_up({"all": 0.5, "other": 0.7}, seeds=60), name="three"),
        ]
    )
    ranked = rankings(counted)
    assert [own.games for own in ranked] == [["one", "three"], ["two"]]
    assert [[s.policy for s in own.standings] for own in ranked] == [
        ["all", "other"],
        ["special", "all", "other"],
    ]
    assert headline(counted, ranked) == (
        "all clearly has the least regret on 2 of 3 instances, special on 1. What to use: all on "
        "one and three; special on two."
    )


def test_the_headline_names_nobody_whose_lead_is_not_proven() -> None:
    few = [comparison(made_up({"a": 0.1, "b": 0.9}, seeds=3), name=name) for name in ("one", "two")]
    counted = sections(few)
    assert headline(counted, rankings(counted)) == (
        "No policy is proven to have the least regret on any instance. Recommending a "
        "policy takes at least 59 seeds."
    )
    even = [comparison(made_up({"a": 0.5, "b": 0.5}, seeds=60), name=name) for name in ("x", "y")]
    counted = sections(even)
    assert headline(counted, rankings(counted)) == (
        "No policy is proven to have the least regret on any instance. What to use: on x and y "
        "none is clearly better than another."
    )


def test_who_played_too_few_seeds_is_not_recommended() -> None:
    played = [made_up({"a": 0.3, "b": 0.6, "few": 0.9}, seeds=60) for _ in range(2)]
    for own in played:
        own.regret["few"][20:] = np.nan
    counted = sections([comparison(own, name=name) for own, name in zip(played, "xy", strict=True)])
    said = headline(counted, rankings(counted))
    assert "What to use: a on x and y." in said
    assert said.endswith(" few played too few seeds to be recommended or not.")


def test_the_advice_depends_on_the_truth_if_every_policy_loses_somewhere() -> None:
    counted = sections(
        [
            comparison(made_up({"a": 0.3, "b": 0.9}, seeds=60), instance="1"),
            comparison(made_up({"a": 0.9, "b": 0.3}, seeds=60), instance="2"),
        ]
    )
    assert "What to use: on dynamic_pricing it depends on θ." in headline(
        counted, rankings(counted)
    )


def test_equal_games_from_files_are_one_game() -> None:
    games = [pm.games.dynamic_pricing(), pm.games.dynamic_pricing(), pm.games.apple_tasting()]
    result = made_up({"ids": 0.5})
    counted = sections([comparison(result, game=g, name=str(g.k)) for g in games])
    assert facts(counted, ["ids"])[:2] == ["2 games", "3 instances"]
    counted = sections([comparison(result, game=games[0], name=name) for name in "ab"])
    assert facts(counted, ["ids"])[0] == "2 games"
    assert counted[0].verdict.analysis is counted[1].verdict.analysis


def test_growth_is_not_fitted_to_short_runs() -> None:
    short = made_up({"a": 1.27, "b": 0.5}, rounds=(1, 10, 30, 100))
    assert [row["exponent"] for row in summary_rows(comparison(short))] == [None, None]
    assert with_error(32.9, 0.0) == with_error(32.9, 1e-15) == "32.9"


def test_curves_go_through_few_of_many_checkpoints() -> None:
    marks = np.unique(np.geomspace(1, 10**7, 5000).astype(np.int64))
    at = thinned(marks)
    assert len(at) <= 400
    assert at[0] == 0
    assert at[-1] == len(marks) - 1
    late = marks[at][marks[at] > 10]
    assert np.diff(np.log(late)).max() < 0.2
    assert np.diff(marks[at]).max() < 10**7 / 100
    curve = curves(made_up({"ids": 0.5}, rounds=marks.tolist(), seeds=3), "ids")
    assert curve.mean == pytest.approx(curve.mean[0] * curve.rounds**0.5)


def test_the_price_of_information_is_regret_per_unit() -> None:
    result = samples.without_information()
    curve = curves(result, "ids")
    expected = result.regret["ids"].mean(axis=0) / np.log1p(result.checkpoints)
    assert curve.price == pytest.approx(expected)
    assert np.isinf(curves(result, "infinite").price).all()
    assert np.isnan(curves(result, "plain").information).all()


def test_play_shares_are_of_the_rounds_between_checkpoints() -> None:
    game = pm.games.apple_tasting()
    result = pm.simulate(game, "ids", [0.6, 0.4], horizon=40, seeds=5, checkpoints=[10, 20])
    shown = plays(comparison(result, game=game))
    assert shown is not None
    counts = result.plays["ids"].sum(axis=0)
    assert shown.shares["ids"][1] == pytest.approx((counts[1] - counts[0]) / 50)
    assert shown.shares["ids"].sum(axis=1) == pytest.approx(1)
    assert shown.actions == game.actions


def test_rare_actions_are_shown_together() -> None:
    game = pm.games.linear_bandit(np.random.default_rng(0).normal(size=(20, 3)))
    result = made_up({"a": 0.5, "b": 0.5}, k=20)
    shown = plays(comparison(result, game=game))
    assert shown is not None
    assert shown.actions[-1] == "14 others"
    assert shown.shares["a"].sum(axis=1) == pytest.approx(1)
    assert plays(comparison(made_up({"a": 0.5}, k=0), game=game)) is None


def test_logarithmic_axes_need_regret() -> None:
    drawn = {"ids": curves(samples.without_regret(), "ids")}
    assert log_range(drawn, []) is None


def test_a_large_game_is_not_analysed_and_says_so() -> None:
    game = pm.games.linear_bandit(np.random.default_rng(0).normal(size=(MOST_ACTIONS + 1, 2)))
    found = verdict(game)
    assert found.category == "unknown"
    assert "not analysed" in found.sentences[0]
    assert found.analysis is None


def test_colours_stay_when_a_policy_or_a_game_is_added() -> None:
    few = comparison(made_up({"a": 0.5, "b": 0.5}))
    more = comparison(made_up({"b": 0.5, "c": 0.5, "a": 0.5}))
    styles = policy_styles([few, more])
    assert policy_styles([few])["b"] == styles["b"]
    many = policy_styles([comparison(made_up({str(i): 0.5 for i in range(28)}))])
    assert len(set(many.values())) == 28


DEFICIENCIES = {  # Machado, Oliveira and Fernandes (2009), severity 1, on linear RGB
    "deuteranopia": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "protanopia": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "tritanopia": [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
}


@pytest.mark.parametrize("deficiency", DEFICIENCIES)
def test_colours_differ_for_colour_blind_readers(deficiency: str) -> None:
    for palette in (COLORS, [DARK.get(color, color) for color in COLORS]):
        seen = [_lab(color, np.array(DEFICIENCIES[deficiency])) for color in palette]
        assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)) > 12


def _lab(color: str, deficiency: np.ndarray) -> np.ndarray:
    rgb = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    to_xyz = np.array(
        [[0.4125, 0.3576, 0.1804], [0.2127, 0.7152, 0.0722], [0.0193, 0.1192, 0.9503]]
    )
    xyz = to_xyz @ np.clip(deficiency @ linear, 0, 1) / np.array([0.9505, 1, 1.0888])
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def test_tables_can_be_read_back(tmp_path: Path) -> None:
    counted = sections([comparison(samples.ten_odd_policies())])
    tables.write_tables(tmp_path, counted, rankings(counted), duels(counted, samples.ODD_NAMES))

    def read(name: str) -> list[dict[str, str]]:
        with (tmp_path / name).open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    rows = read("summary.csv")
    assert [row["policy"] for row in rows] == list(samples.ODD_NAMES)
    assert float(rows[0]["regret_mean"]) == counted[0].summaries[0].mean
    markdown = (tmp_path / "summary.md").read_text(encoding="utf-8").splitlines()
    assert len(markdown) == 2 + len(samples.ODD_NAMES)
    bars = {line.replace("\\\\", "").replace("\\|", "").count("|") for line in markdown}
    assert len(bars) == 1
    assert len(read("curves.csv")) == 10 * len(samples.ROUNDS)
    assert len(read("pairs.csv")) == 45


@pytest.mark.parametrize(("width", "columns"), [(120, 8), (80, 5), (50, 3)])
def test_narrow_terminals_keep_the_names(width: int, columns: int) -> None:
    from rich.console import Console

    from partial_monitoring.report.terminal import summary_table

    table = summary_table(
        [samples.comparison(samples.made_up({"ids": 0.5, "cbp": 0.6}))], width=width
    )
    assert len(table.columns) == columns
    out = Console(width=width, record=True, file=io.StringIO())
    out.print(table)
    text = out.export_text()
    assert "ids" in text
    assert "dynamic_pr" in text
    assert max(map(len, text.splitlines())) <= width
