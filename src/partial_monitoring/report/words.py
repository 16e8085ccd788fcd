"""Numbers as people write them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from partial_monitoring.display import ELLIPSIS
from partial_monitoring.simulation.result import Exponent

MISSING = "–"
"""Stands for a number that does not exist."""

POWERS = {0.0: "0", 0.5: "1/2", 2 / 3: "2/3", 1.0: "1"}


def amount(value: float) -> str:
    """Show a number with three digits, or all digits before the point.

    >>> [amount(x) for x in (12345.6, 12.345, 0.001234, 0.0, float("inf"), float("nan"))]
    ['12,346', '12.3', '0.00123', '0', '∞', '–']
    """
    if np.isnan(value):
        return MISSING
    if np.isinf(value):
        return "∞" if value > 0 else "-∞"
    if abs(value) >= 1e9 or 0 < abs(value) < 1e-4:
        return f"{value:.2e}"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def with_error(mean: float, error: float) -> str:
    """Show a mean and its standard error to the same decimal, two digits of the error.

    >>> with_error(123.456, 1.234), with_error(5.0, float("nan")), with_error(5.0, 0.0)
    ('123.5 ± 1.2', '5', '5 ± 0')
    """
    if not np.isfinite([mean, error]).all():
        return amount(mean)
    if error == 0 or max(abs(mean), error) >= 1e9:
        return f"{amount(mean)} ± {amount(error)}"
    decimals = int(np.clip(1 - np.floor(np.log10(error)), 0, 6))
    return f"{mean:,.{decimals}f} ± {error:,.{decimals}f}"


def duration(seconds: float) -> str:
    """Show a time in the unit that suits it.

    >>> [duration(s) for s in (2.5e-7, 3.14e-5, 0.012, 7.0, 600.0)]
    ['250 ns', '31.4 µs', '12 ms', '7 s', '10 min']
    """
    if not np.isfinite(seconds):
        return MISSING
    for size, unit in ((1e-6, "ns"), (1e-3, "µs"), (1.0, "ms"), (120.0, "s")):
        if seconds < size:
            scale = {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1.0}[unit]
            return f"{amount(seconds / scale)} {unit}"
    return f"{amount(seconds / 60)} min"


def exponent(fit: Exponent | None) -> str:
    """Show a fitted exponent with its interval, if it has one.

    >>> exponent(Exponent(0.512, 0.48, 0.55)), exponent(None)
    ('0.51 (0.48 to 0.55)', '–')
    """
    if fit is None:
        return MISSING
    if not np.isfinite([fit.low, fit.high]).all():
        return f"{fit.value:.2f}"
    return f"{fit.value:.2f} ({fit.low:.2f} to {fit.high:.2f})"


def power(value: float | None) -> str:
    """Show the exponent of a class as a fraction.

    >>> power(2 / 3), power(None)
    ('2/3', '–')
    """
    return MISSING if value is None else POWERS.get(value, f"{value:.2g}")


def p_value(p: float) -> str:
    """Show a p-value.

    >>> p_value(0.00004), p_value(0.034), p_value(1.0)
    ('< 0.001', '= 0.034', '= 1')
    """
    if np.isnan(p):
        return MISSING
    return "< 0.001" if p < 0.001 else f"= {p:.2g}"


def percent(share: float) -> str:
    """Show a share.

    >>> percent(0.834), percent(float("nan"))
    ('83 %', '–')
    """
    return MISSING if np.isnan(share) else f"{100 * share:.0f} %"


def listing(names: Sequence[str]) -> str:
    """Put names into a sentence.

    >>> listing(["ids"]), listing(["ids", "cbp", "ucb"])
    ('ids', 'ids, cbp and ucb')
    """
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def counted(number: int, noun: str) -> str:
    """Count things.

    >>> counted(1, "seed"), counted(10000, "round")
    ('1 seed', '10,000 rounds')
    """
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def short(name: str, most: int = 28) -> str:
    """Put a name on one line, and cut it if it would not fit into a legend.

    >>> short("information-directed sampling", 12)
    'information…'
    """
    line = " ".join(name.split())
    return line if len(line) <= most else line[: most - 1] + ELLIPSIS


def capitalized(sentence: str) -> str:
    """Begin a sentence with a capital, leaving the rest as it is."""
    return sentence[:1].upper() + sentence[1:]
