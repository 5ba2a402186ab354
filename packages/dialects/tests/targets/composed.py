"""Composed turns and profiles for tests of the ladder."""

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
    """Return a target `t` that accepts media by these rules."""
    rules: dict[MediaClass, MediaRule | None] = {
        "image": image,
        "audio": audio,
        "video": video,
        "document": document,
    }
    accepted = {kind: rule for kind, rule in rules.items() if rule is not None}
    return Profile("t", "nowhere", lambda *_: [], version="1", media=accepted, has_error_flag=True)


def rule(*types: str, **limits: int | tuple[int, int] | tuple[str, ...]) -> MediaRule:
    """Return a rule for types."""
    return MediaRule(frozenset(types), **limits)  # type: ignore[arg-type]


def medium(
    mime_type: str = "image/png",
    filename: str | None = "a.png",
    size_bytes: int = 3_000,
    **more: object,
) -> Medium:
    """Return a stored medium; an image has 80 by 60 pixels."""
    kind = resource_kind(mime_type)
    hints = MediaHints(80, 60) if kind == "image" else MediaHints()
    fields: dict[str, object] = {"source": StoredBytes(ID, DIGEST), "hints": hints, **more}
    return Medium("/parts/0", fields.pop("source"), kind, mime_type, filename, size_bytes, **fields)  # type: ignore[arg-type]


def turn(*items: Item, role: TurnRole = "tool", is_error: bool = False) -> ComposedTurn:
    """Return a turn, by default of a tool."""
    return Turn(role, items, ORIGIN, 7, is_error=is_error)


def made(
    size_bytes: int = 900, *, mime_type: str = "image/jpeg", first: bool = False
) -> DerivedImage:
    """Return a smaller image of 40 by 30 pixels."""
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


def original(
    stored: Medium, address: str | None = None, *, is_reference: bool = False
) -> MediaItem:
    """Return a medium that is attached unchanged."""
    return MediaItem(
        stored,
        stored.source,
        stored.kind,
        stored.mime_type,
        stored.size_bytes or 0,
        stored.hints,
        address,
        is_reference,
    )


def smaller(
    stored: Medium, image: DerivedImage, address: str | None = None, *, is_reference: bool = False
) -> MediaItem:
    """Return a medium that is attached as a derived image."""
    resource = image.resource
    return MediaItem(
        stored,
        StoredBytes(resource.resource_id, resource.digest),
        "image",
        resource.mime_type,
        resource.size_bytes,
        resource.hints,
        address,
        is_reference,
    )
