"""Dependencies of the routes: the container, and the services by their type."""

from typing import Annotated

from fastapi import Depends, params
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
    """Return what the lifespan opened."""
    container: Container = connection.scope["state"]["container"]
    return container


async def get_container(connection: HTTPConnection) -> Container:
    """Return the same, as a dependency."""
    return container_of(connection)


ContainerDep = Annotated[Container, Depends(get_container)]


def _service(name: str) -> params.Depends:
    """Return the dependency of a route on a service, by its name in the container."""

    async def get_service(connection: HTTPConnection) -> object:
        return getattr(container_of(connection), name)

    dependency: params.Depends = Depends(get_service)
    return dependency


ToolResultsDep = Annotated[ToolResults, _service("tool_results")]
ResourcesDep = Annotated[Resources, _service("resources")]
AliasesDep = Annotated[Aliases, _service("aliases")]
ResourceTextsDep = Annotated[ResourceTexts, _service("resource_texts")]
ReferencesDep = Annotated[References, _service("references")]
SessionsDep = Annotated[Sessions, _service("sessions")]
SessionMessagesDep = Annotated[SessionMessages, _service("session_messages")]
InteractionsDep = Annotated[Interactions, _service("interactions")]
RendersDep = Annotated[Renders, _service("renders")]
HistoryDep = Annotated[History, _service("history")]
BundleExportsDep = Annotated[BundleExports, _service("bundle_exports")]
BundleImportsDep = Annotated[BundleImports, _service("bundle_imports")]
PagesDep = Annotated[Pages, _service("pages")]
PageChangesDep = Annotated[PageChanges, _service("page_changes")]
PageReadingDep = Annotated[PageReading, _service("page_reading")]
PageListsDep = Annotated[PageLists, _service("page_lists")]
PageDownloadsDep = Annotated[PageDownloads, _service("page_downloads")]
UploadsDep = Annotated[Uploads, _service("uploads")]
LinksDep = Annotated[LinkSigner, _service("links")]
