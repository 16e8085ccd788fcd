"""The base class of kernels that are given by a few numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from partial_monitoring import validation
from partial_monitoring.errors import InvalidInput
from partial_monitoring.kernels.base import Kernel
from partial_monitoring.validation import Array

Scales = float | Sequence[float] | Array
"""One positive number for all dimensions, or one for each; kept as a float or a tuple."""


MOST_DEGREE = 100
"""Largest degree of a polynomial."""


class Elementary(Kernel):
    """A frozen dataclass of numbers; those in ``FREE`` are parameters unless they are zero."""

    TYPE: ClassVar[str]
    """Its name in files."""
    FREE: ClassVar[tuple[str, ...]]
    SIZE: ClassVar[str] = "variance"
    """The field that a factor multiplies."""

    def __post_init__(self) -> None:
        own = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        validation.set_fields(
            self, **{name: CHECKS[name](name, value) for name, value in own.items()}
        )

    @property
    def differentiable(self) -> bool:
        return True

    @property
    def certified(self) -> bool:
        return True

    @property
    def parameters(self) -> dict[str, float]:
        found: dict[str, float] = {}
        for name in self.FREE:
            value = getattr(self, name)
            if isinstance(value, tuple):
                found |= {f"{name}[{i}]": number for i, number in enumerate(value)}
            elif value > 0:
                found[name] = value
        return found

    def _with(self, values: Mapping[str, float]) -> Self:
        new: dict[str, float | tuple[float, ...]] = {}
        for name in self.FREE:
            old = getattr(self, name)
            if isinstance(old, tuple):
                new[name] = tuple(values[f"{name}[{i}]"] for i in range(len(old)))
            else:
                new[name] = values.get(name, old)
        return replace(self, **new)  # type: ignore[type-var]

    def to_dict(self) -> dict[str, Any]:
        numbers = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        plain = {k: list(v) if isinstance(v, tuple) else v for k, v in numbers.items()}
        return {"type": self.TYPE} | plain

    def _scaled(self, factor: float) -> Kernel:
        return replace(self, **{self.SIZE: factor * getattr(self, self.SIZE)})  # type: ignore[type-var]


def positive_scales(name: str, value: object) -> float | tuple[float, ...]:
    """Validate a positive number, or a sequence of them."""
    if validation.axes(value) == 0:
        return validation.positive_number(name, value)
    array = validation.real_array(name, value, ("p",))  # type: ignore[arg-type]
    if len(array) == 0:
        raise InvalidInput(f"{name} must have at least one entry; got none.")
    if (array <= 0).any():
        i = int((array <= 0).argmax())
        raise InvalidInput(f"{name} must be positive; got {array[i]:g} at index {i}.")
    validation.positive_number(name, float(array.min()))
    return tuple(array.tolist())


def _smoothness(name: str, value: object) -> float:
    nu = validation.real_number(name, value)
    if nu not in (0.5, 1.5, 2.5):
        raise InvalidInput(f"{name} must be 0.5, 1.5 or 2.5; got {validation.brief(value)}.")
    return nu


CHECKS: Mapping[str, Callable[[str, object], Any]] = {
    "lengthscale": positive_scales,
    "period": positive_scales,
    "variance": validation.positive_number,
    "value": validation.positive_number,
    "offset": validation.non_negative_number,
    "degree": partial(validation.whole_number, at_least=1, at_most=MOST_DEGREE),
    "nu": _smoothness,
}
"""How each number of a kernel is validated, by its name."""


def per_dimension(name: str, value: Scales, x: Array) -> Array:
    """Return one number for each column of x, shape (p,)."""
    array = np.asarray(value, dtype=float)
    p = x.shape[1]
    if array.ndim == 1 and len(array) != p:
        raise InvalidInput(
            f"x must have {len(array)} columns, one for each {name}; got shape {x.shape}."
        )
    return np.broadcast_to(array, (p,))
