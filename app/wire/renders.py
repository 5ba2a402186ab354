"""Shapes of renderings: the options in a body, and the answer.

The answer is only described here. `app/services/renders` composes it node by node, since bytes of
media are inserted while it is sent.
"""

from collections.abc import Callable
from dataclasses import fields
from typing import Annotated, Any, TypeAlias, TypeVar, cast

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    Strict,
    WithJsonSchema,
)
from pydantic.config import JsonDict
from typing_extensions import TypeAliasType

from pagefault_dialects.json.values import JsonObject
from pagefault_dialects.media.types import is_media_range
from pagefault_dialects.model.base import ClientId, JsonCount, WireModel
from pagefault_dialects.model.frontier import Frontier
from pagefault_dialects.model.loss import LossEntry
from pagefault_dialects.model.render_options import (
    Audience,
    ImageDetail,
    McpRevision,
    MediaDelivery,
    MemoryPart,
    RenderOptions,
)
from pagefault_dialects.targets.table import TARGETS

MaxText: TypeAlias = Annotated[int, Field(ge=500, le=1_000_000)]
MaxImagePixels: TypeAlias = Annotated[int, Field(ge=16, le=65_535)]
ModelName: TypeAlias = Annotated[
    str, Field(min_length=1, max_length=256, examples=["claude-sonnet-4-5"])
]

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
_Kind = TypeVar("_Kind")


def check_target(target: str) -> str:
    """Return the target, if there is one of that name."""
    if target not in TARGETS:
        raise ValueError(f"must be one of {', '.join(TARGETS)}")
    return target


