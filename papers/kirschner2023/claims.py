"""The claims of the paper, each with its experiment file, a figure, and what was found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from papers.kirschner2023.findings import against_first, growth, in_order, tradeoffs
from partial_monitoring.simulation.comparison import Comparison

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Claim:
    """A claim and how it is looked at."""

    name: str
    """Of the experiment file, and of the folder with its results."""
    title: str
    finding: Callable[[Sequence[Comparison]], str]
    """What was found, in a sentence or two made from the numbers."""
    small: tuple[int, int] = (200, 3)
    """Rounds and runs of a small version."""

    @property
    def file(self) -> Path:
        """The experiment file."""
        return HERE / f"{self.name}.toml"

    @property
    def text(self) -> str:
        """The claim, which stands at the head of the file."""
        lines = []
        for line in self.file.read_text(encoding="utf-8").splitlines():
            if not line.startswith("#"):
                break
            lines.append(line.lstrip("# "))
        return " ".join(lines)


CLAIMS = (
    Claim("rates", "How fast regret grows", growth),
    Claim("gaps", "Exact, relaxed and mean gap estimates", against_first),
    Claim("information", "Log-det and directed information", against_first),
    Claim("sampling", "Exact, approximate and deterministic sampling", against_first),
    Claim("kappa", "The exponent of the information ratio", against_first),
    Claim("e2d", "Estimation to decisions", tradeoffs),
    Claim("contexts", "Conditional and contextual IDS", against_first),
    Claim("competitors", "Beside other algorithms", against_first),
    Claim("functions", "Functions with a kernel", in_order, small=(10, 2)),
    Claim("widths", "The width of confidence sets of functions", in_order, small=(10, 2)),
    Claim("preferences", "Settings from preferences", in_order, small=(10, 2)),
)
