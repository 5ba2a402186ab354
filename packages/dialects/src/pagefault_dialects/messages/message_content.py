"""Reads the content of a message as items: texts, media, notes of omitted members, provider blocks.

`ContentReader` reads the value of a member such as `content`. Blocks are read like blocks of tool
results, so messages and tool results support the same dialects.

When a message is stored, its media are moved out of its texts, so stored texts are not searched for
media again. A text that is a reference to a resource is replaced by the medium, and a medium that
was moved out of a text follows the text. Texts that were not searched yet, such as those of
interactions, are read like tool results.

Any other member of a block is omitted with a note, unless it is one of `_FRAME_NAMES`: types, ids,
states, counts and times. These belong to the dialect and the host; omitting them is no loss.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeGuard

import pybase64

from pagefault_dialects.json.pointers import child_pointer
from pagefault_dialects.json.values import (
    JsonValue,
    has_content,
    json_text,
    parse_stored_json,
)
from pagefault_dialects.media import block_table
from pagefault_dialects.media.block_shapes import value_at
from pagefault_dialects.media.block_table import TEXT_TYPES, without_langchain_members
from pagefault_dialects.media.file_type import HEAD_BYTES, detect_type
from pagefault_dialects.media.raw_audio import is_raw_audio
from pagefault_dialects.messages.provider_blocks import is_provider_block, make_provider_block
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
    NormalizedToolResult,
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
_REFERENCE_BYTES = len("@blob:") + 32
# Shorter texts are not searched for base64.
_MIN_BASE64_CHARS = 64
# The members of a block with its title, name or URL.
_LABEL_NAMES = ("title", "name", "source", "url", "uri", "fileUri", "file_uri", "filename")
# The members of a block with other blocks, besides its content.
_NESTED_NAMES = ("results", "sources", "outputs")
# The members of a block with the arguments of a call that its provider ran, and their labels.
_ARGUMENT_NAMES = ("action", "input")
_ARGUMENT_LABEL_NAMES = ("query", "url")
# The members of a block with text: words, the code that a provider ran, and its output.
_DESCRIBED_NAMES = ("text", "code", "command", "stdout", "stderr", "logs")
_S3_URI_PATH = ("source", "s3Location", "uri")
_TEXT_NAMES = frozenset({"text"})
# The members of a text block without a type. An object with other members is a record of a tool.
_MEMBERS_OF_UNTYPED_TEXT = frozenset({"text", "thought", "thoughtSignature", "thought_signature"})

# Members of a message or a block that no rendering has, and whose omission is no loss.
_FRAME_NAMES = frozenset(
    {
        *("type", "id", "object", "index", "role", "status", "phase", "example", "annotations"),
        *("created", "created_at", "createdAt", "timestamp", "model", "container", "logprobs"),
        *("finish_reason", "stop_reason", "stop_sequence", "stop_details", "stopReason"),
        *("usage", "usage_metadata", "usageMetadata", "response_metadata", "_meta"),
        *("cache_control", "cachePoint", "caller", "partial_json", "providerExecuted", "dynamic"),
        *("detail", "is_error", "isError", "willContinue", "will_continue", "scheduling"),
    }
)
# Members with thoughts of a model, or with the signatures of thoughts.
_REASONING_NAMES = frozenset(
    {
        *("thoughtSignature", "thought_signature", "signature", "encrypted_content"),
        *("reasoning", "reasoning_content", "reasoning_details", "thinking"),
    }
)


@dataclass(frozen=True, slots=True)
class ContentReader:
    """Reads contents of messages as items for an audience."""

    resources: Mapping[str, Resource]
    """The resources that the contents refer to, by id."""
    audience: Audience
    """The reader of the items. Blocks for other audiences are omitted with a note."""
    moved_media_ids: frozenset[str] = frozenset()
    """The ids of media that the service has moved out of texts."""
    finds_media: bool = False
    """True if texts are searched for base64."""
    describes_blocks: bool = False
    """True if a block that only one provider has is described in a text, and not shown as JSON."""
    keeps_blocks: bool = False
    """True if a block that only one provider has becomes a `ProviderBlock`."""

    def read_unsearched(self, value: JsonValue, pointer: str) -> Iterator[Item]:
        """Yield the items of a value from which no media were moved out.

        The value is one text, if there are no media in it. Otherwise it is read like a tool result.
        """
        normalized = normalize(value, is_message=True)
        if not normalized.media:
            yield TextItem(pointer, value if isinstance(value, str) else json_text(value))
            return
        yield from self._read_parts(normalized, pointer)

    def read(
        self, content: JsonValue, pointer: str, *, is_of_dialect: bool = False
    ) -> Iterator[Item]:
        """Yield the items of a content, in order.

        Args:
            content: A text, a block, a list of them, or any other value.
            pointer: The pointer to the content in the message.
            is_of_dialect: Whether an object is a block of a dialect. Otherwise it may be a value
                that a tool returned.
        """
        if content is None or content == []:
            return
        if isinstance(content, str):
            yield from self._read_text(content, pointer)
            return
        if is_object(content):
            items = self._read_block(content, pointer)
            if is_of_dialect:
                yield from self._describe_block(content, pointer, items)
            else:
                yield from self._add_moved_media([*items], pointer)
        elif isinstance(content, list) and any(
            is_object(item) and (_is_text(item) or is_typed_block(item) or _is_speech(item))
            for item in content
        ):
            for item in content:
                if is_object(item):
                    items = self._read_block(item, pointer)
                    yield from self._describe_block(item, pointer, items)
                else:
                    yield from self._read_data(item, pointer)
        else:
            yield from self._add_moved_media([*self._read_data(content, pointer)], pointer)

    def _read_data(self, value: JsonValue, pointer: str) -> Iterator[Item]:
        """Yield the items of a value that is no content of a dialect, read as a tool result."""
        # A list is passed as it is: in a content, its elements would be read as blocks.
        as_content = value if isinstance(value, list) else {"content": [value]}
        items = [*self._read_parts(normalize(as_content, is_message=True), pointer)]
        if self.finds_media and any(
            isinstance(item, TextItem) and any(self._find_moved_media(item.text, pointer))
            for item in items
        ):
            sent = parse_stored_json(self._restore_data_uris(json_text(as_content)).encode())
            items = [*self._read_parts(normalize(sent, is_message=True), pointer)]
        yield from items

    def _read_parts(self, normalized: NormalizedToolResult, pointer: str) -> Iterator[Item]:
        """Yield the items of a value that was read like a tool result.

        A data URI that `_restore_data_uris` has written becomes the moved medium.
        """
        for part in normalized.parts:
            for item in self._read_part(part, normalized.media, pointer):
                source = item.source if isinstance(item, Medium) else None
                data = source.data if isinstance(source, InlineBytes) else b""
                reference = (
                    data.decode("ascii") if len(data) == _REFERENCE_BYTES and data.isascii() else ""
                )
                yield next(self._find_moved_media(reference, pointer), item)

    def _restore_data_uris(self, text: str) -> str:
        """Return a text with a data URI for each reference to a medium that was moved out of it.

        The bytes of the data URI are the reference. So the text is read as it was when it was sent,
        whose media are replaced in the text, and JSON with media is serialised again.
        """

        def restore(reference: re.Match[str]) -> str:
            is_moved = any(self._find_moved_media(reference[0], ""))
            encoded = pybase64.b64encode(reference[0].encode()).decode()
            return f"data:image/png;base64,{encoded}" if is_moved else reference[0]

        return _REFERENCE.sub(restore, text)

    def _read_block(self, block: dict[str, JsonValue], pointer: str) -> Iterator[Item]:
        """Yield the items of a block. A medium gets the `detail` of the block."""
        members = {name: value for name, value in block.items() if value is not None}
        detail = _find_detail(members)
        if _is_speech(members):
            yield from self._read_speech(members, pointer, members.pop("transcript"))
            return
        for item in self._read_members(members, pointer):
            yield replace(item, detail=detail) if detail and isinstance(item, Medium) else item

    def _read_speech(
        self, members: dict[str, JsonValue], pointer: str, transcript: str
    ) -> Iterator[Item]:
        """Yield the items of speech of OpenAI's Realtime API: audio, or only its transcript."""
        if "audio" not in members:
            yield TextItem(pointer, transcript)
            return
        words = AlternativeText("transcript", transcript)
        for item in self._read_members(members, pointer):
            yield replace(item, words=words) if isinstance(item, Medium) else item

    def _read_members(self, members: dict[str, JsonValue], pointer: str) -> Iterator[Item]:
        """Yield the items of a block without null members: a text, a refusal or a medium."""
        if _is_text(members):
            if allows_audience(members.get("annotations"), self.audience):
                yield from self._read_text(members["text"], pointer)
            else:
                yield note_other_audience(pointer, "text", members["annotations"])
            yield from note_unread_members(members, _TEXT_NAMES, pointer)
        elif members.get("type") == "refusal" and isinstance(members.get("refusal"), str):
            yield TextItem(pointer, members["refusal"])
        elif name := _find_medium_member(members):
            yield from self._read_data({name: _remove_empty_members(members[name])}, pointer)
            yield from note_unread_members(members, frozenset({name}), pointer)
        else:
            yield from self._read_data(without_langchain_members(members), pointer)

    def _describe_block(
        self, block: dict[str, JsonValue], pointer: str, items: Iterator[Item]
    ) -> Iterator[Item]:
        """Yield the items of a block, or what the options require for a block of one provider.

        The readers of tool results show such a block as JSON. It becomes a `ProviderBlock` with
        `keeps_blocks`, and a text with `describes_blocks`. Messages that were stored before their
        dialect was stored with them are read without these options, so they keep the JSON.

        Args:
            block: The block.
            pointer: The pointer to the block.
            items: The items that the readers of tool results made of the block.
        """
        if self.keeps_blocks and not _is_text(block):
            yield from self._keep_provider_block(block, pointer, [*items])
            return
        if _is_text(block) or not (self.finds_media or self.describes_blocks):
            yield from items
            return
        has_medium = False
        for item in items:
            if isinstance(item, Medium):
                has_medium = True
                yield replace(item, is_in_text=False)
            elif isinstance(item, Omission | SyntheticNote | ProviderBlock) or (
                isinstance(item, TextItem) and not _is_object_text(item.text)
            ):
                yield item
            else:
                # The item is the JSON of the block.
                kind = _find_kind(block)
                text = item.text if isinstance(item, TextItem) else json_text(item.value)
                moved_media = [*self._find_moved_media(text, pointer)]
                yield from (replace(medium, is_in_text=False) for medium in moved_media)
                if not (has_medium or moved_media):
                    yield TextItem(pointer, _describe_in_text(kind, block))
                yield note_no_place(pointer, kind)

    def _keep_provider_block(
        self, block: dict[str, JsonValue], pointer: str, items: list[Item]
    ) -> Iterator[Item]:
        """Yield a `ProviderBlock` if only one provider has a block, otherwise the block's items.

        Args:
            block: The block.
            pointer: The pointer to the block.
            items: The items that the readers of tool results made of the block. If they do not know
                the block, they return its JSON, or a note that its data could not be read.
        """
        kind = _find_kind(block)
        read_items: list[Item] = []
        is_unknown = is_provider_block(kind, block) and any(map(_is_refused, items))
        for item in items:
            if is_unknown and _is_refused(item):
                continue
            if isinstance(item, TextItem) and _is_object_text(item.text):
                is_unknown = True
                moved_media = self._find_moved_media(item.text, pointer)
                read_items += (replace(medium, is_in_text=False) for medium in moved_media)
            elif isinstance(item, Medium):
                read_items.append(replace(item, is_in_text=False))
            else:
                read_items.append(item)
        if not is_unknown and any(map(_is_content, read_items)):
            yield from read_items
        elif any(isinstance(item, Medium) for item in read_items):
            yield from read_items
            yield note_no_place(pointer, kind)
        elif is_provider_block(kind, block):
            yield make_provider_block(block, pointer, kind, _describe_in_text(kind, block))
        else:
            # A damaged block of a type that all dialects have.
            yield from read_items
            yield TextItem(pointer, _describe_in_text(kind, block))
            yield replace(note_no_place(pointer, kind), to="text")

    def _read_text(self, text: str, pointer: str) -> Iterator[Item]:
        """Yield the medium to which a text refers; or the text, and media that were moved out."""
        resource_id = parse_resource_id(text) if text.startswith("@blob:") else None
        resource = self.resources.get(resource_id) if resource_id else None
        if resource is not None:
            yield replace(
                stored_medium(resource, pointer), is_in_text=resource_id in self.moved_media_ids
            )
            return
        if self.finds_media:
            text = self._restore_data_uris(text)
        if self.finds_media and len(text) >= _MIN_BASE64_CHARS:
            for item in self.read_unsearched(text, pointer):
                yield replace(item, is_in_text=True) if isinstance(item, Medium) else item
            return
        yield TextItem(pointer, text)
        yield from self._find_moved_media(text, pointer)

    def _find_moved_media(self, text: str, pointer: str) -> Iterator[Medium]:
        """Yield the media that the service moved out of a text, in order."""
        for resource_id in _REFERENCE.findall(text) if self.moved_media_ids else ():
            if resource_id in self.moved_media_ids and resource_id in self.resources:
                medium = stored_medium(self.resources[resource_id], pointer)
                yield replace(medium, is_in_text=True)

    def _add_moved_media(self, items: list[Item], pointer: str) -> Iterator[Item]:
        """Yield the items of a value that a tool returned, and the media that its JSON refers to.

        The media that the items have already are not repeated.
        """
        sources = {item.source for item in items if isinstance(item, Medium)}
        for item in items:
            yield item
            text = item.text if isinstance(item, TextItem) else ""
            for medium in self._find_moved_media(text, pointer):
                if medium.source not in sources:
                    sources.add(medium.source)
                    yield medium

    def _read_part(
        self, part: NormalizedPart, media: tuple[NormalizedMedia, ...], pointer: str
    ) -> Iterator[Item]:
        """Yield the item of a part, with its name and URI.

        They are the item's label with `describes_blocks`, and otherwise a text after the item.
        """
        provenance = part.provenance
        if not allows_audience(provenance.annotations, self.audience):
            yield note_other_audience(pointer, "part", provenance.annotations)
            return
        item = self._make_item(part, media, pointer)
        labels = {"name": provenance.name, "uri": provenance.uri}
        if isinstance(item, Medium):
            item = _add_names(item, part, provenance)
            url = item.source.url if isinstance(item.source, Address) else None
            labels = {key: labels[key] for key in labels if labels[key] not in (item.filename, url)}
        if self.describes_blocks:
            label = BlockLabel(labels.get("name"), labels.get("uri"))
            yield replace(item, label=label) if any(labels.values()) else item
            return
        yield item
        if any(labels.values()):
            yield TextItem(pointer, json_text({key: text for key, text in labels.items() if text}))

    def _make_item(
        self, part: NormalizedPart, media: tuple[NormalizedMedia, ...], pointer: str
    ) -> TextItem | Medium:
        """Return a part as an item. A reference to an unknown resource is a text."""
        if isinstance(part, NormalizedText):
            # The media of a template are parts of their own, which follow the text.
            texts = (item if isinstance(item, str) else "[medium]" for item in part.template)
            return TextItem(pointer, "".join(texts))
        if isinstance(part, NormalizedMediaPart):
            source, filename = media[part.slot.index].source, media[part.slot.index].filename
            claimed = (source.declared_mime_type or "").partition(";")[0].strip().lower() or None
            mime_type = detect_type(source.head(HEAD_BYTES), source.declared_mime_type, filename)
            is_raw = is_raw_audio(mime_type)
            return Medium(
                pointer,
                InlineBytes(b"".join(source.chunks())),
                resource_kind(mime_type),
                mime_type,
                filename,
                source.size_bytes,
                # A type of raw audio may lack the byte order, which then follows from the bytes.
                claimed_type=None if claimed == mime_type or is_raw else claimed,
                is_in_text=part.extracted,
            )
        if isinstance(part, NormalizedLink):
            return Medium(
                pointer, Address(part.url), part.kind, part.mime_type, part.filename, None
            )
        resource = self.resources.get(part.resource_id or "")
        return stored_medium(resource, pointer) if resource else TextItem(pointer, part.literal)


