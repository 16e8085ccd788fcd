"""Pictures of games with contexts show every possible context by itself."""

import pytest
from matplotlib.figure import Figure

import partial_monitoring as pm
from partial_monitoring.analysis.pictures.frame import short_label
from partial_monitoring.errors import InvalidInput


@pytest.mark.parametrize("name", ["survey", "segment_pricing", "contextual_apple_tasting"])
def test_every_possible_context_is_drawn(name: str) -> None:
    found = pm.analyze(pm.games.make(name))
    figure = found.plot()
    assert len(figure.axes) == len(found.possible)
    for axes, z in zip(figure.axes, found.possible, strict=True):
        title = axes.get_title()
        assert found.contexts[z].category.capitalize() in title
        assert short_label(found.game.contexts[z]) in title
    assert found.category.capitalize() in figure.get_suptitle()
    assert "<li>" in found._repr_html_()


def test_one_context_is_drawn_into_axes() -> None:
    found, figure = pm.analyze(pm.games.survey()), Figure()
    assert found.plot("silent", figure.subplots()) is figure
    assert "Hopeless" in figure.axes[0].get_title()
    with pytest.raises(InvalidInput, match="axes hold the picture of one context"):
        found.plot(ax=figure.axes[0])
    with pytest.raises(InvalidInput, match="no context named 'loud'"):
        found.plot("loud")
