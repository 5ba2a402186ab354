"""The profile of a target: what its requests accept, as data, and the functions that write them.

`table.py` has the profiles of all targets.
"""

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
"""A class of media with a rule of its own. All other kinds of files are documents."""

_DIGEST_CHARS = 8
_LETTERS_AND_DIGITS = string.ascii_letters + string.digits


@dataclass(frozen=True, slots=True)
class MediaRule:
    """The rule for media of one class."""

    types: frozenset[str]
    """MIME types, or ranges: `image/*`, `*/*`."""
    max_base64: int | None = None
    """The most characters of base64 of one medium."""
    max_side: int | None = None
    """The most pixels of the longer side of an image."""
    min_side: int | None = None
    """The least pixels of the shorter side of an image. Images whose longer side would exceed
    `max_side` if they were enlarged are exempt."""
    max_count: int | None = None
    """The most media of the class in one rendering."""
    max_side_of_many: tuple[int, int] | None = None
    """A number of images, and the most pixels of the longer side if there are more images."""
    addresses: tuple[str, ...] = ()
    """The schemes of URLs that are accepted in place of bytes."""

    def accepts_url(self, url: str) -> bool:
        """Return whether a URL is accepted in place of bytes."""
        return url.partition(":")[0].lower() in self.addresses

    def accepts_type(self, mime_type: str) -> bool:
        """Return whether a MIME type is accepted."""
        return matches(mime_type, self.types)


