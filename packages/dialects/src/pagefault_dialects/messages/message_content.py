"""The items of a message's content: texts unchanged, and blocks as the pipeline reads them.

Media were moved out of texts when a message was stored, so its texts are not searched again. A text
that is a reference is replaced by the medium, and media that were moved out of a text follow it.
Texts that were not searched yet, such as those of interactions, are read like tool results.

Other members are frames, or they are left out with an entry of loss. Frames belong to the dialect
and the host: types, ids, states, counts and times. No rendering shows them, and they are no loss.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeGuard

from pagefault_dialects.json.pointers import child_pointer
from pagefault_dialects.json.values import JsonValue, json_text, says_something
from pagefault_dialects.media import block_table
from pagefault_dialects.media.block_shapes import value_at
from pagefault_dialects.media.block_table import TEXT_TYPES, without_langchain_members
from pagefault_dialects.media.file_type import HEAD_BYTES, detect_type
from pagefault_dialects.media.raw_audio import is_raw_audio
from pagefault_dialects.messages.provider_blocks import is_kept, own_block
from pagefault_dialects.model.conversation import (
    Address,
    AlternativeText,
    BlockLabel,
    InlineBytes,
    Item,
    Medium,
    Omission,
    ProviderBlock,
    SyntheticNote,
    TextItem,
    stored_medium,
)
from pagefault_dialects.model.normalized import (
    NormalizedLink,
    NormalizedMedia,
    NormalizedMediaPart,
    NormalizedPart,
    NormalizedReference,
    NormalizedText,
    Provenance,
)
from pagefault_dialects.model.render_options import Audience, ImageDetail
from pagefault_dialects.model.resource import Resource, parse_resource_id, resource_kind
from pagefault_dialects.results import normalize
from pagefault_dialects.results.blocks import is_typed_block
from pagefault_dialects.results.parts import is_refused_note
from pagefault_dialects.turns.record_turns import (
    allows_audience,
    find_alternative_text,
    note_other_audience,
)

_REFERENCE = re.compile("@blob:([0-9a-f]{32})")
_SHORTEST_BASE64 = 64
_LABELS = ("title", "name", "source", "url", "uri", "fileUri", "file_uri", "filename")
_NESTED = ("results", "sources")
_IN_BUCKET = ("source", "s3Location", "uri")
_READ_OF_TEXT = frozenset({"text"})
# Members beside the text of a block without a type. With others, it is a record.
_BESIDE_TEXT = frozenset({"text", "thought", "thoughtSignature", "thought_signature"})

_FRAMES = frozenset(
    {
        *("type", "id", "object", "index", "role", "status", "phase", "example", "annotations"),
        *("created", "created_at", "createdAt", "timestamp", "model", "container", "logprobs"),
        *("finish_reason", "stop_reason", "stop_sequence", "stop_details", "stopReason"),
        *("usage", "usage_metadata", "usageMetadata", "response_metadata", "_meta"),
        *("cache_control", "cachePoint", "caller", "partial_json", "providerExecuted", "dynamic"),
        *("detail", "is_error", "isError", "willContinue", "will_continue", "scheduling"),
    }
)
_THOUGHTS = frozenset(
    {
        *("thoughtSignature", "thought_signature", "signature", "encrypted_content"),
        *("reasoning", "reasoning_content", "reasoning_details", "thinking"),
    }
)


@dataclass(frozen=True, slots=True)
class ContentReading:
    """Reader of contents for an audience.

    `resources` are the resources that they refer to, by id. `moved` are the ids of media that the
    service has moved out of them. With `finds_media`, texts are searched for base64. With
    `uses_words`, blocks of one provider are described in words; with `keeps_blocks` they are items.
    """

    resources: Mapping[str, Resource]
    audience: Audience
    moved: frozenset[str] = frozenset()
    finds_media: bool = False
    uses_words: bool = False
    keeps_blocks: bool = False

    def raw(self, value: JsonValue, pointer: str) -> Iterator[Item]:
        """Yield a value that was stored unchanged, or the parts of it if it contains media."""
        normalized = normalize(value, is_message=True)
        if not normalized.media:
            yield TextItem(pointer, value if isinstance(value, str) else json_text(value))
            return
        for part in normalized.parts:
            yield from self._part(part, normalized.media, pointer)

    def items(
        self, content: JsonValue, pointer: str, *, is_of_dialect: bool = False
    ) -> Iterator[Item]:
        """Yield the items of a content, in order.

        Args:
            content: A text, a block, a list of them, or any other value.
            pointer: The place of the content in the message.
            is_of_dialect: Whether a block belongs to a dialect, and is no value of a tool.
        """
        if content is None or content == []:
            return
        if isinstance(content, str):
            yield from self._text(content, pointer)
            return
        if is_block(content):
            items = self._block(content, pointer)
            yield from self._in_words(content, pointer, items) if is_of_dialect else items
        elif isinstance(content, list) and any(
            is_block(item) and (_is_text(item) or is_typed_block(item) or _is_speech(item))
            for item in content
        ):
            for item in content:
                if is_block(item):
                    yield from self._in_words(item, pointer, self._block(item, pointer))
                else:
                    yield from self._data(item, pointer)
        else:
            yield from self._data(content, pointer)

    def _data(self, value: JsonValue, pointer: str) -> Iterator[Item]:
        """Yield the items of any other value. A list of data stays a list."""
        as_content = value if isinstance(value, list) else {"content": [value]}
        normalized = normalize(as_content, is_message=True)
        for part in normalized.parts:
            yield from self._part(part, normalized.media, pointer)

    def _block(self, block: dict[str, JsonValue], pointer: str) -> Iterator[Item]:
        members = {name: value for name, value in block.items() if value is not None}
        detail = _detail_of(members)
        if _is_speech(members):
            yield from self._speech(members, pointer, members.pop("transcript"))
            return
        for item in self._in_block(members, pointer):
            yield replace(item, detail=detail) if detail and isinstance(item, Medium) else item

    def _speech(
        self, members: dict[str, JsonValue], pointer: str, transcript: str
    ) -> Iterator[Item]:
        """Yield the items of a part of OpenAI's Realtime API, which may have only the words."""
        if "audio" not in members:
            yield TextItem(pointer, transcript)
            return
        words = AlternativeText("transcript", transcript)
        for item in self._in_block(members, pointer):
            yield replace(item, words=words) if isinstance(item, Medium) else item

    def _in_block(self, members: dict[str, JsonValue], pointer: str) -> Iterator[Item]:
        if _is_text(members):
            if allows_audience(members.get("annotations"), self.audience):
                yield from self._text(members["text"], pointer)
            else:
                yield note_other_audience(pointer, "text", members["annotations"])
            yield from read_loss_beside(members, _READ_OF_TEXT, pointer)
        elif members.get("type") == "refusal" and isinstance(members.get("refusal"), str):
            yield TextItem(pointer, members["refusal"])
        elif name := _medium_member(members):
            yield from self._data({name: _without_nulls(members[name])}, pointer)
            yield from read_loss_beside(members, frozenset({name}), pointer)
        else:
            yield from self._data(without_langchain_members(members), pointer)

    def _in_words(
        self, block: dict[str, JsonValue], pointer: str, items: Iterator[Item]
    ) -> Iterator[Item]:
        """Yield the items of a block, in words if only one provider has such blocks.

        Messages that were stored without a reading keep their first reading.
        """
        if self.keeps_blocks and not _is_text(block):
            yield from self._provider_items(block, pointer, [*items])
            return
        is_known = not (self.finds_media or self.uses_words) or _is_text(block)
        shows_medium = False
        for item in items:
            if is_known or isinstance(item, Omission | SyntheticNote):
                yield item
            elif isinstance(item, Medium):
                shows_medium = True
                yield replace(item, is_in_text=False)
            elif isinstance(item, ProviderBlock) or (
                isinstance(item, TextItem) and not _is_object_text(item.text)
            ):
                yield item
            else:
                kind = _kind(block)
                text = item.text if isinstance(item, TextItem) else json_text(item.value)
                moved = [*self._moved_media(text, pointer)]
                yield from (replace(value, is_in_text=False) for value in moved)
                if not (shows_medium or moved):
                    yield TextItem(pointer, _words_of_block(kind, block))
                yield without_a_place(pointer, kind)

    def _provider_items(
        self, block: dict[str, JsonValue], pointer: str, items: list[Item]
    ) -> Iterator[Item]:
        """Yield the items of a block. A block that only its provider has is kept unchanged."""
        kind = _kind(block)
        visible: list[Item] = []
        is_object = is_kept(kind, block) and any(map(_is_refused, items))
        for item in items:
            if is_object and _is_refused(item):
                continue
            if isinstance(item, TextItem) and _is_object_text(item.text):
                is_object = True
                moved = self._moved_media(item.text, pointer)
                visible += (replace(value, is_in_text=False) for value in moved)
            elif isinstance(item, Medium):
                visible.append(replace(item, is_in_text=False))
            else:
                visible.append(item)
        if not is_object and any(isinstance(item, TextItem | Medium) for item in visible):
            yield from visible
        elif any(isinstance(item, Medium) for item in visible):
            yield from visible
            yield without_a_place(pointer, kind)
        elif is_kept(kind, block):
            yield own_block(block, pointer, kind, _words_of_block(kind, block))
        else:
            # A damaged block of a type that all dialects have.
            yield from visible
            yield TextItem(pointer, _words_of_block(kind, block))
            yield replace(without_a_place(pointer, kind), to="text")

    def _text(self, text: str, pointer: str) -> Iterator[Item]:
        resource_id = parse_resource_id(text) if text.startswith("@blob:") else None
        resource = self.resources.get(resource_id) if resource_id else None
        if resource is not None:
            yield replace(stored_medium(resource, pointer), is_in_text=resource_id in self.moved)
            return
        if self.finds_media and len(text) >= _SHORTEST_BASE64:
            for item in self.raw(text, pointer):
                yield replace(item, is_in_text=True) if isinstance(item, Medium) else item
            return
        yield TextItem(pointer, text)
        yield from self._moved_media(text, pointer)

    def _moved_media(self, text: str, pointer: str) -> Iterator[Medium]:
        """Yield the media that the service moved out of a text."""
        for found in _REFERENCE.findall(text) if self.moved else ():
            if found in self.moved and found in self.resources:
                yield replace(stored_medium(self.resources[found], pointer), is_in_text=True)

    def _part(
        self, part: NormalizedPart, media: tuple[NormalizedMedia, ...], pointer: str
    ) -> Iterator[Item]:
        provenance = part.provenance
        if not allows_audience(provenance.annotations, self.audience):
            yield note_other_audience(pointer, "part", provenance.annotations)
            return
        item = self._part_item(part, media, pointer)
        names = {"name": provenance.name, "uri": provenance.uri}
        if isinstance(item, Medium):
            item = _name_medium(item, part, provenance)
            address = item.source.url if isinstance(item.source, Address) else None
            names = {key: names[key] for key in names if names[key] not in (item.filename, address)}
        if self.uses_words:
            label = BlockLabel(names.get("name"), names.get("uri"))
            yield replace(item, label=label) if any(names.values()) else item
            return
        yield item
        if any(names.values()):
            yield TextItem(pointer, json_text({key: name for key, name in names.items() if name}))

    def _part_item(
        self, part: NormalizedPart, media: tuple[NormalizedMedia, ...], pointer: str
    ) -> TextItem | Medium:
        if isinstance(part, NormalizedText):
            # The medium of a template follows as a separate item.
            texts = (item if isinstance(item, str) else "[medium]" for item in part.template)
            return TextItem(pointer, "".join(texts))
        if isinstance(part, NormalizedMediaPart):
            source, filename = media[part.slot.index].source, media[part.slot.index].filename
            declared = (source.declared_mime_type or "").partition(";")[0].strip().lower() or None
            mime_type = detect_type(source.head(HEAD_BYTES), source.declared_mime_type, filename)
            is_raw = is_raw_audio(mime_type)
            return Medium(
                pointer,
                InlineBytes(b"".join(source.chunks())),
                resource_kind(mime_type),
                mime_type,
                filename,
                source.size_bytes,
                # The bytes may have decided the order of samples, which is no other type.
                claimed_type=None if declared == mime_type or is_raw else declared,
                is_in_text=part.extracted,
            )
        if isinstance(part, NormalizedLink):
            return Medium(
                pointer, Address(part.url), part.kind, part.mime_type, part.filename, None
            )
        resource = self.resources.get(part.resource_id or "")
        return stored_medium(resource, pointer) if resource else TextItem(pointer, part.literal)


