"""Play the five cases and print one table of them: ``python -m examples.cases``."""

from __future__ import annotations

from examples.cases import apples, biopsies, incentives, mailings, phishing
from examples.cases.case import POLICIES
from examples.cases.summary import mean_and_error

CASES = (apples, mailings, incentives, biopsies, phishing)


def main() -> None:
    """Print the regret of every policy on every case, in Markdown."""
    print(f"| case | rounds | in | {' | '.join(POLICIES)} |")
    print("|---|---:|---|" + "---:|" * len(POLICIES))
    for module in CASES:
        case = module.case()
        played, cells = case.played(), []
        for name in POLICIES:
            found = mean_and_error(played[name][0][:, -1]) if name in played else None
            cells.append("-" if found is None else "{:.0f} ± {:.0f}".format(*found))
        print(f"| {case.title} | {case.rounds} | {case.unit} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
