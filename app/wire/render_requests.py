"""Shapes of requests for renderings of stored records."""

from typing import Annotated, Self

from pydantic import ConfigDict, Field, model_validator
from pydantic.config import JsonDict

from app.models.call_ids import CallId
from app.models.named_record import NamedRecord
from app.wire.renders import RenderFields, SinceMember, select_members
from pagefault_dialects.model.base import ClientId
from pagefault_dialects.model.page import LEVEL_NAMES, LevelInput

_EXAMPLE_REQUEST: JsonDict = {
    "target": "openai-chat",
    "sessionId": "demo",
    "since": 12,
    "accept": ["image/png", "image/jpeg"],
    "maxImages": 10,
    "maxImagePixels": 1568,
    "maxText": 20_000,
}
_EXAMPLE_SESSION_REQUEST: JsonDict = {
    "target": "anthropic",
    "maxTokens": 60_000,
    "frontier": "main",
    "handles": True,
}


class SessionRenderRequest(RenderFields):
    """The options for the rendering of a session."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE_SESSION_REQUEST]})

    since: SinceMember = 0


class RenderRequest(RenderFields):
    """The id of a stored record, exactly one of three, and the options for its rendering."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE_REQUEST]})

    tool_result_id: str | None = None
    page_id: ClientId | None = None
    session_id: ClientId | None = None
    level: Annotated[LevelInput | None, Field(description=f"Of a page: {LEVEL_NAMES}.")] = None
    tool_call_id: CallId | None = None
    """Only with `pageId`: the id of the call that loads the page."""
    since: SinceMember = 0

    @model_validator(mode="after")
    def _check_record_id(self) -> Self:
        ids = [self.tool_result_id, self.page_id, self.session_id]
        if len([record_id for record_id in ids if record_id]) != 1:
            raise ValueError("name exactly one of toolResultId, pageId and sessionId")
        return self

    def named_record(self) -> NamedRecord:
        """Return the id of the record, with its level and call."""
        return select_members(self, NamedRecord)
