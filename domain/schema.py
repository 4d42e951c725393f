"""The schema of a store's tables: what keeps their rows unique, what runs when they are written, who may read them.

Each database is asked in its own words. A table that was made anew by others, or has a trigger, lets Soulrift write
what it would otherwise refuse, or something else than what it meant.
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from domain.recorder import COMMAND_IDS, EVENTS, IDENTITY, INCOMPLETE, OPENINGS, SNAPSHOTS, STORE_FORMAT, MatchRecorder
from domain.rules.refusal import quoted

KEYS: dict[str, frozenset[str]] = {
    EVENTS: frozenset({"originator_id", "originator_version"}),
    SNAPSHOTS: frozenset({"originator_id", "originator_version"}),
    COMMAND_IDS: frozenset({"originator_id", "command_id"}),
    STORE_FORMAT: frozenset({"format"}),
    INCOMPLETE: frozenset({"originator_id"}),
    OPENINGS: frozenset({"originator_id", "commitment"}),
    IDENTITY: frozenset({"identity"}),
}
"""The columns of which no two rows of a table hold the same."""

_NAMES = ", ".join(f"'{table}'" for table in KEYS)

_KEYS_ON_SQLITE = (
    "SELECT made.name, key.name, part.name "  # noqa: S608 - names of ours
    "FROM sqlite_master AS made, pragma_index_list(made.name) AS key, pragma_index_info(key.name) AS part "
    f"WHERE made.type='table' AND made.name IN ({_NAMES}) AND key.\"unique\" AND NOT key.partial "
    "UNION ALL SELECT made.name, '', part.name FROM sqlite_master AS made, pragma_table_info(made.name) AS part "
    f"WHERE made.type='table' AND made.name IN ({_NAMES}) AND part.pk"
)
_TRIGGERS_ON_SQLITE = f"SELECT tbl_name, name FROM sqlite_master WHERE type='trigger' AND lower(tbl_name) IN ({_NAMES})"  # noqa: S608

_OURS = f"unnest(ARRAY[{_NAMES}]) AS ours (name)"
_KEYS_ON_POSTGRES = (
    f"SELECT ours.name, indexrelid::bigint, attname::text FROM {_OURS} "  # noqa: S608 - names of ours
    "JOIN pg_index ON indrelid = to_regclass(ours.name) "
    "JOIN pg_attribute ON attrelid = indrelid AND attnum = ANY(indkey) "
    "WHERE indisunique AND indisvalid AND indpred IS NULL"
)
_TRIGGERS_ON_POSTGRES = (
    f"SELECT ours.name, tgname::text FROM {_OURS} JOIN pg_trigger ON tgrelid = to_regclass(ours.name) "  # noqa: S608
    f"WHERE NOT tgisinternal UNION ALL SELECT ours.name, rulename::text FROM {_OURS} "
    "JOIN pg_rewrite ON ev_class = to_regclass(ours.name)"
)

_KEYS_BY_POSITION = {"rowid": _KEYS_ON_SQLITE, "notification_id": _KEYS_ON_POSTGRES}
_TRIGGERS_BY_POSITION = {"rowid": _TRIGGERS_ON_SQLITE, "notification_id": _TRIGGERS_ON_POSTGRES}
"""By the column of positions, which tells the two databases apart."""


def misshapen(recorder: MatchRecorder) -> Iterator[str]:
    """What is not as Soulrift made it. Meant for `reading()`: one moment of the store."""
    keys = defaultdict[tuple[str, Any], set[str]](set)
    for table, key, column in recorder.query(_KEYS_BY_POSITION[recorder.POSITION]):
        keys[table, key].add(column)
    unique = {(table, frozenset(columns)) for (table, _), columns in keys.items()}
    wanted = [(table, columns) for table, columns in KEYS.items() if recorder.has_table(table)]
    if recorder.POSITION != "rowid":
        wanted.append((EVENTS, frozenset({recorder.POSITION})))
    for table, columns in wanted:
        if (table, columns) not in unique:
            yield f"nothing keeps {', '.join(sorted(columns))} unique in {table}: it is not as Soulrift made it"
    for table, name in sorted(recorder.query(_TRIGGERS_BY_POSITION[recorder.POSITION])):
        yield f"{table} has {quoted(name)}, which is none of Soulrift's and runs when it is written"


def may_read(recorder: MatchRecorder, table: str) -> bool:
    """Whether there is such a table, and this role has the right to read it."""
    if recorder.POSITION == "rowid":
        return recorder.has_table(table)
    return recorder.query("SELECT has_table_privilege(to_regclass(?), 'SELECT')", (table,)) == [(True,)]
