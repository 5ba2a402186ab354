"""What a target takes, as data: media types, sizes, counts, rules for ids, and where it is from."""

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
    """Which media of one class a target takes."""

    types: frozenset[str]
    """MIME types, or ranges: `image/*`, `*/*`."""
    most_base64: int | None = None
    """The most characters of base64 that one may have."""
    most_side: int | None = None
    """The most pixels of the longer side of an image."""
    least_side: int | None = None
    """The least pixels of the shorter side of an image, where its longer one may have so many."""
    most: int | None = None
    """How many there may be in one rendering."""
    crowd: tuple[int, int] | None = None
    """Above so many images, the most pixels of the longer side of each."""
    addresses: tuple[str, ...] = ()
    """The schemes of URLs that may stand for the bytes."""

    def loads(self, url: str) -> bool:
        """Return whether a URL may stand for the bytes."""
        return url.partition(":")[0].lower() in self.addresses

    def takes(self, mime_type: str) -> bool:
        """Return whether it takes a type."""
        return matches(mime_type, self.types)


@dataclass(frozen=True, slots=True)
class IdRule:
    """Which ids a target takes: the characters, and how many.

    Where ids have a length of their own, `exact_chars` says so.
    """

    characters: str = r"\S\s"
    most_chars: int = 512
    first: str | None = None
    exact_chars: int | None = None

    def fit(self, text: str) -> str:
        """Return the id if the target takes it; else one made of it, the same for the same id.

        It ends with eight hex digits of the id's SHA-256, so that different ids stay different; of
        an exact length, it is nothing but letters and digits that stand for that.
        """
        if self.exact_chars is not None:
            return self._of_exact_length(text, self.exact_chars)
        first = self.first or f"[{self.characters}]"
        if _fitting(first, self.characters, self.most_chars).fullmatch(text):
            return text
        digits = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        cleaned = re.sub(rf"[^{self.characters}]", "_", text)
        if not re.match(first, cleaned):
            cleaned = f"x{cleaned}"
        kept = self.most_chars - _DIGEST_CHARS - 1
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
def _fitting(first: str, characters: str, most_chars: int) -> re.Pattern[str]:
    return re.compile(rf"{first}[{characters}]{{0,{most_chars - 1}}}")


