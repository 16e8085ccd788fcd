"""Curves of results: figures for papers, axes of the user, bands that are explained."""

from io import BytesIO
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput

ROUNDS = np.array([1, 10, 100, 1000])


def made(*policies: str, seeds: int = 5, horizon: int = 1000) -> pm.Result:
    """Return a result in which the regret of policy i, seed s is (i + s + 1) sqrt(t)."""
    rounds = ROUNDS[horizon >= ROUNDS]
    grown = np.arange(1, seeds + 1)[:, None] * np.sqrt(rounds)
    regret = {name: grown + i * np.sqrt(rounds) for i, name in enumerate(policies)}
    nothing = {name: np.full_like(grown, np.nan) for name in policies}
    plays = {name: np.zeros((seeds, len(rounds), 2), dtype=np.int64) for name in policies}
    theta = np.zeros((seeds, 2))
    return pm.Result(np.arange(seeds), rounds, theta, regret, nothing, nothing, plays)


def texts(figure: Figure) -> list[str]:
    legends = [*figure.legends, *(ax.get_legend() for ax in figure.axes if ax.get_legend())]
    return [text.get_text() for legend in legends for text in legend.get_texts()]


def test_a_result_draws_its_mean_regret() -> None:
    result = made("ids", "cbp")
    figure = result.plot()
    (axes,) = figure.axes
    for line, name in zip(axes.get_lines(), result.policies, strict=True):
        np.testing.assert_allclose(line.get_ydata(), result.mean(name))
        np.testing.assert_array_equal(line.get_xdata(), result.checkpoints)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("round", "regret")
    assert axes.get_title() == "1,000 rounds, 5 seeds"
    assert texts(figure) == ["ids", "cbp", "mean ± standard error", "5 % to 95 % of the seeds"]
    buffer = BytesIO()
    figure.savefig(buffer, format="pdf")
    assert buffer.getvalue().startswith(b"%PDF")


@pytest.mark.parametrize(
    ("band", "count", "words"),
    [
        ("both", 2, {"mean ± standard error", "5 % to 95 % of the seeds"}),
        ("error", 1, {"mean ± standard error"}),
        ("quantiles", 1, {"5 % to 95 % of the seeds"}),
        ("none", 0, set()),
    ],
)
def test_the_chosen_bands_are_drawn_and_explained(band: str, count: int, words: set[str]) -> None:
    result = made("ids")
    figure = result.plot(band=band)
    bands = [own for own in figure.axes[0].collections if isinstance(own, PolyCollection)]
    assert len(bands) == count
    assert set(texts(figure)) == {"ids", *words}
    tops = [own.get_paths()[0].vertices[:, 1].max() for own in bands]
    error = float(result.mean("ids")[-1] + result.standard_error("ids")[-1])
    expected = {"quantiles": float(result.quantile("ids", 0.95)[-1]), "error": error}
    shown = [own for own in expected if band in (own, "both")]
    assert tops == pytest.approx([expected[own] for own in shown])


def test_one_seed_has_no_band() -> None:
    figure = made("ids", seeds=1).plot()
    assert not figure.axes[0].collections
    assert texts(figure) == ["ids"]
    assert "1 seed" in figure.axes[0].get_title()


@pytest.mark.parametrize(("columns", "width"), [(1, 3.4), (2, 7.0)])
def test_figures_have_the_width_of_columns_of_a_paper(columns: int, width: float) -> None:
    figure = made("ids", "a policy of a rather long name").plot(
        columns=columns, height=2.5, font_size=6, title="Pricing"
    )
    assert tuple(figure.get_size_inches()) == (width, 2.5)
    axes = figure.axes[0]
    assert axes.title.get_fontsize() == axes.xaxis.label.get_fontsize() == 6
    assert axes.get_title() == "Pricing"
    figure.draw_without_rendering()
    box = figure.get_tightbbox()
    assert box.x0 >= -0.01
    assert box.x1 <= width + 0.01