def _add_names(medium: Medium, part: NormalizedPart, provenance: Provenance) -> Medium:
    """Return a medium with the name and the caption that the message has for it."""
    name = medium.filename or provenance.name
    if isinstance(part, NormalizedReference):
        # The name of a file that was moved out of the message is rarely in the store.
        name = provenance.name or medium.filename
    return replace(medium, filename=name, words=find_alternative_text(provenance.meta))


def _is_speech(block: Mapping[str, JsonValue]) -> bool:
    """Return whether a block is speech of OpenAI's Realtime API with a transcript."""
    is_part = block.get("type") in block_table.REALTIME_PARTS
    return is_part and isinstance(block.get("transcript"), str)


def _find_kind(block: Mapping[str, JsonValue]) -> str:
    """Return the type of a block; without a type, the name of its first member."""
    kind = block.get("type")
    return kind if isinstance(kind, str) else next(iter(block), "object")


def _is_content(item: Item) -> bool:
    """Return whether an item is a text, a medium, or the note that it is for another audience."""
    is_for_others = isinstance(item, Omission) and item.code == "other-audience"
    return is_for_others or isinstance(item, TextItem | Medium)


def _is_refused(item: Item) -> bool:
    """Return whether an item is the note that the data of a block could not be read."""
    return isinstance(item, TextItem) and is_refused_note(item.text)


