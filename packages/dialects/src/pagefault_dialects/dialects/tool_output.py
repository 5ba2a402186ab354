"""Tool results without the envelope of their dialect, and the forms of their blocks."""

from dataclasses import dataclass, field
from typing import Literal

from pagefault_dialects.dialects.shapes import Object
from pagefault_dialects.model.normalized import DeclaredKind

ResultPath = tuple[str | int, ...]
"""The keys and indexes that lead from a result to a value in it."""
ContentKind = Literal["any", "content", "json", "media"]
"""The way in which a content is read; see `Content.read_as`."""


@dataclass(frozen=True, slots=True)
class Content:
    """A value of a tool result that is meant for the model, and the path to it in the result."""

    value: object
    path: ResultPath
    read_as: ContentKind = "any"
    """`any`: a value of unknown meaning. `content`: a list of content blocks. `json`: data.
    `media`: a list of base64 strings."""

    def prefix_paths(self, *steps: str | int) -> "Content":
        """Return the content with a path from an outer object: `steps` before its own path."""
        return Content(self.value, (*steps, *self.path), self.read_as)


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """A tool result without its envelope."""

    dialect: str
    """The dialect of the envelope."""
    contents: tuple[Content, ...]
    """The values for a model."""
    is_error: bool | None = None
    """True if the tool failed; `None` if the envelope does not say."""
    call_id: str | None = None
    call_id_path: ResultPath = ()
    """The path to the id of the call; empty without an id."""
    name: str | None = None
    """The tool."""
    name_path: ResultPath = ()
    """The path to the name of the tool; empty without a name."""
    rest: Object = field(default_factory=dict)
    """The other members of the envelope."""
    rest_path: ResultPath = ()
    """The path to the object that has these members; empty for the whole result."""

    def prefix_paths(self, *steps: str | int) -> "ToolOutput":
        """Return the result with paths from an outer object: `steps` before its own paths."""
        return ToolOutput(
            self.dialect,
            tuple([content.prefix_paths(*steps) for content in self.contents]),
            self.is_error,
            self.call_id,
            (*steps, *self.call_id_path),
            self.name,
            (*steps, *self.name_path),
            self.rest,
            (*steps, *self.rest_path),
        )


@dataclass(frozen=True, slots=True)
class BlockForm:
    """A block that only one dialect has, and only inside its own envelopes."""

    payloads: tuple[tuple[str, ...], ...]
    """The paths to the payloads of the block. All texts that are not empty are read; of other
    payloads, only the first."""
    payload_kind: Literal["text", "media", "content", "json", "nothing"]
    """`content`: nested content blocks. `nothing`: the block has no content for a model."""
    mark: tuple[str, str] | None = None
    """The member and the value that identify the block."""
    kind: DeclaredKind | None = None
    """The kind of the medium, if the block determines it."""
    name: tuple[str, ...] = ()
    """The path to the name or the title of the block."""
    uri: tuple[str, ...] = ()
    """The path to the URI of the block."""
    mime_type: tuple[str, ...] = ()
    """The path to the MIME type, unless it is beside the payload under a common name."""
