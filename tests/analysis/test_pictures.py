"""What the pictures of an analysis show is what the analysis says."""

import subprocess
import sys
from functools import cache
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.text import Text

import partial_monitoring as pm
from partial_monitoring import analysis as observability
from partial_monitoring.analysis import pictures
from partial_monitoring.analysis.pictures import frame as frames
from partial_monitoring.analysis.pictures import parts
from tests.oracles.known_games import FOLDER

KNOWN = sorted(FOLDER.glob("known/*.json"))
TURN = np.arange(24) * np.pi / 12
FAN = [[1, 0], [0, 1], [-1, -1], [0.3, 0.3]]
TRIANGLE = np.sqrt(3) / 4
EXAMPLES = {
    "pricing": lambda: pm.games.dynamic_pricing(),
    "pricing of five": lambda: pm.games.dynamic_pricing([1, 2, 3, 4, 5]),
    "pricing of forty": lambda: pm.games.dynamic_pricing(range(1, 41)),
    "apple tasting": lambda: pm.games.apple_tasting(),
    "label efficient": lambda: pm.games.label_efficient(),
    "inspection": lambda: pm.games.inspection(0.25),
    "inspection at the tie": lambda: pm.games.inspection(0.5),
    "two arms on a disk": lambda: pm.games.finite_versus_linear("ball"),
    "transductive": lambda: pm.games.transductive(),
    "bandit on a disk": lambda: pm.games.linear_bandit(FAN),
    "bandit on the plane": lambda: pm.games.linear_bandit(FAN, parameters=pm.AllParameters(2)),
    "24 arms": lambda: pm.games.linear_bandit(
        np.round(np.column_stack([np.cos(TURN), np.sin(TURN)]), 3)
    ),
    "graph dueling": lambda: pm.games.graph_dueling(),
    "bernoulli bandit": lambda: pm.games.bernoulli_bandit(3),
    "box": lambda: _blind([[1, 0], [0, 1], [0.6, 0.6], [0, 0]], pm.Box([-1, -1], [1, 2])),
    "box in space": lambda: _blind([[1, 0, 0], [0, 0, 1]], pm.Box([-1, 1, -1], [1, 1, 2])),
    "quadrant": lambda: _blind([[1, 0], [0, 1]], pm.Polytope(-np.eye(2), [1, 0.5])),
    "slice": lambda: _blind(
        [[1, 0, 0, 0], [0, 0, 1, 0], [0, 1, 0, 0.5]],
        pm.Polytope(-np.eye(4), np.zeros(4), [[1, 1, 1, 1], [1, -1, 0, 0]], [1, 0]),
    ),
    "ray": lambda: _blind([[1], [0], [2]], pm.Polytope([[-1]], [3])),
    "line": lambda: _blind([[1], [-1], [0.2]], pm.AllParameters(1)),
    "point": lambda: _blind([[1, 2], [3, 4]], pm.Ball([1, 1], 0)),
    "duplicates": lambda: pm.FiniteGame(
        [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0]],
        ["aab", "abb", "ccc", "abc"],
        actions=["fish", "meat", "pasta", "trout"],
        outcomes=["wet", "dry", "windy"],
    ),
    "long names": lambda: pm.FiniteGame(
        [[3, 0, 0], [0, 3, 0], [0, 0, 3], [1.1, 1, 1]],
        ["abc"] * 4,
        actions=[f"recommend movie {i}" for i in range(4)],
        outcomes=["likes westerns", "likes nothing", "likes the book"],
    ),
} | {path.stem: lambda path=path: pm.load_game(path) for path in KNOWN}

SELDOM = [path.stem for i, path in enumerate(KNOWN) if i % 6]
"""Known games that are drawn at night only; every sixth is drawn each time."""
OFTEN = [name for name in EXAMPLES if name not in SELDOM]

AREAS = {
    "pricing": TRIANGLE,
    "duplicates": TRIANGLE,
    "two arms on a disk": np.pi,
    "transductive": np.pi,
    "24 arms": np.pi,
    "bandit on the plane": np.pi,
    "ball_offcentre_dominated_informative": np.pi / 4,
    "box": 6.0,
    "box in space": 6.0,
    "slice": np.sqrt(0.5),
}


def _blind(features, parameters) -> pm.Game:
    features = np.array(features, dtype=float)
    return pm.Game(
        features, [[row] for row in features[:1]] + [[]] * (len(features) - 1), parameters
    )


@cache
def analysis(name: str):
    return pm.analyze(EXAMPLES[name]())


@cache
def drawn(name: str) -> Figure:
    figure = analysis(name).plot()
    figure.draw_without_rendering()
    return figure


