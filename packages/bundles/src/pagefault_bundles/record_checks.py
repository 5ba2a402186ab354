"""Checks of the records in the lines of a bundle.

A check raises an error if this service could not read the record after the import: either
`BundleFormatError`, or an error of a parser, which `format_errors.errors_at` translates. Otherwise
the check returns the resources to which the record refers. A page is rebuilt from its fields and
levels, and has to equal the page in the line.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from app.models.interaction import Interaction, MultiModalInput
from app.models.limits import Limits
from app.models.message import sent_message
from app.models.resource_descriptor import MAX_ALIASES, derive_resource_id, describe, is_alias
from app.models.stored_interaction import Bindings, attachment_key, bound_resource_id
from app.models.tool_result import FilePart, ImagePart, SanitizedToolResult
from app.services.packaging import encode_sanitized
from app.services.pages import stored_pages, versions
from app.services.pages.content_resolver import check_field_texts
from app.services.pages.message_images import find_image_ids
from app.services.pages.page_bodies import fits_modality, is_url, make_page_media
from app.services.pages.page_requests import RESERVED_IDS
from app.services.renders.prompt_turns import read_prompt_turns
from app.services.sessions.interaction_requests import dump_input
from app.services.sessions.message_requests import FlatMessage, find_only_answered_id
from app.stores.records.session_prompts import SessionPrompt
from pagefault_bundles import line_types
from pagefault_bundles.bundle_lines import (
    parse_stored_object,
    parse_stored_value,
    read_levels,
    read_page,
)
from pagefault_bundles.format_errors import require
from pagefault_dialects.dialects.registry import DIALECTS
from pagefault_dialects.json.pointers import follow, parse_json_pointer
from pagefault_dialects.json.values import JsonValue, json_text
from pagefault_dialects.media.data_uris import split_data_uri
from pagefault_dialects.media.embedded_data_uris import InlineForm, dump_forms, load_forms
from pagefault_dialects.media.file_names import safe_file_name
from pagefault_dialects.media.types import canonical_mime_type, is_textual
from pagefault_dialects.messages.entry_reading import (
    READER_VERSION,
    EntryReading,
    count_failed_results,
    is_flat,
    read_stored,
)
from pagefault_dialects.messages.message_references import find_references
from pagefault_dialects.model.client_ids import CLIENT_ID
from pagefault_dialects.model.page import Body, BodyKind, Modality, Page, PageMedia, PageVersion
from pagefault_dialects.model.resource import Resource, parse_resource_id, resource_kind
from pagefault_dialects.model.timestamps import format_timestamp
from pagefault_dialects.turns.page_turns import PageFaultCall

ResourcesById = Mapping[str, Resource]
"""The resources of a bundle, by id."""

_TEXT_KINDS: frozenset[BodyKind] = frozenset({"none", "text", "blob"})
_ALLOWED_KINDS: dict[Modality, frozenset[BodyKind]] = {
    "text": _TEXT_KINDS,
    "structured": frozenset({"none", "json", "blob"}),
    "image": _TEXT_KINDS | {"url", "data"},
    "audio": _TEXT_KINDS | {"url", "data"},
    "video": _TEXT_KINDS | {"url", "data"},
}
"""The kinds of content that a page of each modality may have."""
_MAX_TOKENS = 2**53


@dataclass(frozen=True, slots=True)
class ResourceReferences:
    """The ids of the resources that a record refers to."""

    required: frozenset[str] = frozenset()
    """Resources without which the record cannot be returned."""
    mentioned: frozenset[str] = frozenset()
    """Resources that a text of the record mentions, and that may be missing."""
    texts: frozenset[str] = frozenset()
    """Resources with long texts of the record. A read returns the texts in place of references."""


def check_resource(line: line_types.ResourceLine) -> None:
    """Raise unless the id in a line is derived from its other members, and these are valid."""
    expected_id = derive_resource_id(line.project, line.digest, line.mime_type, line.filename)
    require(line.id == expected_id, "has an id that does not belong to these bytes under this name")
    is_type = canonical_mime_type(line.mime_type) is not None and ";" not in line.mime_type
    require(is_type and line.mime_type == line.mime_type.lower(), "has an invalid MIME type")
    require(safe_file_name(line.filename) == line.filename, "has a name that is not safe")
    require(line.kind == resource_kind(line.mime_type), "is of another kind than its type says")
    require(len(line.aliases) <= MAX_ALIASES, "has more aliases than a resource may have")
    require(all(map(is_alias, line.aliases)), "has an alias that cannot be one")
    require(list(line.aliases) == sorted(line.aliases), "has its aliases in another order")
    for created_at in line.aliases.values():
        line_types.parse_timestamp(created_at)
    line_types.parse_timestamp(line.created_at)


def check_tool_result(
    line: line_types.ToolResultLine, resources: ResourcesById, limits: Limits
) -> ResourceReferences:
    """Return the resources of a tool result; raise unless its record is in canonical form."""
    text = bytes(line.sanitized)
    sanitized = SanitizedToolResult.model_validate(parse_stored_value(text, limits))
    require(
        encode_sanitized(sanitized) == text,
        "has a record that is not in the form that this service writes",
    )
    meta = sanitized.meta
    require(
        (meta.tool_name, meta.tool_call_id, meta.success)
        == (line.tool_name, line.tool_call_id, line.success),
        "has a record of another call than its line",
    )
    required = set()
    for descriptor in sanitized.resources:
        resource_id = parse_resource_id(descriptor.uri)
        require(resource_id in resources, "refers to a resource that is not in the bundle")
        expected = describe(resources[resource_id or ""])
        require(
            (descriptor.uri, descriptor.mime_type, descriptor.filename, descriptor.kind)
            == (expected.uri, expected.mime_type, expected.filename, expected.kind)
            and (descriptor.size, descriptor.digest) == (expected.size, expected.digest),
            "describes a resource otherwise than the bundle does",
        )
        required.add(resource_id or "")
    require(
        all(
            parse_resource_id(media_reference) in required
            for media_reference in find_media_references(sanitized)
        ),
        "has a part with a resource that it does not describe",
    )
    line_types.parse_timestamp(line.created_at)
    return ResourceReferences(frozenset(required))


def check_page_fault(line: line_types.PageFaultLine, limits: Limits) -> ResourceReferences:
    """Return the resources of a page fault; raise unless its message is one of this service."""
    value = parse_stored_object(bytes(line.message), limits)
    is_message = list(value) == ["role", "tool_call_id", "content"] and value["role"] == "tool"
    require(is_message, "is no message of a page fault")
    require(
        value["tool_call_id"] == line.tool_call_id, "answers another call than its `toolCallId`"
    )
    content = value["content"]
    require(
        isinstance(content, str)
        or (isinstance(content, list) and all(map(_is_page_fault_block, content))),
        "has content that no page fault has",
    )
    if line.page_fault is not None:
        call = msgspec.json.decode(line.page_fault, type=PageFaultCall)
        canonical = msgspec.json.encode(call).decode()
        require(
            canonical == line.page_fault,
            "has a page fault that is not in the form that this service writes",
        )
        require(
            CLIENT_ID.match(call.page_id) is not None and 0 <= call.target_level <= 3,
            "has a page fault with an invalid page id or level",
        )
    line_types.parse_timestamp(line.created_at)
    return ResourceReferences(frozenset(find_image_ids(bytes(line.message))))


def check_interaction(line: line_types.InteractionLine, limits: Limits) -> ResourceReferences:
    """Return the resources of an interaction; raise unless it and its answer are valid."""
    max_bytes = max(len(bytes(line.input)), len(bytes(line.output)))
    require(max_bytes <= limits.message_bytes, "has an input or an answer that is too long")
    input_value = parse_stored_value(bytes(line.input), limits)
    output = parse_stored_value(bytes(line.output), limits)
    interaction = Interaction.model_validate(
        {"input": input_value, "output": output, "timestamp": line.timestamp}
    )
    require(interaction.input_kind == line.input_kind, "has an input of another kind")
    require(format_timestamp(interaction.timestamp) == line.timestamp, "has an invalid time")
    answer = None if interaction.output is None else interaction.output.dump()
    require(json_text(answer).encode() == bytes(line.output), "has an invalid answer")
    text = json_text(dump_input(interaction)).encode()
    require(text == bytes(line.input), "has an invalid input")
    was_answered_later = line.answer_seq is not None
    has_both = was_answered_later == (line.answered_at is not None)
    require(has_both, "has the time of its answer without the number, or the reverse")
    is_after = line.answer_seq is None or line.answer_seq > line.seq
    has_answer = not (was_answered_later and output is None)
    require(is_after and has_answer, "has an invalid number of its answer")
    line_types.parse_timestamp(line.created_at)
    line_types.parse_timestamp(line.answered_at or line.created_at)
    attached: Sequence[str] = ()
    if isinstance(interaction.input, MultiModalInput):
        attached = [attached_id for _, attached_id in interaction.input.attached_ids()]
    require(len(attached) <= limits.media_per_result, "has too many files attached")
    _check_bindings(line.bindings, attached)
    bound = (bound_resource_id(item, line.bindings) for item in attached)
    required = frozenset(item for item in bound if item)
    return ResourceReferences(
        required, frozenset(find_references([input_value, output])) - required
    )


def _check_bindings(bindings: Bindings, attached: Sequence[str]) -> None:
    """Raise unless all bindings are of attached files, and are in the order of the files."""
    in_order = [key for key in dict.fromkeys(map(attachment_key, attached)) if key in bindings]
    require(list(bindings) == in_order, "has bindings of files that are not attached")
    for key, resource_id in bindings.items():
        # An alias is bound to a resource. An id is bound to `None` if no resource had it.
        is_sound = is_alias(key) if resource_id else parse_resource_id(key) == key
        require(is_sound, "has an invalid binding of an attached file")


def check_forms(text: str | None) -> dict[str, InlineForm]:
    """Parse stored inline forms; raise unless the text is exactly what `dump_forms` writes."""
    forms = load_forms(text)
    require(
        dump_forms(forms) == text, "has forms that are not in the form that this service writes"
    )
    return forms


def check_form_pointers(value: JsonValue, forms: Mapping[str, InlineForm]) -> None:
    """Raise unless every form points to a string in a value, and no two to the same string.

    A string has only one JSON pointer, so valid pointers that differ are of different strings.

    Args:
        value: The value.
        forms: The forms, by JSON pointer.
    """
    for pointer in forms:
        keys = parse_json_pointer(pointer)
        found = follow(value, keys or ())
        is_string = keys is not None and found.steps == len(keys) and isinstance(found.value, str)
        require(is_string, "has a form of a string that it does not contain")


def make_references(
    forms: Mapping[str, InlineForm],
    *,
    required: frozenset[str] = frozenset(),
    mentioned: set[str] | frozenset[str] = frozenset(),
) -> ResourceReferences:
    """Return the resources of inline forms, together with other required and mentioned ones."""
    used = frozenset(resource_id for form in forms.values() for resource_id in form.resource_ids)
    texts = frozenset(form.text_resource_id for form in forms.values() if form.text_resource_id)
    return ResourceReferences(required | used, frozenset(mentioned) - used, texts)


def find_media_references(sanitized: SanitizedToolResult) -> Iterator[str]:
    """Yield the media references of the parts of a record."""
    for part in sanitized.parts:
        match part:
            case ImagePart(image=reference) | FilePart(data=reference):
                if reference.startswith("@blob:"):
                    yield reference


def _is_page_fault_block(block: JsonValue) -> bool:
    """Return whether a block is a text, or an image with a URL or a reference to a resource."""
    if not isinstance(block, dict):
        return False
    if block.get("type") == "text":
        return set(block) == {"type", "text"} and isinstance(block["text"], str)
    image = block.get("image_url")
    if block.get("type") != "image_url" or not isinstance(image, dict):
        return False
    url = image.get("url")
    if set(block) != {"type", "image_url"} or not isinstance(url, str):
        return False
    is_reference = url.startswith("@blob:")
    return not is_reference or parse_resource_id(url) is not None


def read_bundled_page(line: line_types.PageLine) -> tuple[Page, PageVersion]:
    """Return the page in a line, rebuilt from its parts, and its stored version."""
    stored_page = read_page(line)
    page = stored_pages.read_page(stored_page, read_levels(line))
    text = json_text(page.full.value).encode()
    content = versions.StoredContent(text, dump_forms(load_forms(line.inline_form)))
    # The stored estimate is kept, since later versions may count tokens differently.
    tokens = stored_pages.read_descriptor(stored_page)["size_tokens"]
    require(type(tokens) is int and 0 <= tokens <= _MAX_TOKENS, "has an invalid number of tokens")
    stamp = versions.Stamp(
        line.version, stored_page.created_at, stored_pages.read_updated_at(stored_page), tokens
    )
    return page, versions.make_page_version(page, content, stamp)


def check_page(
    line: line_types.PageLine, session_id: str, resources: ResourcesById, limits: Limits
) -> ResourceReferences:
    """Return the resources of a page; raise unless it can be read at every level."""
    for text in (line.descriptor, line.body, *(level.body for level in line.levels)):
        parse_stored_object(bytes(text), limits)
    content = parse_stored_value(bytes(line.content), limits)
    forms = check_forms(line.inline_form)
    numbers = [level.level for level in line.levels]
    require(numbers == sorted(set(numbers)), "has its levels in another order")
    page, version = read_bundled_page(line)
    _check_rebuilt(line, page, version)
    require(page.fields.session_id == session_id, "belongs to another session")
    require(page.page_id not in RESERVED_IDS, "has an id that no page can have")
    require(len(line.descriptor) <= limits.page_fields_bytes, "has fields that are too long")
    require(
        (line.last_accessed is None) == (line.access_count == 0), "has a counter without its time"
    )
    check_field_texts(page.fields)
    require(
        page.full.kind in _ALLOWED_KINDS[page.fields.modality], "has content of another modality"
    )
    _check_body(page.full, page.fields.modality, resources, limits)
    for level in page.levels.values():
        require(level.body.kind != "none", "has a level without content")
        _check_body(level.body, page.fields.modality, resources, limits)
    fetched = line.fetched_resource_id
    require(fetched is None or page.full.kind == "url", "has a fetched file, but no URL")
    check_form_pointers(content, forms)
    required = versions.find_resource_ids(page) | ({fetched} if fetched else set())
    return make_references(forms, required=frozenset(required))


def _check_rebuilt(line: line_types.PageLine, page: Page, version: PageVersion) -> None:
    require(
        (version.page_id, version.descriptor, version.content, version.body)
        == (line.page_id, bytes(line.descriptor), bytes(line.content), bytes(line.body)),
        "is not the page that its fields and levels make",
    )
    require(version.digest == line.digest, "has the digest of another page")
    require(version.inline_form == line.inline_form, "has the forms of another page")
    level_bodies = [level.body for level in versions.make_stored_levels(page, version.created_at)]
    require(level_bodies == [bytes(level.body) for level in line.levels], "has invalid levels")


def _check_body(body: Body, modality: Modality, resources: ResourcesById, limits: Limits) -> None:
    """Raise unless a body has content of its kind, within the limits."""
    value = body.value
    require(
        body.kind == "json" or value is None or isinstance(value, str),
        "has content that is not text",
    )
    require(
        (body.kind == "none") == (value is None) or body.kind == "json",
        "has no content, or content although it should have none",
    )
    require(
        body.kind in ("blob", "data") or body.media is None,
        "describes a medium that it does not contain",
    )
    match body.kind:
        case "text" | "json":
            text = value if body.kind == "text" else json_text(value)
            require(len(text.encode()) <= limits.page_text_bytes, "has more text than a page may")
        case "url":
            require(is_url(value), "has an invalid URL")
        case "data":
            _check_data_uri(value, body.media)
        case "blob":
            _check_reference(value, body.media, modality, resources, limits)
        case _:
            require(body.kind == "none", "has content of an unknown kind")


def _check_data_uri(value: str, media: PageMedia | None) -> None:
    uri = split_data_uri(value)
    require(uri is not None, "has an invalid data URI")
    if media is None or uri is None:
        # A URI whose data cannot be decoded has no description.
        require(uri is not None and uri.data is None, "has no description of its medium")
        return
    is_same_medium = (
        uri.data is not None and len(uri.data) == media.size_bytes and media.uri is None
    )
    require(is_same_medium, "has a description of another medium")
    require(
        canonical_mime_type(media.mime_type) is not None, "has a medium with an invalid MIME type"
    )
    require(safe_file_name(media.filename) == media.filename, "has a name that is not safe")
    pixels = (media.width, media.height)
    require(
        all(pixel is None or 0 <= pixel < 2**31 for pixel in pixels),
        "has an invalid width or height",
    )
    seconds = media.duration_seconds
    require(seconds is None or (math.isfinite(seconds) and seconds >= 0), "has an invalid duration")


def _check_reference(
    value: JsonValue,
    media: PageMedia | None,
    modality: Modality,
    resources: ResourcesById,
    limits: Limits,
) -> None:
    resource = resources.get(str(value).removeprefix("@blob:"))
    require(resource is not None, "refers to a resource that is not in the bundle")
    if resource is None:
        return
    require(value == resource.reference, "has an invalid reference")
    require(
        media == make_page_media(resource), "describes a resource otherwise than the bundle does"
    )
    require(fits_modality(modality, resource.mime_type), "has a medium of another modality")
    if modality in ("text", "structured") and is_textual(resource.mime_type):
        require(resource.size_bytes <= limits.page_text_bytes, "has more text than a page may")


_SERVICE_MEMBERS = frozenset(
    {"seq", "id", "created_at", "sanitized", "interaction", "interaction_id"}
)
"""Members that only the service adds. Messages without a dialect that have one are refused."""
_DIALECT_NAMES = frozenset(dialect.name for dialect in DIALECTS)


def check_message(line: line_types.MessageLine, limits: Limits) -> tuple[ResourceReferences, int]:
    """Return the resources of a message, and the number of results in it that are errors.

    The message has to be one that can be read, and returned as sent; otherwise an error is raised.
    """
    stored = bytes(line.message)
    sent = sent_message(stored, dialect=line.dialect, role=line.role)
    require(len(sent) <= limits.message_bytes, "has a message that is too long")
    value = parse_stored_object(stored, limits)
    reading = _read_flat(line, value) if line.role is None else _read_wrapped(line, value)
    if reading is not None:
        answered = find_only_answered_id(reading)
    else:
        answered = value.get("tool_call_id") if value["role"] == "tool" else None
    require(answered == line.tool_call_id, "answers another call than its `toolCallId`")
    forms = check_forms(line.inline_form)
    require("" not in forms, "has a form of a string that it does not contain")
    check_form_pointers(value, forms)
    line_types.parse_timestamp(line.created_at)
    references = make_references(forms, mentioned=find_references(value))
    return references, 0 if reading is None else count_failed_results(reading)


def check_prompt(line: line_types.PromptLine, limits: Limits) -> SessionPrompt:
    """Return the prompt in a line; raise if it cannot be read."""
    text = bytes(line.prompt)
    require(len(text) <= limits.message_bytes, "has a prompt that is too long")
    parse_stored_object(text, limits)
    require(
        line.dialect is None or line.dialect in _DIALECT_NAMES, "has a prompt of an unknown dialect"
    )
    read_prompt_turns(text, origin="")
    return SessionPrompt(line.dialect, text)


def _read_flat(line: line_types.MessageLine, value: Mapping[str, JsonValue]) -> EntryReading | None:
    """Read a flat message; raise if it is invalid. A message without a dialect has no reading.

    A flat message has its members beside those of its entry, and not in a member of their own.
    """
    FlatMessage.model_validate(value)
    if line.dialect is None and line.reading is None:
        require(
            not _SERVICE_MEMBERS & value.keys(),
            "has a message with members that only the service writes",
        )
        return None
    require(is_flat(dict(value)), "has a message that is not flat and has no role beside it")
    return read_stored(dict(value), *_check_reading(line))


def _read_wrapped(line: line_types.MessageLine, value: Mapping[str, JsonValue]) -> EntryReading:
    """Read a wrapped message; raise if it is invalid."""
    dialect, reader_version = _check_reading(line)
    envelope = {"dialect": dialect, "role": line.role, "message": value.get("message")}
    require([*envelope.items()] == [*value.items()], "has a message with unknown members around it")
    message = value["message"]
    require(isinstance(message, dict), "has no message")
    reading = read_stored(message, dialect, reader_version)
    require(reading.role == line.role, "has a message of another role")
    return reading


def _check_reading(line: line_types.MessageLine) -> tuple[str, int]:
    """Return the dialect of a message and its `READER_VERSION`; raise if either is unknown."""
    is_known = (
        line.dialect in _DIALECT_NAMES
        and line.reading is not None
        and line.reading <= READER_VERSION
    )
    require(is_known, "has a message of an unknown dialect, or of a later version")
    return line.dialect or "", line.reading or 0
