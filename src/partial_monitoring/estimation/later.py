"""Fields of dataclasses that are computed when they are first read, and a fast way to fill them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Generic, Self, TypeVar, overload

Value = TypeVar("Value")


class Later:
    """A field that may be given as a function, which is called when the field is first read.

    Two threads that read it at the same time may both call it, so it must always return the same.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, own: Any, owner: type | None = None) -> Any:
        if own is None:
            return None  # the default of the field
        value = own.__dict__.get(self.name)
        if callable(value):
            own.__dict__[self.name] = value = value()
        return value

    def __set__(self, own: Any, value: Any) -> None:
        own.__dict__[self.name] = value


class once(Generic[Value]):  # noqa: N801  # as cached_property
    """A property that is computed when it is first read.

    As ``functools.cached_property``, but without the lock that it has before Python 3.12: two
    threads that read it at the same time may both compute it.
    """

    def __init__(self, function: Callable[[Any], Value]) -> None:
        self.function, self.__doc__ = function, function.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, own: None, owner: type) -> Self: ...
    @overload
    def __get__(self, own: object, owner: type | None = None) -> Value: ...
    def __get__(self, own: Any, owner: type | None = None) -> Self | Value:
        if own is None:
            return self
        own.__dict__[self.name] = value = self.function(own)
        return value


def attribute(own: object, name: str) -> Callable[[], Any]:
    """Return the function that reads an attribute, to be a field of another object."""
    return partial(getattr, own, name)


def filled(kind: type[Any], **values: object) -> Any:
    """Return an instance of a dataclass with values of its fields, as they are.

    Its ``__init__`` sets them one by one, which takes a few microseconds. What is left out is what
    the class has by default.
    """
    instance = object.__new__(kind)
    object.__setattr__(instance, "__dict__", values)
    return instance
