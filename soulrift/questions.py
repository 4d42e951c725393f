"""The commands that ask read models; each answers with all that is in the store when it is called."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from domain.rules.commands import MAX_INTEGER
from domain.rules.refusal import quoted
from soulrift import arguments

if TYPE_CHECKING:
    from projections.matches import MatchRow, Status
    from projections.views import Views

_forms = arguments.form("text", "json", "csv")
_match = click.argument("match", type=arguments.Name())


@click.command(epilog=arguments.example("matches --player ilse --status running"))
@click.option("--player", type=arguments.Name(), help="Only those of this player.")
@click.option("--status", type=click.Choice(["running", "ended"]), help="Only those that are running, or have ended.")
@click.option(
    "--limit",
    type=click.IntRange(1, MAX_INTEGER - 1),
    default=50,
    show_default=True,
    metavar="N",
    help="At most so many.",
)
@click.option(
    "--before",
    type=click.IntRange(1, MAX_INTEGER),
    metavar="NUMBER",
    help="Only those of a lower number: the next page.",
)
@arguments.db
@_forms
def matches(player: str | None, status: "Status | None", limit: int, before: int | None, db: str, form: str) -> None:
    """List the matches of a store, the last one begun first."""
    from projections.matches import MatchRow
    from projections.matches import matches as rows_of
    from projections.views import LAST
    from soulrift import telling
    from soulrift.answers import answer
    from soulrift.asking import asking

    with asking(db) as views:
        last = LAST if before is None else before
        more = int(form == "text")  # to see whether there is another page
        rows = list(rows_of(views, player=player, status=status, before=last, limit=limit + more))
        answer(rows, MatchRow, form, lambda rows: telling.matches(rows, limit))
    if not rows and status is None and before is None:
        _nobody(player)


def _nobody(player: str | None) -> None:
    """Say that nobody is called so, who was asked for."""
    from soulrift.terminal import complain

    if player is not None:
        complain(f"no player is called {quoted(player)} in commands; `soulrift players` lists those who are there")


@contextmanager
def _asking(db: str, match: str) -> Iterator[tuple["Views", "MatchRow"]]:
    """The views of a match, and its row in `matches`."""
    from projections.matches import match_row
    from soulrift.asking import asking

    with asking(db, match) as views:
        yield views, match_row(views, match)


@click.command(epilog=arguments.example("history long-duel --soul 4"))
@_match
@click.option("--soul", type=click.IntRange(1, MAX_INTEGER), metavar="N", help="Only this Soul.")
@arguments.db
@_forms
def history(match: str, soul: int | None, db: str, form: str) -> None:
    """Tell each Soul's life, step by step.

    Where it came from and why it has that rank, each move, what it was spent for, and the damage that this led to.
    """
    from projections.souls import SoulHistory
    from projections.souls import history as rows_of
    from soulrift import telling
    from soulrift.answers import answer
    from soulrift.notation import Names

    with _asking(db, match) as (views, row):
        souls = rows_of(views, match, soul)
        if soul is not None:
            souls = iter(found := list(souls))
            if not found:
                message = f"there is no Soul {soul} in {match}"
                raise click.BadParameter(message, param_hint="--soul")
        answer(souls, SoulHistory, form, lambda rows: telling.history(rows, Names.seated(row.players)))


@click.command(epilog=arguments.example("life long-duel"))
@_match
@arguments.db
@_forms
def life(match: str, db: str, form: str) -> None:
    """List every change of life, with its cause; on a terminal, draw it too."""
    from projections.life import LifeChange
    from projections.life import life as rows_of
    from soulrift import telling
    from soulrift.answers import answer
    from soulrift.notation import Names

    with _asking(db, match) as (views, row):
        names = Names.seated(row.players)
        answer(rows_of(views, match), LifeChange, form, lambda rows: telling.life(rows, names, row.entries))


@click.command(epilog=arguments.example("soulburn long-duel --totals"))
@_match
@click.option("--totals", is_flag=True, help="Only the sums by player and source.")
@arguments.db
@_forms
def soulburn(match: str, totals: bool, db: str, form: str) -> None:
    """List every Soulburn by source and rule, with its arithmetic."""
    from projections import soulburn as model
    from soulrift import telling
    from soulrift.answers import answer
    from soulrift.notation import Names

    with _asking(db, match) as (views, row):
        names = Names.seated(row.players)
        if totals:
            sums = model.totals(views, match)
            answer(sums, model.SoulburnTotal, form, lambda rows: telling.totals(rows, names))
        else:
            answer(model.soulburn(views, match), model.Soulburn, form, lambda rows: telling.soulburn(rows, names))


@click.command(epilog=arguments.example("payments long-duel --format csv"))
@_match
@arguments.db
@_forms
def payments(match: str, db: str, form: str) -> None:
    """List every payment and what became of it.

    Cost, Souls, overpay, whether the effect resolved or fizzled, and the least that the cheapest legal payment would
    have burned.
    """
    from projections.payments import PaymentMade
    from projections.payments import payments as rows_of
    from soulrift import telling
    from soulrift.answers import answer
    from soulrift.notation import Names

    with _asking(db, match) as (views, row):
        names = Names.seated(row.players)
        answer(rows_of(views, match), PaymentMade, form, lambda rows: telling.payments(rows, names))


@click.command(epilog=arguments.example("rifts long-duel"))
@_match
@arguments.db
@_forms
def rifts(match: str, db: str, form: str) -> None:
    """List every Rift and who came through.

    With the Souls that paid for it, and the ranks that were left unused.
    """
    from projections.rifts import RiftRecord
    from projections.rifts import rifts as rows_of
    from soulrift import telling
    from soulrift.answers import answer
    from soulrift.notation import Names

    with _asking(db, match) as (views, row):
        names = Names.seated(row.players)
        answer(rows_of(views, match), RiftRecord, form, lambda rows: telling.rifts(rows, names))


@click.command(epilog=arguments.example("census long-duel"))
@_match
@arguments.db
@_forms
def census(match: str, db: str, form: str) -> None:
    """Count the Souls in the Aether and on cards.

    By rank, after each entry; as text, only after those at which a Soul came, moved or went. On a terminal, it is drawn
    too.
    """
    from projections.census import Census, changes
    from projections.census import census as rows_of
    from soulrift import telling
    from soulrift.answers import answer

    with _asking(db, match) as (views, row):
        rows = changes(views, match) if form == "text" else rows_of(views, match, row.entries)
        answer(rows, Census, form, lambda rows: telling.census(rows, row.entries))


@click.command(epilog=arguments.example("players --format json"))
@click.option("--player", type=arguments.Name(), help="Only this player.")
@arguments.db
@_forms
def players(player: str | None, db: str, form: str) -> None:
    """List the players and how they fare.

    Over all their matches: won and lost, Souls collected and spent, Soulburn by source, Rifts by rank.
    """
    from projections.players import PlayerRow
    from projections.players import players as rows_of
    from soulrift import telling
    from soulrift.answers import answer
    from soulrift.asking import asking

    with asking(db, counted=True) as views:
        rows = list(rows_of(views, player))
        answer(rows, PlayerRow, form, telling.players)
    if not rows:
        _nobody(player)


@click.command(epilog=arguments.example("follow long-duel"))
@_match
@arguments.db
@arguments.form("text", "json")
def follow(match: str, db: str, form: str) -> None:
    """Tell a match live, entry by entry.

    The entries that are there, then each as it is appended, until the match has ended; as JSON, their lines.
    """
    from soulrift import following

    following.follow_match(db, match, form)


@click.group(epilog=arguments.example("projections status"))
def projections() -> None:
    """Look after the views that questions are asked of.

    They lie beside the store (the file games.db.views, or the schema NAME_views), and catch up whenever they are asked.
    """


@projections.command("status", epilog=arguments.example("projections status --format json"))
@arguments.db
@arguments.form("text", "json")
def status(db: str, form: str) -> None:
    """Tell how far the views are behind the log, and who follows it."""
    from soulrift import following

    following.status(db, form)


@projections.command("rebuild", epilog=arguments.example("projections rebuild --db games.db"))
@arguments.db
def rebuild(db: str) -> None:
    """Make the views anew from the whole log; matches are played on meanwhile."""
    from soulrift import following

    following.rebuild(db)


@projections.command("follow", epilog=arguments.example("projections follow --db games.db"))
@arguments.db
def follow_log(db: str) -> None:
    """Keep the views up to date until interrupted, so that no question has to wait.

    A second one waits, and takes over when the first one ends.
    """
    from soulrift import following

    following.follow(db)


COMMANDS = (matches, history, life, soulburn, payments, rifts, census, players, follow, projections)
