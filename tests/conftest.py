import os
from typing import Any

# Tests run side by side, one process for each core: more threads would wait for each other.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import pytest  # noqa: E402
from hypothesis import settings  # noqa: E402

pytest.register_assert_rewrite("tests.oracles")

settings.register_profile("default", deadline=None, derandomize=True, max_examples=60)
settings.register_profile("nightly", deadline=None, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.fixture(autouse=True, scope="session")
def always_compiled() -> None:
    """Let learners wait for compiled functions, whose numbers are compared bit by bit."""
    from partial_monitoring.learner import spec

    spec.MOST_UNCOMPILED = 0


@pytest.fixture
def no_drawing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let reports hold empty figures; what is drawn is tested in tests/report."""
    for kind in ("svg", "pdf"):
        empty = "<svg></svg>" if kind == "svg" else "%PDF"
        monkeypatch.setattr(
            f"partial_monitoring.report.figures.{kind}", lambda figure, empty=empty: empty.encode()
        )


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print how many attacks of each area were tried, refused, answered and failed."""
    reports = [r for found in terminalreporter.stats.values() for r in found]
    called = [r for r in reports if getattr(r, "when", None) == "call"]
    rows = [row for r in called for name, row in r.user_properties if name == "attacks"]
    if rows:
        from tests.attacks.judge import table

        terminalreporter.section("attacks")
        terminalreporter.write_line(table(rows))
