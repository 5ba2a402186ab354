"""Collects media, warnings and the outcome while one tool result is read.

The collector is the only object that normalization changes. It exists for one call of `normalize`.
"""

from pagefault_dialects.json.pointers import child_pointer
from pagefault_dialects.json.values import MediaSlot
from pagefault_dialects.media.block_shapes import MediaClaim
from pagefault_dialects.model.media import InMemoryMedia, MediaSource
from pagefault_dialects.model.normalized import (
    LONE_SURROGATE_DETAIL,
    BodyWarning,
    NormalizedMedia,
    more_warnings,
)
from pagefault_dialects.text_windows import without_lone_surrogates

_MAX_WARNINGS = 100
_MAX_POINTER_CHARS = 1_000


class Pointer:
    """A JSON pointer into the result, which is converted to text only when it is reported.

    The text has at most about a thousand characters; the first token that does not fit and all
    tokens after it are omitted. A result may have a key of a megabyte, with a hundred media under
    it.

    Args:
        parent: The pointer to the enclosing value; `None` for the result itself.
        token: The key or index of the value in its parent.
    """

    __slots__ = ("_has_children", "_is_cut", "_parent", "_text", "_token")

    def __init__(self, parent: "Pointer | None" = None, token: str | int = "") -> None:
        self._parent = parent
        self._token = token
        self._has_children = True
        self._text = "" if parent is None else None
        self._is_cut = False

    def child(self, token: str | int) -> "Pointer":
        """Return the pointer to a member."""
        return Pointer(self, token) if self._has_children else self

    def without_children(self) -> "Pointer":
        """Return the same pointer for a string with JSON.

        `child` returns this pointer for all members of the JSON, which have none of their own.
        """
        pointer = Pointer(self._parent, self._token)
        pointer._has_children = False
        return pointer

    def __str__(self) -> str:
        without_text: list[Pointer] = []
        pointer: Pointer | None = self
        text, is_cut = "", False
        while pointer is not None:
            if pointer._text is not None:
                text, is_cut = pointer._text, pointer._is_cut
                break
            without_text.append(pointer)
            pointer = pointer._parent
        for pointer in reversed(without_text):
            token = str(pointer._token)
            is_cut = is_cut or len(text) + len(token) >= _MAX_POINTER_CHARS
            if not is_cut:
                text = child_pointer(text, without_lone_surrogates(token))
            pointer._text, pointer._is_cut = text, is_cut
        return text


class Collector:
    """Collects the media and warnings of one result.

    The first hundred warnings are kept and the others are counted, so that the size of a record
    does not depend on the number of mistakes in a result.
    """

    def __init__(self) -> None:
        self.media: list[NormalizedMedia] = []
        self._warnings: list[BodyWarning] = []
        self.warning_count = 0
        """The number of all warnings, including those that are only counted."""
        # For each payload, by its length and text, whether it became a text part. Since the length
        # is compared first, few texts have to be converted for a comparison.
        self._payloads: dict[int, dict[str, bool]] = {}
        self.is_error: bool | None = None
        """True if the tool failed; `None` if the result does not say."""

    def add_medium(
        self,
        source: MediaSource,
        claim: MediaClaim,
        pointer: Pointer,
        *,
        must_be_stored: bool = False,
    ) -> MediaSlot:
        """Add a medium found at `pointer`; return the slot for its reference."""
        name = without_lone_surrogates(claim.filename) if claim.filename else None
        medium = NormalizedMedia(
            source=source,
            kind=claim.kind,
            filename=name,
            must_be_stored=must_be_stored,
            pointer=str(pointer),
        )
        self.media.append(medium)
        return MediaSlot(len(self.media) - 1)

    def note_payload(self, text: str, *, is_text: bool = False) -> None:
        """Record the base64 or the data URI that is the payload of a block.

        Tools repeat payloads elsewhere in a result; see `find_payload`.

        Args:
            text: The whole payload.
            is_text: Whether the payload became a text to read, rather than a medium.
        """
        text = text.rstrip("=")
        self._payloads.setdefault(len(text), {})[_unify_alphabet(text)] = is_text

    def find_payload(self, text: str) -> bool | None:
        """Return whether a recorded payload became a text to read, as `note_payload` was told.

        The result is `None` for a text that was not recorded. The two alphabets of base64 count as
        equal.
        """
        text = text.rstrip("=") if self._payloads else ""
        same_length = self._payloads.get(len(text))
        return None if same_length is None else same_length.get(_unify_alphabet(text))

    def warn(self, code: str, pointer: Pointer, detail: str) -> None:
        """Add a warning that the value at `pointer` could not be read as the tool intended."""
        if self.warning_count < _MAX_WARNINGS:
            self._warnings.append(BodyWarning(code=code, pointer=str(pointer), detail=detail))
        self.warning_count += 1

    def forget_warnings_after(self, count: int) -> None:
        """Remove all warnings after the first `count`."""
        del self._warnings[count:]
        self.warning_count = count

    def list_warnings(self) -> tuple[BodyWarning, ...]:
        """Return the warnings in order; if some were not kept, the last one says how many."""
        others = self.warning_count - len(self._warnings)
        return (*self._warnings, more_warnings(others)) if others else tuple(self._warnings)

    def report_error(self, is_error: bool) -> None:
        """Record whether the tool failed. If it is reported several times, one failure counts."""
        self.is_error = self.is_error or is_error

    def repair_text(self, text: str, pointer: Pointer) -> str:
        """Return the text with U+FFFD for lone surrogates; if it has any, add one warning."""
        repaired = without_lone_surrogates(text)
        if repaired is not text:
            self.warn("lone-surrogate", pointer, LONE_SURROGATE_DETAIL)
        return repaired


class DeclaredMedia:
    """A `MediaSource` without a type, with the MIME type that its block declares."""

    __slots__ = ("chunks", "declared_mime_type", "head", "read", "size_bytes")

    def __init__(self, source: MediaSource, declared_mime_type: str) -> None:
        self.declared_mime_type = declared_mime_type
        self.size_bytes = source.size_bytes
        self.head, self.read, self.chunks = source.head, source.read, source.chunks


def make_source(medium: MediaSource | bytes, mime_type: str | None) -> MediaSource:
    """Return a medium as a `MediaSource` with a declared type, unless it has a type already."""
    mime_type = without_lone_surrogates(mime_type) if mime_type else None
    if isinstance(medium, bytes):
        return InMemoryMedia(medium, mime_type)
    if mime_type is None or medium.declared_mime_type is not None:
        return medium
    return DeclaredMedia(medium, mime_type)


def _unify_alphabet(text: str) -> str:
    """Return base64 of either alphabet in the standard alphabet."""
    return text.replace("-", "+").replace("_", "/")