@dataclass(frozen=True, slots=True)
class IdRule:
    """The rule of a target for ids of calls, or for names of tools."""

    characters: str = r"\S\s"
    """The characters of an id, as the inside of a character class of a regular expression."""
    max_chars: int = 512
    first: str | None = None
    """A regular expression for the first character; `None` if it may be any of `characters`."""
    exact_chars: int | None = None
    """The length of each id; `None` if an id may be shorter than `max_chars`."""

    def fit(self, text: str) -> str:
        """Return an id unchanged if the target accepts it; otherwise return an id derived from it.

        The same id always becomes the same derived id. A derived id ends with eight hex digits of
        the SHA-256 of the id, so that different ids stay different. With `exact_chars`, it consists
        of letters and digits that are computed from the SHA-256.
        """
        if self.exact_chars is not None:
            return self._fit_exactly(text, self.exact_chars)
        first = self.first or f"[{self.characters}]"
        if _id_pattern(first, self.characters, self.max_chars).fullmatch(text):
            return text
        digits = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        cleaned = re.sub(rf"[^{self.characters}]", "_", text)
        if not re.match(first, cleaned):
            cleaned = f"x{cleaned}"
        prefix = cleaned[: self.max_chars - _DIGEST_CHARS - 1]
        return f"{prefix}_{digits[:_DIGEST_CHARS]}"

    def _fit_exactly(self, text: str, length: int) -> str:
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
    """A target of renderings: a provider or a framework, and what its requests accept."""

    target: str
    """The name of the target."""
    source: str
    """The source of these facts, with a version or a date."""
    write: "Callable[[Sequence[ResolvedTurn], Profile, ImageDetail], list[Node]]"
    """Writes resolved turns as the provider's messages."""
    version: str = "2026-11-29"
    """The version of the profile. It changes whenever a change of code changes renderings."""
    media: Mapping[MediaClass, MediaRule] = field(default_factory=lambda: MappingProxyType({}))
    """The rules for media, by class. Media of other classes are not accepted."""
    media_roles: frozenset[TurnRole] = frozenset({"user", "tool"})
    """The roles whose turns may have media."""
    address_roles: frozenset[TurnRole] = frozenset({"user", "tool", "assistant"})
    """The roles whose turns may have URLs in place of media, if they are in `media_roles` too."""
    window_tokens: int = 128_000
    """The context window that is assumed if a request names no limit. No model has less."""
    request_bytes: int | None = None
    """The most bytes of a request, with media as base64."""
    call_id: IdRule = IdRule()
    """The rule for ids of tool calls."""
    tool_name: IdRule = IdRule()
    """The rule for names of tools."""
    has_error_flag: bool = False
    """True if a field marks the result of a failed call; otherwise a line of text says it."""
    has_separate_system: bool = False
    """True if the system text is not in the list of messages."""
    has_system_first: bool = False
    """True if system messages have to come before all other messages."""
    has_assistant_after_results: bool = False
    """True if an assistant message is required between results and the user."""
    starts_with_user: bool = False
    """True if the first message has to be a message of the user."""
    continues_thoughts: bool = False
    """True if a thought has to be followed by a text or a call."""
    allows_blank_texts: bool = True
    """True if a text may be blank; otherwise blank texts are left out."""
    default_detail: ImageDetail = "auto"
    """The resolution at which a model looks at images, unless a request names another one."""
    has_original_detail: bool = False
    """True if the detail `original` is valid; otherwise it becomes `high`."""
    tokens: TokenRule = BY_AREA
    """The rule for counting tokens."""
    text_file_chars: int = 32_768
    """The characters of a text file that may replace the file. Of a longer one, an excerpt is
    rendered; with 0, text files do not become text."""
    revision: McpRevision = "2026-07-28"
    """The revision of the protocol, for MCP."""
    has_resources: bool = False
    """True if a text with a URL is a block of its own; otherwise a line has the URL."""
    mark_cached: Callable[[Node], Node] | None = None
    """Marks a message, so that the provider caches this message and all before it. `None` if the
    target has no such marks."""
    accepts_structured: Callable[[JsonValue], bool] = lambda _: False
    """Returns whether a value may be `structuredContent` of a result, whatever its length."""
    dialect: str = ""
    """The dialect of the target's requests."""
    native_types: frozenset[str] = frozenset()
    """MIME types of media that may be in messages as they were sent, and not in rewritten ones."""
    ids_are_optional: bool = False
    """True if a result without an id belongs to the next call of its tool."""
    as_request: Callable[[NativeMessage, RenderOptions], JsonObject | None] | None = None
    """Returns a sent message as requests have it, or `None` if requests do not accept it."""
    accepts_block: Callable[[JsonObject, TurnRole], bool] | None = None
    """Returns whether requests accept a block of this dialect in a rewritten message of this role.
    `None` if they accept no such block."""

    def accepts_provider_block(self, block: ProviderBlock, role: TurnRole) -> bool:
        """Return whether requests accept a provider's block in a turn of this role."""
        form = block.forms.get(self.dialect)
        if form is None or self.accepts_block is None:
            return False
        return self.accepts_block(form, role)

    def fit_detail(self, requested: ImageDetail | None) -> ImageDetail | None:
        """Return the detail of an image that the target accepts instead of the requested one."""
        return "high" if requested == "original" and not self.has_original_detail else requested

    @property
    def allows_late_system(self) -> bool:
        """True if system messages may follow other messages."""
        return not (self.has_separate_system or self.has_system_first)

    def accepts_url(self, url: str, kind: ResourceKind, role: TurnRole) -> bool:
        """Return whether a URL is accepted in place of a medium's bytes in a turn of this role."""
        rule = self.find_media_rule(kind)
        return rule is not None and rule.accepts_url(url) and role in self.address_roles

    def find_media_rule(self, kind: ResourceKind) -> MediaRule | None:
        """Return the rule for media of a kind, if they are accepted."""
        return self.media.get(media_class(kind))


def limit_image_size(profile: Profile, options: RenderOptions) -> Profile:
    """Return a profile whose images are also limited to `options.max_image_pixels`."""
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
    """Return whether a MIME type is among types and ranges, such as `image/*` and `*/*`."""
    canonical = canonical_mime_type(mime_type) or mime_type
    family = canonical.partition("/")[0]
    return not {canonical, f"{family}/*", "*/*"}.isdisjoint(ranges)


def make_tool_use_block(call: TurnCall, profile: Profile) -> dict[str, Node]:
    """Return a call as a block of Anthropic and MCP."""
    return {
        "type": "tool_use",
        "id": profile.call_id.fit(call.call_id),
        "name": profile.tool_name.fit(call.name),
        "input": JsonLeaf(call.arguments),
    }
