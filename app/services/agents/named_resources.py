"""Lookup of resources by handles, in a session or in the project."""

from app.services.agents.tools import ToolPlace
from app.stores.records.records import Records
from app.stores.records.resources import ResourceRecords
from app.stores.records.unit_of_work import UnitOfWork
from pagefault_dialects.context.recalls import MEDIUM_NAMED
from pagefault_dialects.model.resource import Resource
from pagefault_dialects.pages.one_line import quoted_short
from pagefault_dialects.tools.tool_arguments import WrongArgumentsError

_LONGEST_ID_CHARS = 100


async def find_resource(records: Records, place: ToolPlace, ref: str) -> Resource | None:
    """Return the resource of a handle, which may be part of a longer text."""
    found = MEDIUM_NAMED.search(ref)
    if found is None:
        return None
    resource_id = found.group(1)

    def find(unit: UnitOfWork) -> Resource | None:
        if place.scope == "project":
            return unit[ResourceRecords].find(resource_id)
        return (
            unit[ResourceRecords].find_in_session([resource_id], place.session_id).get(resource_id)
        )

    return await records.read(place.project_id, find)


def missing_ref_error(ref: str) -> WrongArgumentsError:
    """Return the error for an unknown reference."""
    return WrongArgumentsError(
        f"There is no {quoted_short(ref, _LONGEST_ID_CHARS)} here. A ref is an @blob:… or @entry:… "
        "that you were shown; list_media names those there are. read_text also takes the id of a "
        "page; search_pages finds pages by words."
    )