def _is_object_text(text: str) -> bool:
    """Return whether a text is the JSON of an object, without parsing it."""
    return text.startswith("{") and text.endswith("}")


def _describe_in_text(kind: str, block: Mapping[str, JsonValue]) -> str:
    """Return a text with the title, name, URL and text of a block and of the blocks inside it.

    Code that a provider ran and its output are texts.
    """
    inner = block.get(kind)
    members = inner if is_object(inner) else block
    found = (value for name in _ARGUMENT_NAMES if is_object(value := members.get(name)))
    arguments: Mapping[str, JsonValue] = next(found, {})
    labels = [*_find_labels(members), *_find_texts(arguments, _ARGUMENT_LABEL_NAMES)]
    texts = [
        *_find_texts(members, (*_DESCRIBED_NAMES, "content")),
        *_find_texts(arguments, _DESCRIBED_NAMES),
    ]
    content = members.get("content")
    lists = [[content] if is_object(content) else content]
    lists += (members.get(name) for name in _NESTED_NAMES)
    for nested in (item for value in lists if isinstance(value, list) for item in value):
        if is_object(nested):
            nested_labels = ", ".join(_find_labels(nested))
            texts += [nested_labels] if nested_labels else []
            texts += _find_texts(nested, _DESCRIBED_NAMES)
    if labels:
        return "\n".join([f"[{kind}: {', '.join(labels)}]", *texts])
    return "\n".join(texts) or f"[block: {kind}]"


