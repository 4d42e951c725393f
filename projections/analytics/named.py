"""The library of named queries: files of SQL, which say in their first lines what they answer."""

from importlib.resources import files
from itertools import takewhile

from msgspec import Struct

_QUERIES = files("projections.analytics") / "queries"
_ENDING = ".sql"


class Named(Struct, frozen=True):
    """A named query: its title, what it answers, column by column, and by which definition; and all of its text."""

    name: str
    title: str
    about: str
    sql: str


class UnknownQueryError(Exception):
    """There is no query of this name; the message says which there are."""


def names() -> list[str]:
    """The names of all queries, sorted."""
    return sorted(file.name.removesuffix(_ENDING) for file in _QUERIES.iterdir() if file.name.endswith(_ENDING))


def named(name: str) -> Named:
    """The query of this name.

    Raises:
        UnknownQueryError: there is none.

    """
    if name not in names():
        raise UnknownQueryError(f"there is no query {name}; there are {', '.join(names())}")
    sql = (_QUERIES / f"{name}{_ENDING}").read_text("utf-8")
    told = [line[2:].removeprefix(" ") for line in takewhile(lambda line: line.startswith("--"), sql.splitlines())]
    return Named(name, told[0], "\n".join(told[1:]).strip(), sql)