def _name_medium(medium: Medium, part: NormalizedPart, provenance: Provenance) -> Medium:
    """Return the medium with its name and caption in the message."""
    name = medium.filename or provenance.name
    if isinstance(part, NormalizedReference):
        # The name of a file that was moved out of the message is rarely in the store.
        name = provenance.name or medium.filename
    return replace(medium, filename=name, words=find_alternative_text(provenance.meta))


def _is_speech(block: Mapping[str, JsonValue]) -> bool:
    """Return whether a block is speech of OpenAI's Realtime API with its words."""
    is_part = block.get("type") in block_table.REALTIME_PARTS
    return is_part and isinstance(block.get("transcript"), str)


def _kind(block: Mapping[str, JsonValue]) -> str:
    kind = block.get("type")
    return kind if isinstance(kind, str) else next(iter(block), "object")


def _is_refused(item: Item) -> bool:
    return isinstance(item, TextItem) and is_refused_note(item.text)


def _is_object_text(text: str) -> bool:
    return text.startswith("{") and text.endswith("}")


def _words_of_block(kind: str, block: Mapping[str, JsonValue]) -> str:
    """Return the readable members of a block, also of nested ones: title, name, address, text."""
    inner = block.get(kind)
    members = inner if is_block(inner) else block
    labels, content = _labels_of(members), members.get("content")
    texts = [item for item in (members.get("text"), content) if isinstance(item, str) and item]
    nested = [content] if is_block(content) else content if isinstance(content, list) else []
    nested = [*nested, *(item for name in _NESTED for item in _list_of(members.get(name)))]
    for part in filter(is_block, nested):
        named, text = ", ".join(_labels_of(part)), part.get("text")
        texts += [named] if named else []
        texts += [text] if isinstance(text, str) and text else []
    head = f"[{kind}: {', '.join(labels)}]" if labels else "" if texts else f"[block: {kind}]"
    return "\n".join([head, *texts] if head else texts)


