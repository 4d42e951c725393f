"""Where the views of a store are: beside it, or in memory where nothing can be kept."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, cast

from domain.application import Matches
from domain.sqlite import MEMORY
from projections.models import MODELS
from projections.read_model import ReadModel
from projections.sqlite import SQLiteViews
from projections.views import Views

if TYPE_CHECKING:
    from domain.postgres import PostgresMatchRecorder


def views_of(matches: Matches, models: Iterable[ReadModel] = MODELS, name: str = "views") -> Views:
    """The views of these matches: in the file `<the store's>.views`, or in the schema `<the store's>_views`.

    They are made if they can be. Whoever opens them closes them. Read models of one's own need another `name`.

    Raises:
        ViewsError: there are none, and none can be made.

    """
    path = matches.env.get("SQLITE_DBNAME")
    if path is None:
        from projections.postgres import PostgresViews, schema_of_views

        store = cast("PostgresMatchRecorder", matches.recorder)
        return PostgresViews(store, schema_of_views(store.datastore.schema, name), models)
    return SQLiteViews(path if path == MEMORY else f"{path}.{name}", models)


def views_in_memory(models: Iterable[ReadModel] = MODELS) -> Views:
    """Views that last as long as this process, made from the whole log."""
    return SQLiteViews(MEMORY, models)