def _find_texts(members: Mapping[str, JsonValue], names: Iterable[str]) -> list[str]:
    """Return the members of some names that are texts, without empty ones."""
    values = (members.get(name) for name in names)
    return [value for value in values if isinstance(value, str) and value]


def _find_labels(block: Mapping[str, JsonValue]) -> list[str]:
    """Return the title, name and URLs of a block, without data URIs."""
    labels = [*(block.get(name) for name in _LABEL_NAMES), value_at(block, _S3_URI_PATH)]
    texts = (label for label in labels if isinstance(label, str))
    return [text for text in texts if text and not text.startswith("data:")]


def _is_text(block: Mapping[str, JsonValue]) -> bool:
    """Return whether a block is a text block."""
    if not isinstance(block.get("text"), str):
        return False
    if "type" in block:
        return block["type"] in TEXT_TYPES
    return {name for name in block if block[name] is not None} <= _MEMBERS_OF_UNTYPED_TEXT


def _find_detail(block: Mapping[str, JsonValue]) -> ImageDetail | None:
    """Return the `detail` of the image of a block, in OpenAI's two spellings."""
    members = block["image_url"] if is_object(block.get("image_url")) else block
    details: tuple[ImageDetail, ...] = ("low", "high", "auto", "original")
    return next((detail for detail in details if detail == members.get("detail")), None)


