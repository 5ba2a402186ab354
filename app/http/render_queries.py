"""Query parameters for rendering records and sessions: targets, options and frontiers."""

from typing import Annotated

from fastapi import Query
from pydantic import ConfigDict
from typing_extensions import Doc

from app.services.renders.queries import RenderQuery
from app.wire.renders import AT_DESCRIPTION, SINCE_DESCRIPTION, OptionsModel, Target, select_members
from pagefault_dialects.model.base import ClientId, Count
from pagefault_dialects.model.render_options import (
    CountTokens,
    Handles,
    MaxImagePixels,
    MaxText,
    RecordRenderOptions,
    RenderOptions,
)

TargetQuery = Annotated[Target, Query(description="The dialect of the messages.")]
SinceQuery = Annotated[Count, Query(description=SINCE_DESCRIPTION)]
FrontierQuery = Annotated[
    ClientId | None,
    Doc(
        "The name of the frontier, which records what earlier renderings evicted. This request "
        "reads the frontier without moving it. POST to this path and turns move it."
    ),
]


class OptionsQuery(OptionsModel):
    """Render options as query parameters.

    The model ignores other parameters of the query; `ApiRoute` refuses unknown parameters.
    """

    model_config = ConfigDict(extra="ignore")

    def options(self) -> RenderOptions:
        """Return all options; those that the route does not have get their defaults."""
        return select_members(self, RenderOptions)


class ResultOptionsQuery(OptionsQuery):
    """The options for rendering a tool result in the response to the request that stores it."""

    handles: Handles = False
    max_text: MaxText = None
    max_image_pixels: MaxImagePixels = None
    count_tokens: CountTokens = True


class RecordQuery(OptionsQuery, RecordRenderOptions):
    """The target of a rendering of a record, and its options."""

    target: TargetQuery

    def render_query(self) -> RenderQuery:
        """Return the target and options."""
        return RenderQuery(self.target, self.options())


class PageQuery(RecordQuery):
    """The target of a rendering of a page, and its options.

    The default target writes the tool message of specification 000.
    """

    target: TargetQuery = "openai-compat"


class SessionOptionsQuery(OptionsQuery, RenderOptions):
    """The options for rendering a session with a frontier."""

    frontier: FrontierQuery = None


class SessionQuery(OptionsQuery, RenderOptions):
    """The target of a rendering of a session, and its options."""

    frontier: FrontierQuery = None
    target: TargetQuery
    at: Annotated[Count | None, Doc(AT_DESCRIPTION)] = None

    def render_query(self) -> RenderQuery:
        """Return the target and options."""
        return RenderQuery(self.target, self.options(), self.at)
