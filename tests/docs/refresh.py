"""Write what the code blocks of documents print into the documents.

``python -m tests.docs.refresh`` does it for the README and all of docs/, or for the documents that
are named; and writes the page of commands. Outputs that are as good as the same stay as they are.
"""

from __future__ import annotations

import sys
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.docs.documents import DOCUMENTS, difference, lines, outputs
from tests.tools import commands


def refreshed(document: Path) -> str:
    """Return a document with the outputs that its code prints, run in the current folder."""
    text = document.read_text(encoding="utf-8")
    for start, shown, printed in reversed(list(outputs(document))):
        if difference(shown, printed):
            text = text[:start] + "\n".join(lines(printed)) + "\n" + text[start + len(shown) :]
    return text


def main(names: list[str]) -> None:
    """Refresh documents, all of them unless some are named."""
    commands.PAGE.write_text(commands.page(), encoding="utf-8")
    for document in [Path(name).resolve() for name in names] or DOCUMENTS:
        with TemporaryDirectory() as folder, chdir(folder):
            text = refreshed(document)
        if text != document.read_text(encoding="utf-8"):
            document.write_text(text, encoding="utf-8")
            print(f"{document} has new outputs: read the words around them.")


if __name__ == "__main__":
    main(sys.argv[1:])