def test_curves_go_into_axes_of_the_user() -> None:
    figure = Figure()
    left, right = figure.subplots(1, 2)
    with mpl.rc_context({"axes.labelsize": 17}):
        assert pm.plot.regret(made("ids"), ax=left, legend=False, title="") is figure
    made("ids").plot(right, scale="log", font_size=5)
    assert left.get_legend() is None
    assert left.get_title() == ""
    assert right.get_xscale() == right.get_yscale() == "log"
    assert right.xaxis.label.get_fontsize() == 5


def test_a_policy_has_one_colour_and_one_name_in_all_panels() -> None:
    game = pm.games.apple_tasting()
    street = pm.Comparison("apples", game, "random", {}, made("cbp", "ids"))
    figure = pm.plot.regret([made("ids"), street], columns=2)
    first, second = figure.axes
    assert first.get_lines()[0].get_color() == second.get_lines()[1].get_color()
    assert len({to_hex(line.get_color()) for line in second.get_lines()}) == 2
    assert texts(figure)[:2] == ["ids", "cbp"]
    assert second.get_title() == "apples, θ = random"
    named = pm.plot.regret({"$1": made("ids"), "_two": made("ids")})
    assert [axes.get_title() for axes in named.axes] == [r"\$1", " _two"]


def test_policies_without_information_are_left_out() -> None:
    assert not pm.plot.information(made("cbp")).axes[0].get_lines()
    played = pm.simulate(pm.games.apple_tasting(), "ids", "random", horizon=20, seeds=2)
    axes = pm.plot.information(played).axes[0]
    np.testing.assert_allclose(axes.get_lines()[0].get_ydata(), played.information["ids"].mean(0))
    assert axes.get_ylabel() == "information gained"


BAD: list[tuple[Any, str]] = [
    (lambda: pm.plot.regret(3), "results must be a Result or several of them; got 3."),
    (lambda: pm.plot.regret([]), "results must be a Result or several of them; got []."),
    (lambda: pm.plot.regret([3]), "results must be Result objects; got 3."),
    (lambda: made("a").plot(band="wide"), "band must be one of 'both', 'error', 'quantiles', 'no"),
    (lambda: made("a").plot(scale="cubic"), "scale must be one of 'linear', 'log'; got 'cubic'."),
    (lambda: made("a").plot(columns=3), "columns must be 1 or 2; got 3."),
    (lambda: made("a").plot(font_size=0), "font_size must be positive; got 0."),
    (lambda: made("a").plot(legend="no"), "legend must be true or false; got 'no'."),
    (lambda: made("a").plot(colour="red"), "no option of plot named 'colour'; did you mean"),
    (lambda: made("a").plot(ax=3), "ax must be matplotlib axes, 1 of them; got 3."),
]


def test_long_names_that_begin_alike_keep_entries_of_their_own() -> None:
    names = [f"{i} information-directed sampling with option {i}" for i in range(3)]
    alike = [name[2:] for name in names]
    for given in (names, alike):
        shown = texts(made(*given).plot(band="none"))
        assert len(set(shown)) == 3
        assert max(map(len, shown)) == 28
    equal = [f"information-directed {word} sampling, option" for word in ("slow", "fast")]
    assert len(texts(made(*equal).plot(band="none"))) == 2
    two_panels = pm.plot.regret([made(*alike), made(*alike)], band="none")
    assert len(texts(two_panels)) == 3


def test_one_round_is_one_round() -> None:
    assert made("ids", seeds=1, horizon=1).title == "1 round, 1 seed"


@pytest.mark.parametrize(("call", "message"), BAD, ids=[message for _, message in BAD])
def test_bad_input_gets_one_sentence(call: Any, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        call()
    assert str(caught.value).startswith(message)


def test_a_result_shows_its_numbers_and_nothing_meaningless() -> None:
    result = made("ids", "cbp")
    text, html = str(result), result._repr_html_()
    assert text.startswith("Regret after 1,000 rounds, 5 seeds")
    assert "94.87" in text
    assert "22.36" in text
    assert html.count("<tr>") == 3
    alone = made("<ids>", seeds=1)
    assert "±" not in str(alone)
    assert "&lt;ids&gt;" in alone._repr_html_()
    assert repr(alone) == "Result(horizon=1000, seeds=1, mean regret <ids>: 31.62)"