def cells(figure: Figure) -> dict[int, np.ndarray]:
    """Return the corners of the cells in the plane."""
    named = {patch.get_gid(): patch for patch in figure.axes[0].patches}
    return {int(gid[5:]): patch.get_xy()[:-1] for gid, patch in named.items() if gid}


def strokes(figure: Figure) -> dict[str, LineCollection]:
    found = {lines.get_gid(): lines for lines in figure.axes[0].collections}
    return {gid[6:]: lines for gid, lines in found.items() if gid and gid.startswith("pairs-")}


def texts(figure: Figure) -> list[str]:
    return [text.get_text().replace(r"\$", "$") for text in figure.axes[0].texts]


def every_pareto_action_is_named(name: str) -> None:
    found = analysis(name)
    words = " = ".join(texts(drawn(name))).split(" = ")
    missing = [a for a in found.pareto if found.game.actions[a] not in words]
    assert not missing


def every_pair_of_neighbouring_classes_gets_the_stroke_of_its_kind(name: str) -> None:
    found, lines = analysis(name), strokes(drawn(name))
    counts = {"local": 0, "global": 0, "never": 0}
    everything = np.vstack(
        [m @ found.game.reduced.difference_basis for m in found.game.observation_maps]
    )
    for a, b in found.neighbors:
        if {a, b} <= set(found.representatives):
            lead = found.game.reduced.features[a] - found.game.reduced.features[b]
            weights = np.linalg.lstsq(everything.T, lead, rcond=1e-8)[0]
            seen = np.allclose(everything.T @ weights, lead, atol=1e-7)
            local = found.local_readings[a, b].seen
            counts["local" if local else "global" if seen else "never"] += 1
    assert {kind: len(lines[kind].get_segments()) for kind in counts} == counts


def no_text_overlaps_another_or_leaves_the_figure(name: str) -> None:
    figure = drawn(name)
    axes = figure.axes[0]
    legend = axes.get_legend()
    shown = [text for text in axes.texts if text.get_rotation() == 0]
    boxes = [Text.get_window_extent(text) for text in shown]  # without the line to a cell
    boxes += [axes.title.get_window_extent()] + ([legend.get_window_extent()] if legend else [])
    assert not [(p, q) for p, q in combinations(boxes, 2) if p.overlaps(q)]
    assert all(box.x0 >= 0 and box.x1 <= figure.bbox.x1 for box in boxes)
    assert all(box.y0 >= 0 and box.y1 <= figure.bbox.y1 for box in boxes)


@pytest.mark.parametrize(
    "name", [*OFTEN, *(pytest.param(name, marks=pytest.mark.nightly) for name in SELDOM)]
)
def test_the_picture_says_what_the_analysis_says(name: str) -> None:
    every_pareto_action_is_named(name)
    every_pair_of_neighbouring_classes_gets_the_stroke_of_its_kind(name)
    the_legend_explains_the_strokes_that_occur(name)
    no_text_overlaps_another_or_leaves_the_figure(name)


def test_strokes_differ_in_style_and_color() -> None:
    looks = strokes(drawn("pricing"))
    dashes = {kind: lines.get_linestyle()[0][1] for kind, lines in looks.items()}
    assert dashes["local"] is None
    assert dashes["global"] is not None
    assert dashes["never"] is not None
    assert dashes["global"] != dashes["never"]
    red, green, blue, _ = looks["never"].get_color()[0]
    assert red > 0.6 > max(green, blue)


def the_legend_explains_the_strokes_that_occur(name: str) -> None:
    legend = drawn(name).axes[0].get_legend()
    said = [text.get_text() for text in legend.get_texts()] if legend else []
    for kind, lines in strokes(drawn(name)).items():
        explained = [words for words in said if words.startswith(parts.STROKES[kind].words)]
        assert len(explained) == (len(lines.get_segments()) > 0)


@pytest.mark.parametrize("name", AREAS)
def test_the_cells_fill_the_parameter_set(name: str) -> None:
    areas = [frames.area_and_centroid(corners)[0] for corners in cells(drawn(name)).values()]
    assert len(areas) == len(analysis(name).representatives)
    assert min(areas) > 0
    assert sum(areas) == pytest.approx(AREAS[name], rel=1e-4)


@pytest.mark.parametrize("name", AREAS)
def test_each_cell_is_where_its_action_is_best_and_strokes_are_ties(name: str) -> None:
    found, figure = analysis(name), drawn(name)
    chart = frames.frame_of(found)
    offsets, slopes = chart.rewards
    for a, corners in cells(figure).items():
        rewards = offsets + corners @ slopes.T
        assert (rewards[:, a] >= rewards.max(axis=1) - 1e-9 * np.ptp(rewards)).all()
    for lines in strokes(figure).values():
        for ends in lines.get_segments():
            best = np.sort(offsets + ends @ slopes.T, axis=1)[:, ::-1]
            assert best[:, 0] == pytest.approx(best[:, 1], abs=1e-9)


