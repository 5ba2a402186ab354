"""Dependencies of the routes: the container, and the services by their type."""

from typing import Annotated

from fastapi import Depends, Query
from starlette.requests import HTTPConnection

from app.services.access.signed_links import LinkSigner
from app.services.bundles.exporting import BundleExports
from app.services.bundles.importing import BundleImports
from app.services.pages.changes import PageChanges
from app.services.pages.downloads import PageDownloads
from app.services.pages.lists import PageLists
from app.services.pages.pages import Pages
from app.services.pages.reading import PageReading
from app.services.renders.renders import Renders
from app.services.resources.aliases import Aliases
from app.services.resources.references import References
from app.services.resources.resources import Resources
from app.services.resources.texts import ResourceTexts
from app.services.sessions.history import History
from app.services.sessions.interactions import Interactions
from app.services.sessions.messages import SessionMessages
from app.services.sessions.sessions import Sessions
from app.services.tool_results.tool_results import ToolResults
from app.services.uploads.uploads import Uploads
from app.wiring import Container


def container_of(connection: HTTPConnection) -> Container:
    """What the lifespan opened."""
    container: Container = connection.scope["state"]["container"]
    return container


async def get_container(connection: HTTPConnection) -> Container:
    """The same, as a dependency."""
    return container_of(connection)


ContainerDep = Annotated[Container, Depends(get_container)]


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
