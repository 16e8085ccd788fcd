"""The command ``pm policies``: which algorithms there are, and what is known about one of them."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import click
from click.shell_completion import CompletionItem

import partial_monitoring as pm
from partial_monitoring.cli.common import console, show_option

POLICIES = (
    "calibrated",
    "ids",
    "e2d",
    "contextual_ids",
    "dueling_ids",
    "asymptotic_ids",
    "cbp",
    "randcbp",
    "pege",
    "gcb",
    "etc",
    "tspm",
    "tspm_gaussian",
    "mario",
    "bayesian_ids",
    "bpm_ts",
    "bpm_least",
    "exp_by_opt",
    "cbpside",
    "randcbpside",
    "pg_ts",
    "pg_ids",
    "pm_dmed",
    "pm_dmed_hinge",
    "linucb",
    "lints",
    "greedy",
    "epsilon_greedy",
    "squarecb",
    "refitted",
    "probing",
    "gp_ucb",
    "gp_ts",
    "expected_improvement",
    "dueling_ts",
    "ucb1",
    "thompson",
    "random",
    "tsallis_inf",
    "feedexp3",
    "neighborhood_watch",
    "neighborhood_watch2",
)
"""The names in ``pm.policies.POLICIES``, without loading it: completion must be fast."""


def known_policies(ctx: click.Context, param: click.Parameter, word: str) -> list[CompletionItem]:
    """Complete the name of a policy."""
    return [CompletionItem(name) for name in POLICIES if name.startswith(word)]


@click.command()
@click.argument("name", required=False, shell_complete=known_policies)
@click.option("--json", "as_json", is_flag=True, help="Print JSON and nothing else.")
def policies(name: str | None, as_json: bool) -> None:
    """List the policies that come with the library, or explain the one with a NAME.

    \b
    pm policies           all of them: what they play, what they promise, what a round costs
    pm policies cbp       one of them, with its options
    """
    names = list(pm.policies.POLICIES) if name is None else [name]
    rows = [described(each) for each in names]
    if as_json:
        click.echo(json.dumps(rows if name is None else rows[0], indent=2))
    elif name is None:
        list_policies(rows)
    else:
        explain_policy(rows[0])


def described(name: str) -> dict[str, Any]:
    """Return what is known about a policy, as plain data."""
    summary, card = pm.policies.summary(name), pm.policies.card(name)
    promise = pm.policies.promise(name)
    return {
        "name": name,
        "summary": summary,
        "mode": "" if promise is None else promise.mode,
        **({} if card is None else asdict(card)),
        "options": pm.policies.options_of(name),
    }


def list_policies(rows: list[dict[str, Any]]) -> None:
    """Print a table of all policies."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="")
    table.add_column("policy", no_wrap=True)
    for column in ("setting", "games", "regret that is proven", "cost of a round"):
        table.add_column(column)
    for row in rows:
        keys = ("setting", "games", "guarantee", "cost")
        table.add_row(Text(row["name"], style="bold"), *(Text(row.get(key, "")) for key in keys))
    out = console()
    out.print(table)
    out.print(f"\n{pm.policies.DEFAULT} plays when no policy is named.")
    for name in (pm.policies.DEFAULT, "ids"):
        out.print(f"{name} is {pm.policies.promise(name)}.", markup=False)
    out.print("pm policies NAME explains one of them.")


def explain_policy(row: dict[str, Any]) -> None:
    """Print what is known about one policy."""
    from rich.table import Table
    from rich.text import Text

    out = console()
    out.print(Text(row["name"], style="bold"), Text(row["summary"]), sep="\n")
    facts = Table.grid(padding=(0, 2))
    for key, title in (
        ("setting", "setting"),
        ("games", "games"),
        ("guarantee", "regret"),
        ("cost", "cost of a round"),
        ("reference", "reference"),
    ):
        facts.add_row(Text(title, style="dim"), Text(row.get(key, "")))
    out.print("", facts, sep="\n")
    defaults = row["options"]
    if defaults:
        options = Table.grid(padding=(0, 2))
        for names, meaning in meanings_of(row["name"]):
            shown = "\n".join(show_option(name, defaults[name]) for name in names)
            options.add_row(Text(shown), Text(meaning))
        out.print("\noptions and defaults", options, sep="\n")
    first = next(iter(defaults), None)
    chosen = row["name"] if first is None else f"{row['name']}:{first}=..."
    out.print(f"\npm simulate GAME --policy {chosen}", markup=False)


def meanings_of(name: str) -> Iterator[tuple[list[str], str]]:
    """Yield what the options of a policy mean, those together that its docstring explains so."""
    text = inspect.getdoc(pm.policies.POLICIES[name]) or ""
    section = text.partition("Parameters\n----------\n")[2].partition("\n\n")[0]
    options: list[str] = []
    words: list[str] = []
    for line in [*section.splitlines(), ""]:
        if line.startswith(" "):
            words.append(line.strip())
            continue
        if options:
            yield options, plain(" ".join(words))
        options, words = line.split(", "), []


def plain(text: str) -> str:
    """Return a sentence of a docstring without its markup.

    >>> plain("As for :class:`partial_monitoring.IDS`; ``pm.gaps.exact``.")
    'As for pm.IDS; pm.gaps.exact.'
    """
    return text.replace(":class:", "").replace("partial_monitoring.", "pm.").replace("`", "")
