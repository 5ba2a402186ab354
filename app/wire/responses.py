"""Shapes of two routes of OpenAI's Responses API, which call no model: compaction, token counts."""

from typing import Annotated, Any, Literal

from msgspec import Raw
from pydantic import ConfigDict, FailFast, TypeAdapter, WrapValidator
from pydantic.config import JsonDict
from typing_extensions import TypeAliasType

from app.wire.shape import DocumentedAs, Shape
from pagefault_dialects.json.values import JsonObject
from pagefault_dialects.model.base import FrozenModel

_EXAMPLE: JsonDict = {
    "model": "gpt-6-astra",
    "input": [
        {"role": "user", "content": "What is on the page?"},
        {"type": "function_call", "call_id": "call_1", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "call_1", "output": "A picture of a cat."},
    ],
}


ResponsesItems = TypeAliasType("ResponsesItems", list[JsonObject])
"""The items of a conversation. Generators of clients make one type of it, as it has a name."""
ResponsesInput = TypeAliasType("ResponsesInput", str | ResponsesItems)
"""The items of a conversation, or a text of the user."""

_ITEMS = TypeAdapter(Annotated[list[JsonObject], FailFast()])


def _read_input(value: object, _: object) -> object:
    """Validate a text or items. A union would put its own names into the pointers of errors."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return _ITEMS.validate_python(value, strict=True)
    raise ValueError("Input should be a text or a list of items")


class ResponsesRequest(FrozenModel):
    """A request of the Responses API; other members are ignored.

    `previous_response_id` and `conversation` are refused: nothing is stored under such names.
    """

    model_config = ConfigDict(extra="allow", json_schema_extra={"examples": [_EXAMPLE]})

    model: str | None = None
    """The model that reads the conversation."""
    input: Annotated[ResponsesInput, WrapValidator(_read_input)]
    """The items of the conversation, or a text of the user."""
    instructions: str | None = None
    """The system prompt."""
    tools: list[Any] | None = None
    """The tools of the model; their JSON is counted."""


class InputTokensDetails(Shape, rename=None, kw_only=True):
    """Tokens of the input that a provider read from its cache: always 0."""

    cached_tokens: int
    cache_write_tokens: int


class OutputTokensDetails(Shape, rename=None, kw_only=True):
    """Tokens that a model used for reasoning: always 0."""

    reasoning_tokens: int


class CompactionUsage(Shape, rename=None, kw_only=True):
    """The estimated tokens of a conversation, and of its compaction. No model was called."""

    input_tokens: int
    """The whole conversation."""
    input_tokens_details: InputTokensDetails
    output_tokens: int
    """The conversation within the budget, to which the compaction item will be expanded."""
    output_tokens_details: OutputTokensDetails
    total_tokens: int


class Compaction(Shape, rename=None, kw_only=True):
    """A compacted conversation, in the shape of the Responses API."""

    id: str
    object: Literal["response.compaction"]
    created_at: int
    """Unix time in seconds."""
    output: Annotated[list[Raw], DocumentedAs(list[JsonObject])]
    """The messages of the user, and a compaction item."""
    usage: CompactionUsage


class InputTokenCount(Shape, rename=None, kw_only=True):
    """The estimated tokens of a conversation."""

    object: Literal["response.input_tokens"]
    input_tokens: int
