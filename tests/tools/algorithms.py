"""Write the table of docs/algorithms/index.md: ``python -m tests.tools.algorithms``."""

from __future__ import annotations

from pathlib import Path

import partial_monitoring as pm

PAGE = Path(__file__).parents[2] / "docs" / "algorithms" / "index.md"

PAGES = {
    "asymptotic_ids": "asymptotic-ids",
    "bayesian_ids": "bayesian-ids",
    "bpm_least": "bpm",
    "bpm_ts": "bpm",
    "cbp": "cbp",
    "cbpside": "cbpside",
    "etc": "sweeps",
    "exp_by_opt": "exp-by-opt",
    "feedexp3": "feedexp3",
    "gcb": "sweeps",
    "mario": "mario",
    "neighborhood_watch": "neighborhood-watch",
    "neighborhood_watch2": "neighborhood-watch",
    "pege": "sweeps",
    "pg_ids": "polya-gamma",
    "pg_ts": "polya-gamma",
    "pm_dmed": "pm-dmed",
    "pm_dmed_hinge": "pm-dmed",
    "randcbp": "cbp",
    "randcbpside": "cbpside",
    "random": "plain-bandits",
    "thompson": "plain-bandits",
    "tsallis_inf": "tsallis-inf",
    "tspm": "tspm",
    "tspm_gaussian": "tspm",
    "ucb1": "plain-bandits",
}
"""The pages of algorithms that have one here."""

BEGIN, END = "| algorithm |", "\n\n"


def table() -> str:
    """Return the table of all policies."""
    rows = ["| algorithm | setting | games | regret that is proven | cost of a round | reference |"]
    rows.append("|---|---|---|---|---|---|")
    for name in pm.policies.POLICIES:
        card = pm.policies.card(name)
        assert card is not None
        shown = f"[`{name}`]({PAGES[name]}.md)" if name in PAGES else f"`{name}`"
        facts = card.setting, card.games, card.guarantee, card.cost, card.reference
        rows.append("| " + " | ".join([shown, *(_cell(fact) for fact in facts)]) + " |")
    return "\n".join(rows)


def page() -> str:
    """Return the page with the table as it should be."""
    text = PAGE.read_text(encoding="utf-8")
    begin = text.index(BEGIN)
    return text[:begin] + table() + text[text.index(END, begin) :]


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*").replace("_", "\\_")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"{PAGE} is written.")
