"""The profile of a target, as data: media types, sizes, counts, rules for ids, and sources."""

import hashlib
import re
import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from types import MappingProxyType
from typing import Literal, TypeAlias

from pagefault_dialects.json.values import JsonObject, JsonValue
from pagefault_dialects.media.types import canonical_mime_type
from pagefault_dialects.model.conversation import (
    NativeMessage,
    ProviderBlock,
    ResolvedTurn,
    TurnCall,
    TurnRole,
)
from pagefault_dialects.model.render_options import ImageDetail, McpRevision, RenderOptions
from pagefault_dialects.model.resource import ResourceKind
from pagefault_dialects.targets.base64_leaves import JsonLeaf, Node
from pagefault_dialects.targets.tokens import BY_AREA, TokenRule

MediaClass: TypeAlias = Literal["image", "audio", "video", "document"]

_DIGEST_CHARS = 8
_LETTERS_AND_DIGITS = string.ascii_letters + string.digits


@dataclass(frozen=True, slots=True)
class MediaRule:
    """The rule for media of one class."""

    types: frozenset[str]
    """MIME types, or ranges: `image/*`, `*/*`."""
    max_base64: int | None = None
    """The most characters of base64 that one may have."""
    max_side: int | None = None
    """The most pixels of the longer side of an image."""
    min_side: int | None = None
    """The least pixels of the shorter side of an image, if its longer one allows so many."""
    max_count: int | None = None
    """The most media of the class in one rendering."""
    max_side_of_many: tuple[int, int] | None = None
    """Above this number of images, the most pixels of the longer side of each."""
    addresses: tuple[str, ...] = ()
    """The schemes of URLs that are accepted in place of bytes."""

    def loads(self, url: str) -> bool:
        """Return whether a URL is accepted in place of the bytes."""
        return url.partition(":")[0].lower() in self.addresses

    def takes(self, mime_type: str) -> bool:
        """Return whether a type is accepted."""
        return matches(mime_type, self.types)


@dataclass(frozen=True, slots=True)
class IdRule:
    """The rule for ids of a target: their characters and their length.

    With `exact_chars`, ids have that length.
    """

    characters: str = r"\S\s"
    max_chars: int = 512
    first: str | None = None
    exact_chars: int | None = None

    def fit(self, text: str) -> str:
        """Return the id if the target accepts it; else one derived from it deterministically.

        It ends with eight hex digits of the id's SHA-256, so that different ids stay different. If
        the length is exact, it consists of letters and digits derived from that digest.
        """
        if self.exact_chars is not None:
            return self._of_exact_length(text, self.exact_chars)
        first = self.first or f"[{self.characters}]"
        if _id_pattern(first, self.characters, self.max_chars).fullmatch(text):
            return text
        digits = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        cleaned = re.sub(rf"[^{self.characters}]", "_", text)
        if not re.match(first, cleaned):
            cleaned = f"x{cleaned}"
        kept = self.max_chars - _DIGEST_CHARS - 1
        return f"{cleaned[:kept]}_{digits[:_DIGEST_CHARS]}"

    def _of_exact_length(self, text: str, length: int) -> str:
        if re.fullmatch(rf"[{self.characters}]{{{length}}}", text):
            return text
        number = int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest())
        letters: list[str] = []
        for _ in range(length):
            number, index = divmod(number, len(_LETTERS_AND_DIGITS))
            letters.append(_LETTERS_AND_DIGITS[index])
        return "".join(letters)


@cache
def _id_pattern(first: str, characters: str, max_chars: int) -> re.Pattern[str]:
    return re.compile(rf"{first}[{characters}]{{0,{max_chars - 1}}}")


