"""The commands of analytics: tables, sql, report."""

import sys
from pathlib import Path

import click

from soulrift import arguments


@click.command(epilog=arguments.example("tables --db games.db -o tables"))
@click.argument("files", nargs=-1, type=click.Path(path_type=Path, exists=True, dir_okay=False))
@arguments.db
@click.option("-o", "--out", metavar="DIR", help="The folder of the tables, or an object store; made where missing.")
@click.option("--verify", metavar="DIR", help="Prove these tables: files, records and rows; nothing is made.")
@click.option("--migrate", metavar="DIR", help="Write these tables anew, with the columns of today, in fewer files.")
@arguments.where
@arguments.form("text", "json")
def tables(
    files: tuple[Path, ...],
    db: str,
    out: str | None,
    verify: str | None,
    migrate: str | None,
    jobs: int | None,
    runner: str | None,
    scheduler: str | None,
    form: str,
) -> None:
    """Make tables for analytics, as Parquet files: of the matches of a store, or of replay FILES.

    Called again, it adds what is new: each match stands in the tables once, however often and whenever it was ended.
    """
    from soulrift import tabling
    from soulrift.running import Where

    if sum(bool(each) for each in (out, verify, migrate)) != 1:
        message = "say where the tables come with -o, or which ones to --verify or --migrate"
        raise click.UsageError(message)
    arguments.see_scheduler(runner, scheduler)
    where = Where(jobs, runner, scheduler)
    if verify is not None:
        sys.exit(tabling.verify(verify, form))
    if migrate is not None:
        tabling.rewrite(migrate, form)
    elif out is not None and files:
        sys.exit(tabling.make_of_files(files, out, where, form))
    elif out is not None:
        tabling.make_of_store(db, out, where, form)


@click.command(epilog=arguments.example("sql 'SELECT source, sum(damage) FROM soulburns GROUP BY source'"))
@click.argument("query", required=False, type=arguments.Name())
@arguments.tables
@click.option("--named", "name", metavar="NAME", help="Ask a query of the library.")
@click.option("--list", "listed", is_flag=True, help="Tell the queries of the library; with --named, the text of one.")
@click.option(
    "--format",
    "form",
    type=click.Choice(("table", "csv", "json", "parquet", "chart")),
    help="Else what the ending of FILE says (.csv .json .parquet .svg .png), else a table.",
)
@arguments.out("Write the answer into a file: Parquet needs one, a chart is drawn as .svg or .png.")
def sql(
    query: str | None, address: str, name: str | None, listed: bool, form: str | None, out: str | None, force: bool
) -> None:
    """Ask the tables by SQL, that of DuckDB; each table is a view.

    QUERY is read from standard input if it is -, or missing. On a terminal a missing one opens a shell.
    """
    from soulrift import querying

    if query is not None and (listed or name is not None):
        message = "give a QUERY, or --named one of the library, or --list these"
        raise click.UsageError(message)
    if listed:
        querying.tell_library(name)
        return
    wish = querying.wanted(form, out, replace=force)
    if name is not None:
        query = querying.text_of(name)
    elif query is None and out is None and sys.stdin.isatty() and sys.stdout.isatty():
        from soulrift.query_shell import shell

        shell(address, wish)
        return
    elif query in {None, "-"}:
        query = querying.from_standard_input()
    sys.exit(querying.ask(address, query or "", wish))


@click.command(epilog=arguments.example("report tables -o report.html --title 'Season 3'"))
@click.argument("address", metavar="[DIR]", envvar="SOULRIFT_TABLES", default="tables")
@arguments.out("Write the page into this file.", required=True)
@click.option("--title", type=arguments.Name(), help="What the page is called.")
def report(address: str, out: str, force: bool, title: str | None) -> None:
    """Write a page about the tables in DIR, to read, to print and to publish.

    It holds all that it shows: who wins, how life goes, what burns, what Souls are worth and what is wasted, with
    pictures, intervals and the numbers behind them. The same tables make the same page. DIR is a folder, or an address
    that fsspec knows; `tables` here, or what SOULRIFT_TABLES says.
    """
    from soulrift import tables_page

    tables_page.report(address, Path(out), title, replace=force)


COMMANDS = (tables, sql, report)