@given(st.integers(0, 10**6))
def test_random_cells_fill_the_triangle(seed: int) -> None:
    rng = np.random.default_rng(seed)
    found = pm.analyze(pm.FiniteGame(rng.integers(-3, 4, (5, 3)), ["abc"] * 5))
    chart = frames.frame_of(found)
    region, endless = frames.outline(chart)
    areas = [
        frames.area_and_centroid(frames.clipped(region, *chart.leads(a)))[0]
        for a in found.representatives
    ]
    assert not endless
    assert min(areas) > 0
    assert sum(areas) == pytest.approx(TRIANGLE)
    witnesses = [chart.point(found.witness(a)) for a in found.representatives]
    for a, place in zip(found.representatives, witnesses, strict=True):
        normals, bounds = chart.leads(a)
        assert (normals @ place <= bounds + 1e-9).all()


@pytest.mark.parametrize("name", ["apple tasting", "inspection", "polytope_affine_slice", "ray"])
def test_bands_cover_the_segment_and_thick_lines_are_the_best_rewards(name: str) -> None:
    found, axes = analysis(name), drawn(name).axes[0]
    lines = {line.get_gid(): line.get_xydata() for line in axes.lines if line.get_gid()}
    best = np.concatenate([lines[f"best-{a}"] for a in found.representatives])
    low, high = lines[f"line-{found.pareto[0]}"][:, 0]
    assert np.ptp(np.reshape(best[:, 0], (-1, 2)), axis=1).sum() == pytest.approx(high - low)
    offsets, slopes = frames.frame_of(found).rewards
    rewards = offsets[:, None] + slopes * best[:, 0]
    assert best[:, 1] == pytest.approx(rewards.max(axis=0), abs=1e-9)


def test_the_tie_of_two_lines_is_marked_where_it_is() -> None:
    segments = strokes(drawn("inspection"))["local"].get_segments()
    assert sorted(ends[1].tolist() for ends in segments) == [[0.25, -0.25], [0.75, -0.25]]


def test_actions_that_are_best_only_in_ties_are_marked() -> None:
    axes = drawn("inspection at the tie").axes[0]
    points = [line.get_xydata()[0] for line in axes.lines if line.get_gid() == "lone-point"]
    assert np.allclose(points, [[0.5, -0.5]])
    assert "probe 0" in texts(drawn("transductive"))


def test_what_is_not_drawn_is_said() -> None:
    words = [t.get_text() for t in drawn("dominated_informative_only").axes[0].get_legend().texts]
    assert "never best: 3" in words
    words = [t.get_text() for t in drawn("graph dueling").axes[0].get_legend().texts]
    assert "best only in ties: 0 | 1, 1 | 2" in words


def test_duplicates_share_a_cell_and_a_name() -> None:
    assert "fish = trout" in texts(drawn("duplicates"))
    assert set(cells(drawn("duplicates"))) == {0, 1, 2}
    assert "1 = 2" in texts(drawn("polytope_affine_slice"))


def test_corners_of_the_triangle_are_outcomes_and_not_mistaken_for_actions() -> None:
    assert {"wet", "dry", "windy"} <= set(texts(drawn("duplicates")))
    assert {"outcome $1", "outcome $2", "outcome $3"} <= set(texts(drawn("pricing")))
    game = pm.Game(np.eye(3), np.eye(3)[:, None], pm.Simplex(3))
    assert {r"$\theta_{1}$", r"$\theta_{3}$"} <= set(texts(pm.analyze(game).plot()))


@pytest.mark.parametrize(
    ("name", "x", "y"),
    [
        ("transductive", r"$\theta_{1}$", r"$\theta_{2}$"),
        ("box in space", r"$\theta_{1}$", r"$\theta_{3}$"),
        ("apple tasting", "probability of rotten", "expected reward"),
        ("line", r"$\theta_{1}$", "expected reward"),
    ],
)
def test_axes_are_named(name: str, x: str, y: str) -> None:
    axes = drawn(name).axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == (x, y)


def test_a_segment_without_a_name_has_parameters_at_its_ends() -> None:
    ticks = drawn("polytope_affine_slice").axes[0].get_xticklabels()
    assert {tick.get_text() for tick in ticks} == {"(0, 0.5, 0.5)", "(1, 0, 0)"}


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("spam_filter_c0", "Trivial: one action is always best"),
        ("apple tasting", "Easy: regret grows like $n^{1/2}$"),
        ("pricing", "Hard: regret grows like $n^{2/3}$"),
        ("matching_pennies_none", "Hopeless: regret grows like $n$"),
    ],
)
def test_the_title_says_how_hard_the_game_is(name: str, title: str) -> None:
    assert drawn(name).axes[0].get_title() == title


