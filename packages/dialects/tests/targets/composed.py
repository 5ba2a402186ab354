"""Composed turns for tests of the ladder, over profiles of their own."""

from datetime import UTC, datetime

from pagefault_dialects.model.conversation import (
    ComposedTurn,
    Item,
    MediaItem,
    Medium,
    StoredBytes,
    Turn,
    TurnRole,
)
from pagefault_dialects.model.resource import (
    Damage,
    DerivedImage,
    MediaHints,
    Resource,
    resource_kind,
)
from pagefault_dialects.targets.profile import MediaClass, MediaRule, Profile

ID, OTHER_ID, SMALL_ID = "a1" * 16, "b2" * 16, "c3" * 16
DIGEST, SMALL_DIGEST = "d4" * 32, "e5" * 32
CUT = Damage("damaged-media", "The image/png is damaged: it ends inside of its IDAT chunk.")
MENDED = Damage("damaged-media", "The checksum of its iCCP chunk is wrong.", is_repairable=True)
ORIGIN = "/api/sessions/s/messages/7"
CONTENT = f"GET /api/resources/{ID}/content"


def profile(
    *,
    image: MediaRule | None = None,
    audio: MediaRule | None = None,
    video: MediaRule | None = None,
    document: MediaRule | None = None,
) -> Profile:
    """A target `t` that takes media by the rules."""
    rules: dict[MediaClass, MediaRule | None] = {
        "image": image,
        "audio": audio,
        "video": video,
        "document": document,
    }
    given = {kind: rule for kind, rule in rules.items() if rule is not None}
    return Profile("t", "nowhere", lambda *_: [], version="1", media=given, has_error_flag=True)


def rule(*types: str, **limits: int | tuple[int, int] | tuple[str, ...]) -> MediaRule:
    """A rule for types."""
    return MediaRule(frozenset(types), **limits)  # type: ignore[arg-type]


def medium(
    mime_type: str = "image/png",
    filename: str | None = "a.png",
    size_bytes: int = 3_000,
    **more: object,
) -> Medium:
    """A stored medium; an image has 80 by 60 pixels."""
    kind = resource_kind(mime_type)
    hints = MediaHints(80, 60) if kind == "image" else MediaHints()
    given: dict[str, object] = {"source": StoredBytes(ID, DIGEST), "hints": hints, **more}
    return Medium("/parts/0", given.pop("source"), kind, mime_type, filename, size_bytes, **given)  # type: ignore[arg-type]


def turn(*items: Item, role: TurnRole = "tool", is_error: bool = False) -> ComposedTurn:
    """What a tool, or somebody else, says."""
    return Turn(role, items, ORIGIN, 7, is_error=is_error)


def made(
    size_bytes: int = 900, *, mime_type: str = "image/jpeg", first: bool = False
) -> DerivedImage:
    """A smaller image of 40 by 30 pixels."""
    resource = Resource(
        SMALL_ID,
        SMALL_DIGEST,
        mime_type,
        None,
        size_bytes,
        "image",
        MediaHints(40, 30),
        datetime(2026, 11, 21, tzinfo=UTC),
    )
    return DerivedImage(resource, is_first_picture=first)


def original(shown: Medium, address: str | None = None, *, is_reference: bool = False) -> MediaItem:
    """A medium attached as it is."""
    return MediaItem(
        shown,
        shown.source,
        shown.kind,
        shown.mime_type,
        shown.size_bytes or 0,
        shown.hints,
        address,
        is_reference,
    )


def smaller(
    shown: Medium, image: DerivedImage, address: str | None = None, *, is_reference: bool = False
) -> MediaItem:
    """A medium attached as the image that was made of it."""
    resource = image.resource
    return MediaItem(
        shown,
        StoredBytes(resource.resource_id, resource.digest),
        "image",
        resource.mime_type,
        resource.size_bytes,
        resource.hints,
        address,
        is_reference,
    )
