"""The persistence stage: stores the media of normalized parts, which get `@blob:` references."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import anyio.lowlevel
import anyio.to_thread

from app.models.limits import Limits
from app.models.resource_descriptor import media_kind
from app.models.tool_result import (
    FilePart,
    ImagePart,
    Part,
    PersistedPart,
    PersistedToolResult,
    TextPart,
)
from app.services.media.media_keeper import MediaKeeper, ProcessedMedium
from app.services.persistence.duplicate_media import may_have_duplicates, merge_duplicates
from pagefault_dialects.errors import Fault, PayloadTooLargeError
from pagefault_dialects.json.values import JsonValue, MediaSlot, TextTemplate, json_text
from pagefault_dialects.media.file_names import safe_file_name
from pagefault_dialects.media.types import canonical_mime_type
from pagefault_dialects.model.media import InMemoryMedia
from pagefault_dialects.model.normalized import (
    BodyWarning,
    NormalizedLink,
    NormalizedMedia,
    NormalizedMediaPart,
    NormalizedPart,
    NormalizedReference,
    NormalizedText,
    NormalizedToolResult,
    Provenance,
    more_warnings,
)
from pagefault_dialects.model.resource import Resource, ResourceKind, resource_kind
from pagefault_dialects.texts.cuts import make_preview, needs_preview

META_LIMIT_CHARS = 65_536
_PARTS_PER_PASS = 500
_MAX_WARNINGS = 200
_MAX_DAMAGE_WARNINGS = 50


async def persist_tool_media(
    normalized: NormalizedToolResult,
    keeper: MediaKeeper,
    *,
    session_resources: Mapping[str, Resource],
    limits: Limits,
) -> PersistedToolResult:
    """Move media and long texts into the blob store, and replace them by references.

    Only blobs are written. If the result is not stored afterwards, a sweep removes them.

    Args:
        normalized: The normalized result. The parts keep their order.
        keeper: Stores media in the project of the result.
        session_resources: The resources of the session, by id. A tool may only refer to these.
        limits: The limits of media and parts.

    Returns:
        The parts with references, and the resources that they use.

    Raises:
        PayloadTooLargeError: A medium is too large, or there are too many media or parts. Nothing
            was written.
        StoreUnavailableError: The blob store did not respond. The caller must not write rows.
    Source: spec 002, "Sanitization Pipeline", step 2.
    """
    _check_parts(normalized.parts, limits)
    _check_media(normalized.media, limits)
    if may_have_duplicates(normalized):
        normalized = await anyio.to_thread.run_sync(merge_duplicates, normalized)
    processed = await keeper.process_all(normalized.media)
    references = [medium.reference for medium in processed]
    warnings = [*normalized.warnings, *_warn_of_damage(normalized.media, processed)]
    persister = _ResultPersister(
        normalized, keeper, processed, session_resources, references, warnings
    )
    return await persister.run()


def _check_parts(parts: Sequence[NormalizedPart], limits: Limits) -> None:
    if len(parts) > limits.parts_per_result:
        raise PayloadTooLargeError(
            f"The result has {len(parts)} parts, one for each text of its lists; at most "
            f"{limits.parts_per_result} are taken. Nothing was stored: send the texts as one, or "
            "the list inside an object, which is one part.",
            code="too-many-parts",
            faults=[Fault("/result", "has too many parts")],
        )


def _check_media(media: Sequence[NormalizedMedia], limits: Limits) -> None:
    if len(media) > limits.media_per_result:
        raise PayloadTooLargeError(
            f"The result holds {len(media)} media; at most {limits.media_per_result} are taken. "
            "Nothing was stored: send them as several results, or as one archive.",
            code="too-many-media",
        )
    for index, medium in enumerate(media):
        if medium.source.size_bytes > limits.medium_bytes:
            raise PayloadTooLargeError(
                f"Medium {index + 1} of the result has {medium.source.size_bytes} bytes; at most "
                f"{limits.medium_bytes} are taken. Nothing was stored."
            )


@dataclass(frozen=True, slots=True, eq=False)
class _ResultPersister:
    """Persists one result, whose media are stored already."""

    normalized: NormalizedToolResult
    keeper: MediaKeeper
    processed: Sequence[ProcessedMedium]
    """The media, stored or inline, in the order of `normalized.media`."""
    session_resources: Mapping[str, Resource]
    references: Sequence[str]
    """The references of these media, in the same order."""
    warnings: list[BodyWarning]
    """The warnings so far. Methods add to them."""
    meta_resources: list[Resource] = field(default_factory=list)
    """Resources that are used outside of parts. Methods add to them."""

    async def run(self) -> PersistedToolResult:
        """Return the result with references, after storing its long texts and values."""
        normalized = self.normalized
        parts = []
        for index, part in enumerate(normalized.parts):
            if index and index % _PARTS_PER_PASS == 0:
                # A result may have thousands of parts, so other tasks of the event loop run here.
                await anyio.lowlevel.checkpoint()
            parts.append(await self._persist_part(part))
        structured = normalized.structured_content
        if structured is not None:
            # A tuple of one element, because the value itself may be null.
            structured = (await self._persist_value(structured[0], "structuredContent"),)
        display = await self._persist_value(normalized.display, "_display")
        meta = await self._persist_value(normalized.meta, "_meta")
        envelope = await self._persist_value(normalized.envelope, "envelope")
        return PersistedToolResult(
            parts=tuple(parts),
            meta_resources=tuple(self.meta_resources),
            is_error=normalized.is_error,
            structured_content=structured,
            display=display,
            meta=_as_object(meta),
            envelope=_as_object(envelope),
            warnings=tuple(self.warnings),
        )

    async def _persist_part(self, part: NormalizedPart) -> PersistedPart:
        members = await self._persist_members(part.provenance)
        match part:
            case NormalizedText():
                return await self._persist_text(part.template, part.mime_type, members)
            case NormalizedMediaPart():
                return self._persist_medium(part, members)
            case NormalizedReference():
                return await self._persist_reference(part, members)
            case NormalizedLink():
                name = safe_file_name(part.filename)
                media = _make_media_part(part.url, part.mime_type, name, part.kind, members)
                return PersistedPart(media)

    async def _persist_text(
        self, template: TextTemplate, mime_type: str, members: dict[str, Any]
    ) -> PersistedPart:
        text = _fill(template, self.references)
        resources = self._find_resources(slot for slot in template if isinstance(slot, MediaSlot))
        if needs_preview(text):
            whole = await self.keeper.store(InMemoryMedia(text.encode()), mime_type, None)
            text = make_preview(text, whole.uri)
            resources = (whole, *resources)
        return PersistedPart(TextPart(type="text", text=text, **members), resources)

    def _persist_medium(self, part: NormalizedMediaPart, members: dict[str, Any]) -> PersistedPart:
        processed = self.processed[part.slot.index]
        source = self.normalized.media[part.slot.index].source
        declared_type = canonical_mime_type(source.declared_mime_type or "")
        kind = resource_kind(processed.mime_type)
        media = _make_media_part(
            processed.reference, processed.mime_type, processed.filename, kind, members
        )
        return PersistedPart(
            media,
            (processed.resource,) if processed.resource else (),
            declared_type if declared_type != processed.mime_type else None,
            part.extracted,
        )

    async def _persist_reference(
        self, part: NormalizedReference, members: dict[str, Any]
    ) -> PersistedPart:
        resource = self.session_resources.get(part.resource_id or "")
        if resource is None:
            # If the tool did not declare a reference, the text only looks like one: no warning.
            if part.is_claimed and len(self.warnings) < _MAX_WARNINGS:
                self.warnings.append(
                    BodyWarning(
                        "unknown-reference",
                        part.pointer,
                        "No resource of this session has this id; the reference is kept as text.",
                    )
                )
            return await self._persist_text((part.literal,), "text/plain", members)
        mime_type, filename = resource.mime_type, resource.filename
        media = _make_media_part(resource.reference, mime_type, filename, resource.kind, members)
        return PersistedPart(media, (resource,))

    async def _persist_value(self, value: JsonValue, key: str) -> JsonValue:
        if value is None:
            return None
        filled, text = await anyio.to_thread.run_sync(self._fill_value, value)
        return await self._store_if_long(filled, text, key)

    async def _persist_members(self, provenance: Provenance) -> dict[str, Any]:
        """Return the members of a part other than its content, with references in them."""
        members: dict[str, Any] = {"uri": provenance.uri, "name": provenance.name}
        for key, value in (("annotations", provenance.annotations), ("meta", provenance.meta)):
            members[key] = None
            if value is not None:
                filled = await self._store_if_long(*self._fill_value(value), key)
                members[key] = _as_object(filled)
        return members

    def _fill_value(self, value: JsonValue) -> tuple[JsonValue, str]:
        """Return a value with references in its slots, and the value as JSON text."""
        self.meta_resources.extend(self._find_resources(_find_slots(value)))
        filled = _fill_slots(value, self.references)
        return filled, json_text(filled)

    async def _store_if_long(self, value: JsonValue, text: str, key: str) -> JsonValue:
        """Return a value, or a reference to a resource with the value if it is too long."""
        if len(text) <= META_LIMIT_CHARS:
            return value
        whole = await self.keeper.store(InMemoryMedia(text.encode()), "application/json", None)
        self.meta_resources.append(whole)
        self.warnings.append(
            BodyWarning(
                "long-value-stored",
                "",
                f"{key} has {len(text)} characters; it is kept whole as {whole.uri}.",
            )
        )
        return whole.reference

    def _find_resources(self, slots: Iterable[MediaSlot]) -> tuple[Resource, ...]:
        """Return the resources of the media in slots, without those that stay inline."""
        resources = (self.processed[slot.index].resource for slot in slots)
        return tuple(resource for resource in resources if resource)


def _make_media_part(
    reference: str,
    mime_type: str,
    filename: str | None,
    kind: ResourceKind,
    members: dict[str, Any],
) -> Part:
    """Return the part of a medium with a reference, base64 or URL."""
    if kind == "image":
        # Images have no `filename` in the canonical record.
        image_members = members | {"name": members["name"] or filename}
        return ImagePart(type="image", image=reference, mime_type=mime_type, **image_members)
    return FilePart(
        type="file",
        data=reference,
        mime_type=mime_type,
        media_kind=media_kind(kind),
        filename=filename,
        **members,
    )


def _warn_of_damage(
    media: Sequence[NormalizedMedia], processed: Sequence[ProcessedMedium]
) -> Iterator[BodyWarning]:
    """Yield a warning for each medium that is not sent to models because it is damaged.

    A medium gets one warning, at its first pointer. After the first 50 warnings, one more has the
    number of the others.
    """
    warned: set[str] = set()
    for medium, item in zip(media, processed, strict=True):
        damage = item.damage
        if damage is None or not damage.is_certain or item.reference in warned:
            continue
        warned.add(item.reference)
        if len(warned) <= _MAX_DAMAGE_WARNINGS:
            yield BodyWarning(damage.code, medium.pointer, damage.detail)
    if len(warned) > _MAX_DAMAGE_WARNINGS:
        yield more_warnings(len(warned) - _MAX_DAMAGE_WARNINGS)


def _as_object(value: JsonValue) -> JsonValue:
    """Return a value that has to be an object: a reference becomes `{"stored": reference}`."""
    return {"stored": value} if isinstance(value, str) else value


def _find_slots(value: JsonValue) -> Iterator[MediaSlot]:
    """Yield the `MediaSlot` leaves of a value, in document order."""
    # Values may have a thousand levels, so this function and `_fill_slots` do not recurse.
    stack = [value]
    while stack:
        node = stack.pop()
        if isinstance(node, MediaSlot):
            yield node
        elif isinstance(node, dict):
            stack.extend(reversed(node.values()))
        elif isinstance(node, list | tuple):
            stack.extend(reversed(node))


def _fill_slots(value: JsonValue, references: Sequence[str]) -> JsonValue:
    """Return a value with references in its slots, or the value itself if it has no slots."""
    if next(_find_slots(value), None) is None:
        return value
    root: list[JsonValue] = [value]
    stack: list[JsonValue] = [root]
    while stack:
        container = stack.pop()
        is_object = isinstance(container, dict)
        for key, member in list(container.items() if is_object else enumerate(container)):
            filled = container[key] = _fill(member, references)
            if isinstance(filled, dict | list):
                stack.append(filled)
    return root[0]


def _fill(node: JsonValue, references: Sequence[str]) -> JsonValue:
    """Return a leaf with references in its slots, or a copy of a container.

    The members of a container are not filled.
    """
    if isinstance(node, MediaSlot):
        return references[node.index]
    if isinstance(node, tuple):
        return "".join(
            piece if isinstance(piece, str) else references[piece.index] for piece in node
        )
    if isinstance(node, dict):
        return dict(node)
    return list(node) if isinstance(node, list) else node