@pytest.mark.parametrize("name", ["24 arms", "transductive", "pricing", "box"])
def test_neighbouring_cells_differ_in_color(name: str) -> None:
    axes = drawn(name).axes[0]
    colors = {p.get_gid(): p.get_facecolor() for p in axes.patches}
    for a, b in analysis(name).neighbors:
        assert colors[f"cell-{a}"] != colors[f"cell-{b}"]


@pytest.mark.parametrize("name", ["pricing", "inspection", "bandit on the plane", "graph dueling"])
@pytest.mark.parametrize(
    ("ending", "start"), [("svg", b"<?xml"), ("pdf", b"%PDF"), ("png", b"\x89PNG")]
)
def test_pictures_are_saved(name: str, ending: str, start: bytes, tmp_path: Path) -> None:
    file = tmp_path / f"picture.{ending}"
    drawn(name).savefig(file)
    assert file.read_bytes().startswith(start)


def test_svg_names_its_parts(tmp_path: Path) -> None:
    drawn("pricing").savefig(tmp_path / "picture.svg")
    picture = (tmp_path / "picture.svg").read_text()
    assert all(f'id="{part}"' in picture for part in ("cell-0", "cell-2", "pairs-global"))


@pytest.mark.parametrize("name", ["pricing", "inspection", "bandit on a disk", "pricing of five"])
def test_given_axes_are_used(name: str) -> None:
    figure = Figure(figsize=(8, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    assert analysis(name).plot(right) is figure
    assert right.get_title() == drawn(name).axes[0].get_title()
    assert len(right.collections) == 3
    assert not left.collections
    assert not left.texts
    assert figure.get_size_inches().tolist() == [8, 4]


def test_axes_of_a_subfigure_return_the_whole_figure() -> None:
    figure = Figure()
    part = figure.subfigures(1, 2)[0]
    assert analysis("pricing").plot(part.add_subplot()) is figure


def test_a_new_figure_fits_a_column_and_shows_itself_in_a_notebook() -> None:
    figure = drawn("pricing")
    assert figure.get_figwidth() <= 3.5
    sizes = [text.get_fontsize() for text in figure.axes[0].texts]
    assert min(sizes) >= 6
    assert figure._repr_png_().startswith(b"\x89PNG")


def test_drawing_leaves_pyplot_alone() -> None:
    code = """
import sys, partial_monitoring as pm
analysis = pm.analyze(pm.games.apple_tasting())
assert "matplotlib" not in sys.modules
analysis.plot()
assert "matplotlib" in sys.modules and "matplotlib.pyplot" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_missing_matplotlib_is_said_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]
    for name in loaded:
        monkeypatch.setitem(sys.modules, name, None)
    for name in [name for name in sys.modules if name.startswith(pictures.__name__)]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr(observability, "pictures")
    with pytest.raises(pm.errors.InvalidInput) as caught:
        analysis("apple tasting").plot()
    assert str(caught.value) == (
        "drawing needs matplotlib; install it with: pip install matplotlib."
    )


@given(st.lists(st.tuples(st.floats(-5, 5), st.floats(0.01, 1)), min_size=1, max_size=8))
def test_spread_keeps_order_and_distance(boxes: list[tuple[float, float]]) -> None:
    places, sizes = np.array(sorted(boxes)).T
    moved = frames.moved_apart(places, sizes, -10, 10)
    gaps = (sizes[1:] + sizes[:-1]) / 2
    assert (np.diff(moved) >= gaps - 1e-9).all()
    assert moved[0] - sizes[0] / 2 >= -10
    assert moved[-1] + sizes[-1] / 2 <= 10
    if (np.diff(places) >= gaps).all():
        assert moved == pytest.approx(places)


@given(st.integers(0, 10**6))
def test_the_roomiest_place_holds_the_box(seed: int) -> None:
    rng = np.random.default_rng(seed)
    angles = np.sort(rng.uniform(0, 2 * np.pi, 7))
    polygon = np.column_stack([3 * np.cos(angles), np.sin(angles)])
    half = rng.uniform(0.05, 0.4, 2)
    place, room = frames.roomiest(polygon, half)
    corners = place + 0.999 * room * half * [[1, 1], [1, -1], [-1, 1], [-1, -1]]
    steps = np.roll(polygon, -1, axis=0) - polygon
    away = corners[:, None] - polygon
    assert (steps[:, 0] * away[..., 1] - steps[:, 1] * away[..., 0] >= -1e-9).all()
