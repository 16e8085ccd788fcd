"""Docstrings as Markdown, for the reference: only ``make docs`` installs Griffe."""

from __future__ import annotations

from typing import Any

from griffe import Extension, Object

from tests.tools.site import as_markdown


class Markdown(Extension):
    """Rewrites every docstring before it is parsed."""

    def on_object(self, *, obj: Object, **context: Any) -> None:
        """Rewrite the docstring of a module, class, function or attribute."""
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)
