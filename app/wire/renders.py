"""Shapes of renderings: the options in a body, and the response.

The shape of the response only documents it. Its JSON is made by `app/services/renders`, which
inserts the bytes of media while the response is sent.
"""

from dataclasses import fields
from typing import Annotated, Any, TypeVar, cast, get_args

from pydantic import AfterValidator, ConfigDict, Field, WithJsonSchema, field_validator
from pydantic.config import JsonDict
from pydantic_core import PydanticKnownError
from typing_extensions import Doc, TypeAliasType

from pagefault_dialects.json.values import JsonObject
from pagefault_dialects.media.types import is_media_range
from pagefault_dialects.model.base import ClientId, JsonCount, WireModel
from pagefault_dialects.model.frontier import Frontier
from pagefault_dialects.model.loss import LossEntry
from pagefault_dialects.model.render_options import RenderOptions
from pagefault_dialects.targets.table import TARGETS

_EXAMPLE: JsonDict = {
    "target": "anthropic",
    "profile": "anthropic/2026-11-23",
    "messages": [
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "call_1",
                    "content": [{"type": "text", "text": "[Video: demo.mp4 (5.2 MB)]"}],
                }
            ],
        }
    ],
    "loss": [
        {
            "pointer": "/sanitized/parts/0",
            "from": "original",
            "to": "placeholder",
            "code": "type-not-taken",
            "reason": "anthropic takes no video/mp4.",
            "restore": "GET /api/resources/0c8e6cc1ab1f4d34b4a5a0e21f7d6c15/content",
        }
    ],
    "tokensEst": 11,
}
_MAX_RANGES = 50
_NUMBER_FIELDS = tuple(
    field.name
    for field in fields(RenderOptions)
    if get_args(field.type)[:1] in ((int,), (int | None,))
)
_Dataclass = TypeVar("_Dataclass")


def check_target(target: str) -> str:
    """Return the name of a target. Raises ValueError if there is no such target."""
    if target not in TARGETS:
        raise ValueError(f"must be one of {', '.join(TARGETS)}")
    return target


Target = TypeAliasType(
    "Target",
    Annotated[
        str,
        AfterValidator(check_target),
        Field(
            description="The target, in whose dialect messages are written.",
            examples=["anthropic"],
            json_schema_extra={"enum": list(TARGETS)},
        ),
    ],
)


AT_DESCRIPTION = (
    "With a frontier: the rendering at the time when the entry with this `seq` was the newest one, "
    "with the frontier of that time."
)
SINCE_DESCRIPTION = (
    "The `lastSeq` of the last rendering. The response has only the messages of later entries, and "
    "`sinceHash`, a hash of all messages before these."
)
SinceMember = Annotated[JsonCount, Field(description=f"Of a session. {SINCE_DESCRIPTION}")]
FrontierName = Annotated[ClientId, Field(examples=["main"])]
FrontierChoice = TypeAliasType("FrontierChoice", FrontierName | Frontier)


class OptionsModel(WireModel):
    """The base of models with some or all fields of `RenderOptions`.

    A subclass also inherits from a dataclass, which declares the types, ranges, defaults and
    descriptions (`Doc`) of its fields. If a subclass declares an option again, pydantic ignores the
    range and the description of this option in the subclasses of that class.
    """

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:  # noqa: ANN401 - as pydantic declares it
        """Set the descriptions of the fields from their `Doc`, which pydantic does not read."""
        for field in cls.model_fields.values():
            for item in field.metadata:
                if isinstance(item, Doc):
                    field.description = item.documentation
        cls.model_rebuild(force=True)

    @field_validator("accept", "memory", mode="before", check_fields=False)
    @classmethod
    def split_at_commas(cls, value: object) -> object:
        """Split a text at its commas; it may be sent instead of a list."""
        match value:
            case str(text) | [str(text)]:
                return text.split(",")
        return value

    @field_validator("accept", check_fields=False)
    @classmethod
    def check_ranges(cls, ranges: tuple[str, ...] | None) -> tuple[str, ...] | None:
        """Return MIME types and ranges in lower case, without surrounding spaces."""
        if ranges is None:
            return None
        normalized = tuple(media_range.strip().lower() for media_range in ranges)
        if len(normalized) > _MAX_RANGES or not all(map(is_media_range, normalized)):
            raise ValueError(
                f"must be up to {_MAX_RANGES} MIME types or ranges, as in image/png,image/*"
            )
        return normalized


class RenderFields(OptionsModel, RenderOptions):
    """The target of a rendering, and its options, in a body."""

    target: Target
    frontier: FrontierChoice | None = None
    """Only for a session: the part of the history that earlier renderings have evicted. A name: the
    frontier is stored under this name, and this request moves it. An object, from the last
    response: nothing is stored."""

    @field_validator(*_NUMBER_FIELDS, mode="before")
    @classmethod
    def check_number(cls, value: object) -> object:
        """Raise if an integer was sent as a text, a fraction or a boolean."""
        if isinstance(value, str | float | bool):
            raise PydanticKnownError("int_type")
        return value

    def options(self) -> RenderOptions:
        """Return the options without the target."""
        return select_members(self, RenderOptions)


def select_members(request: OptionsModel, dataclass_type: type[_Dataclass]) -> _Dataclass:
    """Return an instance of a dataclass; its fields have the values of the request's members."""
    names = (
        field.name
        for field in fields(cast(Any, dataclass_type))
        if field.name in type(request).model_fields
    )
    return dataclass_type(**{name: getattr(request, name) for name in names})


class RenderedRecord(WireModel):
    """A record as the messages of one provider, and the losses of the rendering."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    target: Target
    profile: str
    """The target, and the version of its limits and rules."""
    messages: tuple[JsonObject, ...]
    """The messages for the provider's request."""
    system: str | None = None
    """The system prompt, for targets that do not have it in the messages."""
    loss: tuple[LossEntry, ...]
    """The losses; empty if there are none."""
    open_calls: tuple[str, ...] | None = None
    """Ids of calls in the last turn that have no results yet; absent if there are none. Providers
    accept the messages once these calls have results."""
    tokens_est: Annotated[int | None, WithJsonSchema({"type": "integer"})] = None
    """The estimated number of tokens of the messages; absent with `countTokens=false`."""
    frontier: Frontier | None = None
    """The state of the requested frontier: the part of the history that is evicted now."""
    stable_through: int | None = None
    """The number of messages, from the first, that did not change since this frontier was last
    moved."""
    prefix_hash: Annotated[tuple[str, ...] | None, Field(examples=[["5f1d2c3b4a596877"]])] = None
    """Only for a session: for each message, a hash of 16 hex digits of this message and all
    messages before it."""
    since_hash: Annotated[str | None, Field(examples=["5f1d2c3b4a596877"])] = None
    """With `since`: the prefix hash of the messages before these. If it equals your last
    `prefixHash`, append these messages to yours; otherwise render the whole session."""
    last_seq: int | None = None
    """Only for a session: its last `seq`, to be sent as `since` of the next rendering."""
