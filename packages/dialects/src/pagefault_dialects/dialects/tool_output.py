"""Tool results without the envelope of their dialect, and the forms of their blocks."""

from dataclasses import dataclass, field
from typing import Literal

from pagefault_dialects.dialects.shapes import Object
from pagefault_dialects.model.normalized import DeclaredKind

Steps = tuple[str | int, ...]
Reading = Literal["any", "content", "json", "media"]


@dataclass(frozen=True, slots=True)
class Content:
    """A value of a tool result that is meant for the model, and the path to it in the result."""

    value: object
    path: Steps
    read_as: Reading = "any"
    """`any`: a value of unknown meaning. `content`: a list of content blocks. `json`: data.
    `media`: a list of base64 strings."""

    def prefix_paths(self, *steps: str | int) -> "Content":
        """Return the content with the path from an outer object: `steps`, then its own path."""
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
    call_id_path: Steps = ()
    """The path to the id of the call in the result; empty without an id. Other paths likewise."""
    name: str | None = None
    name_path: Steps = ()
    rest: Object = field(default_factory=dict)
    """The other members of the envelope."""
    rest_path: Steps = ()

    def prefix_paths(self, *steps: str | int) -> "ToolOutput":
        """Return the result with paths from an outer object: `steps`, then its own paths."""
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
    """The paths to its payloads. All texts that are not empty are read; of other payloads, only the
    first."""
    payload_kind: Literal["text", "media", "content", "json", "nothing"]
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