@dataclass(frozen=True, slots=True)
class Profile:
    """A target: what it takes, and the function that writes its messages."""

    target: str
    """Its name."""
    source: str
    """Where the facts are from, with a date."""
    write: "Callable[[Sequence[ResolvedTurn], Profile, ImageDetail], list[Node]]"
    """Writes resolved turns as the provider's messages."""
    version: str = "2026-11-29"
    """Of this row; it changes with every change of what is rendered."""
    media: Mapping[MediaClass, MediaRule] = field(default_factory=lambda: MappingProxyType({}))
    """The rules, by class; a class that is missing is not taken at all."""
    media_roles: frozenset[TurnRole] = frozenset({"user", "tool"})
    """Whose turns may hold media."""
    address_roles: frozenset[TurnRole] = frozenset({"user", "tool", "assistant"})
    """Whose turns may hold media by an address, where those may hold media at all."""
    request_bytes: int | None = None
    """How large one request may be, media as base64."""
    call_id: IdRule = IdRule()
    """Rule for the ids of tool calls."""
    tool_name: IdRule = IdRule()
    """Rule for the names of tools."""
    has_error_flag: bool = False
    """Whether a failed call is told in a field; else it is told in words."""
    has_system_apart: bool = False
    """Whether the system's words are no message; they are then told apart."""
    has_system_first: bool = False
    """Whether the system's messages stand before all others."""
    has_assistant_after_results: bool = False
    """Whether the assistant has to speak between the results of calls and the user."""
    starts_with_user: bool = False
    """Whether the user has to speak first."""
    continues_thoughts: bool = False
    """Whether the assistant has to say or call something behind a thought."""
    takes_blank_texts: bool = True
    """Whether a text may be nothing but white space; else it is left out."""
    default_detail: ImageDetail = "auto"
    """How closely images are looked at unless something else is asked for."""
    has_original_detail: bool = False
    """Whether an image may be looked at in its original size; else as closely as otherwise."""
    tokens: TokenRule = BY_AREA
    """How it counts."""
    text_file_chars: int = 32_768
    """How long a text file may be that is shown whole in place of the file; with 0 none is read."""
    revision: McpRevision = "2026-07-28"
    """Of MCP, the revision of the protocol."""
    has_resources: bool = False
    """Whether a text with an address is a block of its own; else the address is told before it."""
    mark_cached: Callable[[Node], Node] | None = None
    """Writes the mark at a message that what comes before it, and itself, is to be cached; `None`
    where there are no such marks."""
    takes_structured: Callable[[JsonValue], bool] = lambda _: False
    """Whether a value is taken as `structuredContent`, whatever its length."""
    home: str = ""
    """The dialect whose blocks its requests have, those too that nobody else understands."""
    home_types: frozenset[str] = frozenset()
    """Types of media that only messages of its own dialect may have."""
    ids_are_optional: bool = False
    """Whether calls and answers find each other by their names, too."""
    as_request: Callable[[NativeMessage, RenderOptions], JsonObject | None] | None = None
    """Returns a message that was sent as its requests have it; `None` if they have no such."""
    has_block: Callable[[JsonObject, TurnRole], bool] | None = None
    """Checks whether requests accept a block of `home` in a turn of this role, when the message
    around it is written anew; `None` if they accept none."""

    def takes_block(self, block: ProviderBlock, role: TurnRole) -> bool:
        """Return whether its requests accept a provider's block in a turn of this role."""
        form = block.forms.get(self.home)
        return form is not None and self.has_block is not None and self.has_block(form, role)

    def detail(self, wanted: ImageDetail | None) -> ImageDetail | None:
        """Return how closely an image is looked at, as the target names it."""
        return "high" if wanted == "original" and not self.has_original_detail else wanted

    @property
    def takes_late_system(self) -> bool:
        """Whether a message of the system may stand behind those of others."""
        return not (self.has_system_apart or self.has_system_first)

    def loads(self, url: str, kind: ResourceKind, role: TurnRole) -> bool:
        """Return whether a URL may stand for the bytes of a medium in somebody's turn."""
        rule = self.rule(kind)
        return rule is not None and rule.loads(url) and role in self.address_roles

    def rule(self, kind: ResourceKind) -> MediaRule | None:
        """Return the rule for media of a kind, if any are taken."""
        return self.media.get(media_class(kind))


def narrowed(profile: Profile, options: RenderOptions) -> Profile:
    """Return a target whose images may be no larger than is asked for."""
    image, most_side = profile.media.get("image"), options.max_image_pixels
    if most_side is None or image is None:
        return profile
    side = min(most_side, image.most_side or most_side)
    media = {**profile.media, "image": replace(image, most_side=side)}
    return replace(profile, media=MappingProxyType(media))


def media_class(kind: ResourceKind) -> MediaClass:
    """Return under which rule media of a kind fall."""
    if kind in ("image", "audio", "video"):
        return kind
    return "document"


def matches(mime_type: str, ranges: frozenset[str] | tuple[str, ...]) -> bool:
    """Return whether a MIME type is among types and ranges."""
    known = canonical_mime_type(mime_type) or mime_type
    family = known.partition("/")[0]
    return not {known, f"{family}/*", "*/*"}.isdisjoint(ranges)


def tool_use(call: TurnCall, profile: Profile) -> dict[str, Node]:
    """Return a call as Anthropic's messages and those of MCP have it."""
    return {
        "type": "tool_use",
        "id": profile.call_id.fit(call.call_id),
        "name": profile.tool_name.fit(call.name),
        "input": JsonLeaf(call.arguments),
    }