def check_ranges(ranges: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """Return MIME types and ranges in small letters; blanks around them are passed over."""
    if ranges is None:
        return None
    read = tuple(each.strip().lower() for each in ranges)
    if len(read) > _MAX_RANGES or not all(map(is_media_range, read)):
        raise ValueError(
            f"must be up to {_MAX_RANGES} MIME types or ranges, as in image/png,image/*"
        )
    return read


def _split(value: object) -> object:
    return value.split(",") if isinstance(value, str) else value


Target = TypeAliasType(
    "Target",
    Annotated[
        str,
        AfterValidator(check_target),
        Field(
            description="Whose dialect to write.",
            examples=["anthropic"],
            json_schema_extra={"enum": list(TARGETS)},
        ),
    ],
)


HandlesMember = Annotated[
    bool,
    Field(
        description="A line behind each stored medium and each long text names it: "
        "`[image @blob:…]`."
    ),
]


MAX_TOKENS = (
    "The most tokens. What is old gives way to smaller levels of itself, and `loss` says what and "
    "how to get it back."
)
MAX_TEXT = (
    "The most characters of a text in a tool's answer that is shown whole, 8,000 by default. Of a "
    "longer one a line between its beginning and its end says how to read the rest. Pages, which "
    "have levels, keep their length, and so does, in a session, what a model reads by `read_text`."
)
MAX_IMAGE_PIXELS = (
    "The most pixels of the longer side of an image. A larger one is made smaller, and `loss` says "
    "so."
)
COUNT_TOKENS = (
    "Whether the tokens of the messages are counted for `tokensEst`, which is absent otherwise. "
    "`maxTokens` holds in any case."
)
EVICT_BATCH = (
    "With a frontier: how many tokens below `maxTokens` a history that has passed it is brought, "
    "so that the turns that follow only append. A quarter of the limit by default."
)
CACHE_MARKERS = (
    "Marks for `anthropic` (`cache_control`) and `bedrock` (`cachePoint`) at the last message, "
    "and, with a frontier, at the last one that was sent before. They count in no `prefixHash`."
)
ADAPTIVE = (
    "Whether what a model has asked for again and again (`page_fault`, `view_media`, `read_text`) "
    "gives way last: the answer to the third call for the same thing, and to each that follows."
)
MODEL = (
    "Of a session: the model that the messages are for. What another model thought is left out, "
    "with an entry of `loss`. By default the one that the newest history that was put names."
)
AT = (
    "With a frontier: the rendering as it stood when the entry with this `seq` was the newest one, "
    "with the frontier as it had moved by then."
)
SINCE = (
    "The `lastSeq` of the last rendering: only messages of entries behind it, and `sinceHash` of "
    "all that is before."
)
SinceMember = Annotated[JsonCount, Field(description=f"Of a session. {SINCE}")]
FrontierName = Annotated[ClientId, Field(examples=["main"])]
FrontierChoice = TypeAliasType("FrontierChoice", FrontierName | Frontier)


class RenderFields(WireModel):
    """For which target something is to be rendered, and how."""

    target: Target
    accept: Annotated[
        tuple[str, ...] | None, BeforeValidator(_split), AfterValidator(check_ranges)
    ] = None
    """MIME types and ranges that the model can take; the rest degrades."""
    media: MediaDelivery = "inline"
    detail: ImageDetail | None = None
    max_bytes: JsonCount | None = None
    max_images: JsonCount | None = None
    audience: Audience = "assistant"
    protocol_version: McpRevision = "2026-07-28"
    """Of `mcp`: the revision of the protocol. Before 2026-07-28 `structuredContent` is an object or
    absent, before 2025-06-18 absent."""
    handles: HandlesMember = False
    memory: Annotated[tuple[MemoryPart, ...], BeforeValidator(_split)] = ()
    """Of a session: a message of the system before all others, with the rules of the memory's
    tools, and with the session's pages."""
    memory_tokens: JsonCount = 1_000
    """The most tokens of the list of pages."""
    max_tokens: Annotated[JsonCount | None, Field(description=MAX_TOKENS)] = None
    max_text: Annotated[Annotated[MaxText, Strict()] | None, Field(description=MAX_TEXT)] = None
    max_image_pixels: Annotated[
        Annotated[MaxImagePixels, Strict()] | None, Field(description=MAX_IMAGE_PIXELS)
    ] = None
    count_tokens: Annotated[bool, Field(description=COUNT_TOKENS)] = True
    evict_batch: Annotated[JsonCount | None, Field(description=EVICT_BATCH)] = None
    frontier: FrontierChoice | None = None
    """Of a session: how far it was evicted before. A name: that is kept under it, and moved on by
    this request. An object, as the last answer has it: nothing is kept here."""

    cache_markers: Annotated[bool, Field(description=CACHE_MARKERS)] = False
    adaptive: Annotated[bool, Field(description=ADAPTIVE)] = True
    model: Annotated[ModelName | None, Field(description=MODEL)] = None

    def options(self) -> RenderOptions:
        """Return how it is to be rendered."""
        return members_of(self, RenderOptions)


def members_of(request: RenderFields, kind: Callable[..., _Kind]) -> _Kind:
    """Return a dataclass of those members of a request that it names."""
    # Which model is asked is no member; where it is known, the service knows it.
    names = [each.name for each in fields(cast(Any, kind))]
    known = (name for name in names if name in type(request).model_fields)
    return kind(**{name: getattr(request, name) for name in known})


class RenderedRecord(WireModel):
    """A record as the messages of one provider, and the losses of the rendering."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    target: Target
    profile: str
    """Target and version of its limits and rules."""
    messages: tuple[JsonObject, ...]
    """The messages for the provider's request."""
    system: str | None = None
    """The system prompt, for targets that have it beside the messages."""
    loss: tuple[LossEntry, ...]
    """The losses; empty if there are none."""
    open_calls: tuple[str, ...] | None = None
    """Ids of calls in the last turn that have no results yet; absent if there are none. Providers
    accept the messages once these calls have results."""
    tokens_est: Annotated[int | None, WithJsonSchema({"type": "integer"})] = None
    """About how many tokens the messages cost; absent with `countTokens=false`."""
    frontier: Frontier | None = None
    """The state of the requested frontier: the part of the history that is evicted now."""
    stable_through: int | None = None
    """The number of messages from the first that are the same as in the rendering that last moved
    this frontier."""
    prefix_hash: Annotated[tuple[str, ...] | None, Field(examples=[["5f1d2c3b4a596877"]])] = None
    """Of a session: for each message, a hash of 16 hex digits of it and all messages before it."""
    since_hash: Annotated[str | None, Field(examples=["5f1d2c3b4a596877"])] = None
    """With `since`: the prefix hash of the messages before these. If it equals your last
    `prefixHash`, append these messages to yours; otherwise render the whole session."""
    last_seq: int | None = None
    """Of a session: its last `seq`, the `since` of the next rendering."""