def _labels_of(block: Mapping[str, JsonValue]) -> list[str]:
    named = [*(block.get(name) for name in _LABELS), value_at(block, _IN_BUCKET)]
    texts = (item for item in named if isinstance(item, str))
    return [text for text in texts if text and not text.startswith("data:")]


def _list_of(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []


def _is_text(block: Mapping[str, JsonValue]) -> bool:
    if not isinstance(block.get("text"), str):
        return False
    is_part = (
        "type" not in block and {key for key in block if block[key] is not None} <= _BESIDE_TEXT
    )
    return is_part or block.get("type") in TEXT_TYPES


def _detail_of(block: Mapping[str, JsonValue]) -> ImageDetail | None:
    """Return the `detail` of the image of a block, in OpenAI's two spellings."""
    holder = block["image_url"] if is_block(block.get("image_url")) else block
    details: tuple[ImageDetail, ...] = ("low", "high", "auto", "original")
    return next((detail for detail in details if detail == holder.get("detail")), None)


def _medium_member(block: Mapping[str, JsonValue]) -> str | None:
    names = block_table.BLOCK_TABLE.first_keys_with_other_members
    return None if "type" in block else next((n for n in names if is_block(block.get(n))), None)


def _without_nulls(value: JsonValue) -> JsonValue:
    if not is_block(value):
        return value
    return {name: member for name, member in value.items() if says_something(member)}


def read_loss_beside(
    members: Mapping[str, JsonValue], known: frozenset[str], pointer: str
) -> Iterator[Omission]:
    """Yield the members of a message or a block that are neither read nor part of its frame.

    Args:
        members: The message or the block.
        known: The members that are read.
        pointer: The place of the message or the block.
    """
    for name, value in members.items():
        if name in known or not says_something(value):
            continue
        if name in _THOUGHTS:
            yield reasoning(child_pointer(pointer, name))
        elif name not in _FRAMES or (name == "annotations" and isinstance(value, list)):
            yield without_a_place(child_pointer(pointer, name), name)


def reasoning(pointer: str) -> Omission:
    """Return the note of a thought that is left out."""
    return Omission(
        pointer, "reasoning", "reasoning", "Only the model that thought it takes it back."
    )


def without_a_place(pointer: str, what: str) -> Omission:
    """Return the note of a member or block that only one dialect has."""
    return Omission(pointer, what, "no-place", f"Other dialects have no place for `{what}`.")


def is_block(value: JsonValue) -> TypeGuard[dict[str, JsonValue]]:
    """Return whether a value is an object."""
    return isinstance(value, dict)
