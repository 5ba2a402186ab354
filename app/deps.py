"""What routers ask for, by type."""

from typing import Annotated

from fastapi import Depends, Query, Request, Security
from fastapi.security import HTTPBearer
from starlette.requests import HTTPConnection
from starlette.types import Scope

from app.services.access import Caller, LinkSigner
from app.services.aliases import Aliases
from app.services.bundles.exporting import BundleExports
from app.services.bundles.importing import BundleImports
from app.services.history import History
from app.services.interactions import Interactions
from app.services.pages.changes import PageChanges
from app.services.pages.downloads import PageDownloads
from app.services.pages.lists import PageLists
from app.services.pages.pages import Pages
from app.services.pages.reading import PageReading
from app.services.references import References
from app.services.renders.renders import Renders
from app.services.resource_texts import ResourceTexts
from app.services.resources import Resources
from app.services.session_messages import SessionMessages
from app.services.sessions import Sessions
from app.services.tool_results import ToolResults
from app.services.uploads import Uploads
from app.wiring import Container


class KeyScheme(HTTPBearer):
    """Only for the document: it says that a key is taken. `Access` is what reads it."""

    async def __call__(self, request: HTTPConnection) -> None:
        """Leave the key alone."""


BEARER = Security(
    KeyScheme(
        auto_error=False,
        scheme_name="apiKey",
        description="An API key, `pf_…`; not asked for while the service runs without "
        "authentication.",
    )
)


def container_of(connection: HTTPConnection) -> Container:
    """What the lifespan opened."""
    container: Container = connection.scope["state"]["container"]
    return container


async def get_container(connection: HTTPConnection) -> Container:
    """The same, as a dependency."""
    return container_of(connection)


BearerDep = Annotated[None, BEARER]
ContainerDep = Annotated[Container, Depends(get_container)]


async def get_project(request: Request, _: BearerDep) -> str:
    """The caller's project. Raises UnauthorizedError without a valid key."""
    return await authenticate(request)


async def authenticate(connection: HTTPConnection) -> str:
    """Return the project of whoever has the key of a request, which is counted for it.

    Raises:
        UnauthorizedError: There is no valid key.
        QuotaExceededError: The key has sent too many requests.
    """
    return (await caller_by_key(connection)).project_id


async def caller_by_key(connection: HTTPConnection) -> Caller:
    """Who has the key of a request. Raises what `authenticate` does."""
    caller = await container_of(connection).access.caller_of(_authorization(connection.scope))
    count_request(connection, caller)
    return caller


def _authorization(scope: Scope) -> str | None:
    # Once for every request, so without the mapping that Starlette makes of all headers.
    for name, value in scope["headers"]:
        if name == b"authorization":
            return str(value.decode("latin-1"))
    return None


def count_request(connection: HTTPConnection, caller: Caller) -> None:
    """Count a request for who sent it. Raises QuotaExceededError: there were too many."""
    quotas = container_of(connection).quotas
    if quotas is not None:
        allowance = quotas.allowance(caller)
        connection.scope["state"]["allowance"] = allowance
        allowance.take_request()


async def get_tool_results(connection: HTTPConnection) -> ToolResults:
    """The tool results service."""
    return container_of(connection).tool_results


async def get_resources(connection: HTTPConnection) -> Resources:
    """The resources service."""
    return container_of(connection).resources


async def get_aliases(connection: HTTPConnection) -> Aliases:
    """The aliases service."""
    return container_of(connection).aliases


async def get_resource_texts(connection: HTTPConnection) -> ResourceTexts:
    """The resource texts service."""
    return container_of(connection).resource_texts


async def get_references(connection: HTTPConnection) -> References:
    """The references service."""
    return container_of(connection).references


async def get_sessions(connection: HTTPConnection) -> Sessions:
    """The sessions service."""
    return container_of(connection).sessions


async def get_session_messages(connection: HTTPConnection) -> SessionMessages:
    """The session messages service."""
    return container_of(connection).session_messages


async def get_interactions(connection: HTTPConnection) -> Interactions:
    """The interactions service."""
    return container_of(connection).interactions


async def get_renders(connection: HTTPConnection) -> Renders:
    """The renderings service."""
    return container_of(connection).renders


async def get_history(connection: HTTPConnection) -> History:
    """The history service."""
    return container_of(connection).history


async def get_bundle_exports(connection: HTTPConnection) -> BundleExports:
    """The bundle exports service."""
    return container_of(connection).bundle_exports


async def get_bundle_imports(connection: HTTPConnection) -> BundleImports:
    """The bundle imports service."""
    return container_of(connection).bundle_imports


async def get_pages(connection: HTTPConnection) -> Pages:
    """The pages service."""
    return container_of(connection).pages


async def get_page_changes(connection: HTTPConnection) -> PageChanges:
    """The page changes service."""
    return container_of(connection).page_changes


async def get_page_reading(connection: HTTPConnection) -> PageReading:
    """The page reading service."""
    return container_of(connection).page_reading


async def get_page_lists(connection: HTTPConnection) -> PageLists:
    """The page lists service."""
    return container_of(connection).page_lists


async def get_page_downloads(connection: HTTPConnection) -> PageDownloads:
    """The page downloads service."""
    return container_of(connection).page_downloads


async def get_uploads(connection: HTTPConnection) -> Uploads:
    """The uploads service."""
    return container_of(connection).uploads


async def get_links(connection: HTTPConnection) -> LinkSigner:
    """The signer of links."""
    return container_of(connection).links


ProjectDep = Annotated[str, Depends(get_project)]
ToolResultsDep = Annotated[ToolResults, Depends(get_tool_results)]
ResourcesDep = Annotated[Resources, Depends(get_resources)]
AliasesDep = Annotated[Aliases, Depends(get_aliases)]
ResourceTextsDep = Annotated[ResourceTexts, Depends(get_resource_texts)]
ReferencesDep = Annotated[References, Depends(get_references)]
SessionsDep = Annotated[Sessions, Depends(get_sessions)]
SessionMessagesDep = Annotated[SessionMessages, Depends(get_session_messages)]
InteractionsDep = Annotated[Interactions, Depends(get_interactions)]
RendersDep = Annotated[Renders, Depends(get_renders)]
HistoryDep = Annotated[History, Depends(get_history)]
BundleExportsDep = Annotated[BundleExports, Depends(get_bundle_exports)]
BundleImportsDep = Annotated[BundleImports, Depends(get_bundle_imports)]
PagesDep = Annotated[Pages, Depends(get_pages)]
PageChangesDep = Annotated[PageChanges, Depends(get_page_changes)]
PageReadingDep = Annotated[PageReading, Depends(get_page_reading)]
PageListsDep = Annotated[PageLists, Depends(get_page_lists)]
PageDownloadsDep = Annotated[PageDownloads, Depends(get_page_downloads)]
UploadsDep = Annotated[Uploads, Depends(get_uploads)]
LinksDep = Annotated[LinkSigner, Depends(get_links)]
LimitQuery = Annotated[int, Query(ge=1, le=200, description="How many items a page holds.")]
CursorQuery = Annotated[str | None, Query(description="`nextCursor` of the page before.")]
