"""Write docs/leaderboard.md from what was played: ``python -m tests.tools.leaderboard FOLDER``.

FOLDER is that of ``pm run leaderboard.toml --out FOLDER``.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from partial_monitoring.experiments.store import open_store, stored_comparisons
from partial_monitoring.report.summary import Section, sections
from partial_monitoring.report.tables import Row, markdown, places_for_people, summary_for_people

DOCS = Path(__file__).parents[2] / "docs"

INTRODUCTION = """\
# The leaderboard

All policies of the library on {instances} pairs of a game and an opponent ({games} games) for
{rounds:,} rounds. Every policy plays what its theory allows, with the options that lose least;
`calibrated` is the default, with default options. Most policies have 200 seeds; those that solve
a program in every round have 20 to 100, and two policies are compared on the seeds that both
have played.

```bash
pm run leaderboard.toml          # hours; finished runs are kept, and nothing is played twice
python -m tests.tools.leaderboard leaderboard     # this page
```

*Regret over the least*: on each instance the mean regret is divided by the least one of all
policies that played it; the column has the geometric mean over the instances that a policy
played, and *at most* the largest ratio. *Linear regret* is the share of seeds that in the second
half of the rounds still lose at least half of the gap between the best action and the next one
per round. Where the least regret is not above zero there are no ratios: some policies do better
than the best action in hindsight against opponents that change.

## Policies for many games

"""

FEW = """
## Policies for particular games

They play fewer than half of the instances, and are compared on those only: what others lose there
is in the tables of these games.

"""

GAMES = """
## Game by game

Mean regret with its standard error, median, 95 % quantile and share of seeds with linear regret
after {rounds:,} rounds, the least mean first.
"""

COLUMNS = ("policy", "mean regret", "median", "95 %", "linear", "seeds", "time per round")


def page(found: Sequence[Section]) -> str:
    """Return the page."""
    rounds = max(int(own.comparison.result.checkpoints[-1]) for own in found)
    games = len({own.comparison.title.partition(",")[0] for own in found})
    facts = {"games": games, "instances": len(found), "rounds": rounds}
    places = places_for_people(found)
    half = max(int(own["instances"]) for own in places) / 2
    blocks = [INTRODUCTION.format(**facts)]
    blocks += [_ranked([own for own in places if own["instances"] >= half]), FEW]
    blocks.append(_ranked([own for own in places if own["instances"] < half]))
    blocks.append(GAMES.format(**facts))
    blocks += map(_section, found)
    return "".join(blocks).rstrip() + "\n"


def _ranked(places: Sequence[Row]) -> str:
    """Return a table of some of the places, counted from 1."""
    return markdown([own | {"": rank} for rank, own in enumerate(places, start=1)])


def _section(own: Section) -> str:
    """Return the table of one instance, the least regret first."""
    rows = dict(zip(own.by_policy, summary_for_people([own]), strict=True))
    best = sorted(own.summaries, key=lambda summary: summary.mean)
    table = [
        {
            name: (rows[summary.policy] | {"seeds": _seeds(own, summary.policy)})[name]
            for name in COLUMNS
        }
        for summary in best
    ]
    return f"\n### {own.comparison.title}\n\n{own.verdict.category}\n\n{markdown(table)}"


def _seeds(own: Section, policy: str) -> int:
    """Return how many seeds a policy has played."""
    return int(np.isfinite(own.comparison.result.regret[policy][:, -1]).sum())


if __name__ == "__main__":
    (folder,) = sys.argv[1:]
    compared = stored_comparisons(open_store(folder))
    (DOCS / "leaderboard.md").write_text(page(sections(compared)), encoding="utf-8")
