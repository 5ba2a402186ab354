"""What routers ask for, by type."""

from typing import Annotated

from fastapi import Depends, Query, Request, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from app.services.access import Access, LinkSigner
from app.services.bundles.exporting import BundleExports
from app.services.bundles.importing import BundleImports
from app.services.history import History
from app.services.interactions import Interactions
from app.services.pages.changes import PageChanges
from app.services.pages.downloads import PageDownloads
from app.services.pages.faults import PageFaults
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

_bearer = HTTPBearer(
    auto_error=False,
    scheme_name="apiKey",
    description="An API key, `pf_…`; not asked for while the service runs without authentication.",
)


async def get_container(request: Request) -> Container:
    """What the lifespan opened."""
    container: Container = request.state.container
    return container


# Only for the document: it says that a key is taken. `Access` is what reads it.
BearerDep = Annotated[HTTPAuthorizationCredentials | None, Security(_bearer)]
ContainerDep = Annotated[Container, Depends(get_container)]


async def get_project(
    request: Request,
    container: ContainerDep,
    _: BearerDep,
) -> str:
    """The caller's project. Raises UnauthorizedError without a valid key."""
    return await container.access.project_of(request.headers.get("authorization"))


async def get_tool_results(container: ContainerDep) -> ToolResults:
    """The tool results service."""
    return container.tool_results


async def get_resources(container: ContainerDep) -> Resources:
    """The resources service."""
    return container.resources


async def get_resource_texts(container: ContainerDep) -> ResourceTexts:
    """The resource texts service."""
    return container.resource_texts


async def get_references(container: ContainerDep) -> References:
    """The references service."""
    return container.references


async def get_sessions(container: ContainerDep) -> Sessions:
    """The sessions service."""
    return container.sessions


async def get_session_messages(container: ContainerDep) -> SessionMessages:
    """The session messages service."""
    return container.session_messages


async def get_interactions(container: ContainerDep) -> Interactions:
    """The interactions service."""
    return container.interactions


async def get_renders(container: ContainerDep) -> Renders:
    """The renderings service."""
    return container.renders


async def get_history(container: ContainerDep) -> History:
    """The history service."""
    return container.history


async def get_bundle_exports(container: ContainerDep) -> BundleExports:
    """The bundle exports service."""
    return container.bundle_exports


async def get_bundle_imports(container: ContainerDep) -> BundleImports:
    """The bundle imports service."""
    return container.bundle_imports


async def get_pages(container: ContainerDep) -> Pages:
    """The pages service."""
    return container.pages


async def get_page_changes(container: ContainerDep) -> PageChanges:
    """The page changes service."""
    return container.page_changes


async def get_page_reading(container: ContainerDep) -> PageReading:
    """The page reading service."""
    return container.page_reading


async def get_page_faults(container: ContainerDep) -> PageFaults:
    """The page faults service."""
    return container.page_faults


async def get_page_lists(container: ContainerDep) -> PageLists:
    """The page lists service."""
    return container.page_lists


async def get_page_downloads(container: ContainerDep) -> PageDownloads:
    """The page downloads service."""
    return container.page_downloads


async def get_uploads(container: ContainerDep) -> Uploads:
    """The uploads service."""
    return container.uploads


async def get_access(container: ContainerDep) -> Access:
    """The access service."""
    return container.access


async def get_links(container: ContainerDep) -> LinkSigner:
    """The signer of links."""
    return container.links


ProjectDep = Annotated[str, Depends(get_project)]
ToolResultsDep = Annotated[ToolResults, Depends(get_tool_results)]
ResourcesDep = Annotated[Resources, Depends(get_resources)]
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
PageFaultsDep = Annotated[PageFaults, Depends(get_page_faults)]
PageListsDep = Annotated[PageLists, Depends(get_page_lists)]
PageDownloadsDep = Annotated[PageDownloads, Depends(get_page_downloads)]
UploadsDep = Annotated[Uploads, Depends(get_uploads)]
AccessDep = Annotated[Access, Depends(get_access)]
LinksDep = Annotated[LinkSigner, Depends(get_links)]
LimitQuery = Annotated[int, Query(ge=1, le=200, description="How many items a page holds.")]
CursorQuery = Annotated[str | None, Query(description="`nextCursor` of the page before.")]
