"""The commands ``pm store``: databases of studies are copied, upgraded, checked and exported."""

from __future__ import annotations

from pathlib import Path

import click

from partial_monitoring.storage.formats import FORMATS, WHAT


@click.group("store")
def store() -> None:
    """Look after a database of learners, given by its address.

    \b
    pm store check sqlite:///shop.db                        is everything as it was written?
    pm store copy sqlite:///shop.db postgresql://db/shop    when one process is not enough
    pm store export sqlite:///shop.db pricing log.ndjson    one learner's log
    pm store export sqlite:///shop.db pricing x.parquet     its decisions, for analysis; or x.csv
    pm store upgrade sqlite:///shop.db                      after an upgrade of the library
    """


@store.command("copy")
@click.argument("source")
@click.argument("target")
@click.option("--study", "names", multiple=True, help="Only this study; may be repeated.")
def copy(source: str, target: str, names: tuple[str, ...]) -> None:
    """Copy the studies of a database to another one, and compare.

    A copy that was interrupted is completed by the same command, and one that is older is brought
    up to date. Nothing in the target is changed but by adding to it; state and settings are those
    of the source. Tokens are not copied.
    """
    from partial_monitoring.storage.copying import copied
    from partial_monitoring.storage.opened import database_at

    one, two = database_at(source, writes=False), database_at(target)
    for name in names or one.names():
        count = copied(one, two, name)
        click.echo(f"{name}: {count.total:,} events, {count.new:,} of them new; all are equal.")


@store.command("upgrade")
@click.argument("address")
def upgrade(address: str) -> None:
    """Change the tables of a database to those of this version, all or none.

    A file is copied first.
    """
    from partial_monitoring.storage.opened import database_at

    database = database_at(address, check=False)
    done = database.upgrade()
    if done.kept:
        click.echo(f"The file as it was: {done.kept}")
    changed, same = f"Schema {done.before} is now", f"Schema {done.latest}, as before."
    click.echo(f"{changed} {done.latest}." if done.changed else same)
    database.close()


@store.command("check")
@click.argument("address")
@click.option("--study", "names", multiple=True, help="Only this study; may be repeated.")
@click.pass_context
def check(ctx: click.Context, address: str, names: tuple[str, ...]) -> None:
    """Check a database: its files, its logs, and every decision, computed again.

    The exit code is 1 if something is wrong.
    """
    from partial_monitoring.learner.checking import checked
    from partial_monitoring.storage.checks import wrong_tokens
    from partial_monitoring.storage.opened import database_at

    database = database_at(address, writes=False)
    problems = [*database.handle.problems(), *wrong_tokens(database)]
    for said in problems:
        click.echo(f"{database.address}: {said}")
    for name in names or database.names():
        found = checked(database, name)
        problems += found.problems
        for said in found.problems or [f"{found.events:,} events; replayed, all is equal."]:
            click.echo(f"{name}: {said}")
    ctx.exit(1 if problems else 0)


@store.command("export")
@click.argument("address")
@click.argument("study")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--format", "form", type=click.Choice(FORMATS), help="Unless FILE ends with it.")
@click.option(
    "--what",
    type=click.Choice(WHAT),
    help="One row per decision, or per event; decisions, but events as NDJSON.",
)
def export(address: str, study: str, file: Path, form: str | None, what: str | None) -> None:
    """Write the decisions or the log of a study to a file that does not exist yet.

    The log as lines of JSON is one that a learner can go on with: pm.Learner(game,
    storage="log.ndjson").
    """
    from partial_monitoring import disk
    from partial_monitoring.errors import InvalidInput
    from partial_monitoring.storage.copying import found
    from partial_monitoring.storage.editions import editions
    from partial_monitoring.storage.exporting import exported_rows
    from partial_monitoring.storage.opened import database_at

    form = form or file.suffix.removeprefix(".").lower()
    if form not in FORMATS:
        raise InvalidInput(f"file must end with one of {', '.join(FORMATS)}; got {file.name!r}.")
    what = what or ("events" if form == "ndjson" else "decisions")
    database, counts = database_at(address, writes=False), list[int]()
    own = found(database, study)
    if file.exists():
        raise InvalidInput(f"{file}: exists already.")
    disk.write_parts(
        file, exported_rows(own, what, form, before=editions(database, study), count=counts.append)
    )
    click.echo(f"{file}: {sum(counts):,} {what}.")
