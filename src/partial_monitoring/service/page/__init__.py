"""The page: studies as people see them, in a browser, without anything from elsewhere.

Templates are rendered by the server and escape all that they show; the two scripts follow changes,
draw charts and edit the table of a new game. Nothing is written into a page as HTML or as a style,
so that the content-security policy (``render.POLICY``) can forbid both.

================ ===================================================================
file             what it does
================ ===================================================================
``addresses.py`` which address shows what
``showing.py``   pages that are looked at
``acting.py``    forms that are sent: ask, tell, pause, void, edit, create, ...
``site.py``      what all pages share
``guard.py``     who is logged in, and that a form comes from a page of this server
``study.py``     what the page of a study shows, from the views
``rows.py``      decisions as tables and pages show them
``gaming.py``    the game of a study: its class, its picture, its file
``drawing.py``   what its charts show, from the trace
``forms.py``     bodies of forms, tables, options and rows that were typed
``render.py``    templates, files and headers
``words.py``     numbers and times as people read them
================ ===================================================================
"""

from __future__ import annotations

from typing import Any


def routes(service: Any) -> list[Any]:
    """Return the routes of the page of a service."""
    from partial_monitoring.service.page import addresses

    return list(addresses.routes(service))