@dataclass(frozen=True, slots=True)
class Profile:
    """A target: its rules, and the function that writes its messages."""

    target: str
    """Its name."""
    source: str
    """The source of the facts, with a date."""
    write: "Callable[[Sequence[ResolvedTurn], Profile, ImageDetail], list[Node]]"
    """Writes resolved turns as the provider's messages."""
    version: str = "2026-11-29"
    """The version of this row, changed with every change of renderings."""
    media: Mapping[MediaClass, MediaRule] = field(default_factory=lambda: MappingProxyType({}))
    """The rules, by class; classes that are missing are not accepted."""
    media_roles: frozenset[TurnRole] = frozenset({"user", "tool"})
    """The roles whose turns may have media."""
    address_roles: frozenset[TurnRole] = frozenset({"user", "tool", "assistant"})
    """The roles whose turns may have media by address, if they may have media at all."""
    window_tokens: int = 128_000
    """The context window that is assumed if a request names no limit; models have at least it."""
    request_bytes: int | None = None
    """The most bytes of a request, with media as base64."""
    call_id: IdRule = IdRule()
    """The rule for ids of tool calls."""
    tool_name: IdRule = IdRule()
    """The rule for names of tools."""
    has_error_flag: bool = False
    """True if a failed call has a field for it; else it is noted in text."""
    has_system_apart: bool = False
    """True if the system text is apart from the messages."""
    has_system_first: bool = False
    """True if system messages have to come before all others."""
    has_assistant_after_results: bool = False
    """True if an assistant message is required between results and the user."""
    starts_with_user: bool = False
    """True if the first message has to be the user's."""
    continues_thoughts: bool = False
    """True if a thought has to be followed by a text or a call."""
    takes_blank_texts: bool = True
    """True if a text may be blank; else it is omitted."""
    default_detail: ImageDetail = "auto"
    """The default resolution at which images are looked at."""
    has_original_detail: bool = False
    """True if `original` is a valid detail; else it becomes `high`."""
    tokens: TokenRule = BY_AREA
    """The rule for counting tokens."""
    text_file_chars: int = 32_768
    """The longest text file that replaces the file as a whole; 0 disables that."""
    revision: McpRevision = "2026-07-28"
    """The revision of the protocol, for MCP."""
    has_resources: bool = False
    """True if a text with an address is a block of its own; else the address precedes it."""
    mark_cached: Callable[[Node], Node] | None = None
    """Adds the mark that a message and all before it are to be cached; `None` without such
    marks."""
    takes_structured: Callable[[JsonValue], bool] = lambda _: False
    """Checks whether a value is accepted as `structuredContent`, whatever its length."""
    home: str = ""
    """The dialect of its requests, including its provider-defined blocks."""
    home_types: frozenset[str] = frozenset()
    """Types of media that only messages of its own dialect may have."""
    ids_are_optional: bool = False
    """True if calls and answers may also match by name."""
    as_request: Callable[[NativeMessage, RenderOptions], JsonObject | None] | None = None
    """Returns a sent message as requests have it; `None` if it has no such form."""
    accepts_block: Callable[[JsonObject, TurnRole], bool] | None = None
    """Checks whether requests accept a block of `home` in a rewritten message of this role; `None`
    if they accept none."""

    def takes_block(self, block: ProviderBlock, role: TurnRole) -> bool:
        """Return whether requests accept a provider's block in a turn of this role."""
        form = block.forms.get(self.home)
        return (
            form is not None and self.accepts_block is not None and self.accepts_block(form, role)
        )

    def detail(self, requested: ImageDetail | None) -> ImageDetail | None:
        """Return the detail of an image as the target names it."""
        return "high" if requested == "original" and not self.has_original_detail else requested

    @property
    def takes_late_system(self) -> bool:
        """True if system messages may follow others."""
        return not (self.has_system_apart or self.has_system_first)

    def loads(self, url: str, kind: ResourceKind, role: TurnRole) -> bool:
        """Return whether a URL is accepted in place of a medium's bytes in a turn of this role."""
        rule = self.rule(kind)
        return rule is not None and rule.loads(url) and role in self.address_roles

    def rule(self, kind: ResourceKind) -> MediaRule | None:
        """Return the rule for media of a kind, if they are accepted."""
        return self.media.get(media_class(kind))


def limit_image_size(profile: Profile, options: RenderOptions) -> Profile:
    """Return a target whose images are limited to the requested size as well."""
    image, max_side = profile.media.get("image"), options.max_image_pixels
    if max_side is None or image is None:
        return profile
    side = min(max_side, image.max_side or max_side)
    media = {**profile.media, "image": replace(image, max_side=side)}
    return replace(profile, media=MappingProxyType(media))


def media_class(kind: ResourceKind) -> MediaClass:
    """Return the class whose rule applies to media of a kind."""
    if kind in ("image", "audio", "video"):
        return kind
    return "document"


def matches(mime_type: str, ranges: frozenset[str] | tuple[str, ...]) -> bool:
    """Return whether a MIME type is among types and ranges."""
    known = canonical_mime_type(mime_type) or mime_type
    family = known.partition("/")[0]
    return not {known, f"{family}/*", "*/*"}.isdisjoint(ranges)


def tool_use(call: TurnCall, profile: Profile) -> dict[str, Node]:
    """Return a call as in messages of Anthropic and MCP."""
    return {
        "type": "tool_use",
        "id": profile.call_id.fit(call.call_id),
        "name": profile.tool_name.fit(call.name),
        "input": JsonLeaf(call.arguments),
    }