def _find_medium_member(block: Mapping[str, JsonValue]) -> str | None:
    """Return the name of the member with the medium, for a block without a type."""
    if "type" in block:
        return None
    names = block_table.BLOCK_TABLE.first_keys_with_other_members
    return next((name for name in names if is_object(block.get(name))), None)


def _remove_empty_members(value: JsonValue) -> JsonValue:
    """Return an object without empty members; other values are returned as they are."""
    if not is_object(value):
        return value
    return {name: member for name, member in value.items() if has_content(member)}


def note_unread_members(
    members: Mapping[str, JsonValue], read_names: frozenset[str], pointer: str
) -> Iterator[Omission]:
    """Yield a note for each member of a message or a block that is omitted, if that is a loss.

    Args:
        members: The message or the block.
        read_names: The names of the members that are read.
        pointer: The pointer to the message or the block.
    """
    for name, value in members.items():
        if name in read_names or not has_content(value):
            continue
        if name in _REASONING_NAMES:
            yield note_reasoning(child_pointer(pointer, name))
        elif name not in _FRAME_NAMES or (name == "annotations" and isinstance(value, list)):
            # `annotations` of MCP is an object, and read; a list of them has OpenAI's citations.
            yield note_no_place(child_pointer(pointer, name), name)


def note_reasoning(pointer: str) -> Omission:
    """Return the note that a thought of a model is omitted."""
    return Omission(
        pointer, "reasoning", "reasoning", "Only the model that thought it takes it back."
    )


def note_no_place(pointer: str, what: str) -> Omission:
    """Return the note that a member or a block is omitted because only one dialect has it."""
    return Omission(pointer, what, "no-place", f"Other dialects have no place for `{what}`.")


def is_object(value: JsonValue) -> TypeGuard[dict[str, JsonValue]]:
    """Return whether a JSON value is an object."""
    return isinstance(value, dict)
