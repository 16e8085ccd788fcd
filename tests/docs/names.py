"""Names that the documentation uses for code."""

from importlib import import_module


def resolves(name: str) -> bool:
    """Whether a dotted name inside the package can be imported."""
    parts = ["partial_monitoring", *name.split(".")]
    for cut in range(len(parts), 0, -1):
        try:
            found: object = import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for part in parts[cut:]:
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
        return True
    return False
