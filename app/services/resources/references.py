"""References back: `@blob:` strings in a JSON value, replaced by what they stand for.

What one tool returned is so made fit for the arguments of the next. A reference is `@blob:` and an
id, as a whole string or among other words; keys of objects are names and hold none. Only resources
that something in the named session refers to are given out, or, where that is asked for, all of the
project's. Any other reference stays where it is and is named, in the same words whether it is
nobody's or somebody else's. Nothing is written.
"""

import re
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from pydantic.config import JsonDict
from typing_extensions import TypeAliasType

from app.models.identity import utc_now
from app.models.limits import Limits
from app.services.access.callers import LinkGrant, LinkSigner, link_expiry
from app.services.concurrency.large_work import LargeWork
from app.services.inline_media.json_with_media import RenderedBody
from app.services.inline_media.stored_media import length_of
from app.services.requests.validation import read_object, require_found, validated
from app.services.requests.whole_bodies import RequestBodies
from app.stores.blobs.store import BlobStore
from app.stores.records.records import Records
from app.stores.records.resources import ResourceRecords
from app.stores.records.sessions import SessionRecords
from app.stores.records.unit_of_work import UnitOfWork
from app.wire.resources import ResolvedArguments, ResolvedReference, UnresolvedReference
from app.wire.shape import GAP
from app.wire.tools import ToolScope
from pagefault_dialects.errors import Fault, PayloadTooLargeError
from pagefault_dialects.json.values import JsonValue, MediaSlot, TextTemplate, json_template
from pagefault_dialects.media.embedded_data_uris import held_strings, pointer_to
from pagefault_dialects.media.types import is_textual
from pagefault_dialects.model.base import ClientId
from pagefault_dialects.model.render_options import (
    JsonPiece,
    MediaPiece,
    Rendering,
    StoredTextPiece,
    joined_pieces,
)
from pagefault_dialects.model.resource import Resource, parse_resource_id
from pagefault_dialects.texts.json_strings import TextWriter
from pagefault_dialects.turns.handles import is_handle_line

LINK_SECONDS = 300
"""How long the links of `signed-url` live."""

ReferenceForm = TypeAliasType("ReferenceForm", Literal["data-uri", "base64", "signed-url", "text"])

# A longer run of letters and digits is no reference of ours, and is not repeated whole.
_REFERENCE = re.compile(r"@blob:[0-9A-Za-z]{1,64}")

_ABSENT: Mapping[ToolScope, str] = {
    "session": "Nothing in this session refers to such a resource.",
    "project": "This project has no such resource.",
}
_EXAMPLE: JsonDict = {
    "sessionId": "demo",
    "as": "data-uri",
    "arguments": {"image": "@blob:9a0e04717cce2431260284cf548150ee", "width": 640},
}


class ResolveRequest(BaseModel):
    """A JSON value with references in it, and how they are wanted."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        strict=True,
        json_schema_extra={"examples": [_EXAMPLE]},
    )

    arguments: Annotated[Any, Field(description="Any JSON value; its keys are left alone.")]
    session_id: ClientId
    scope: Annotated[
        ToolScope,
        Field(description="Which resources are used: those of the session, or of the project."),
    ] = "session"
    form: Annotated[
        ReferenceForm,
        Field(alias="as", description="What stands in the place of a reference afterwards."),
    ] = "data-uri"


@dataclass(frozen=True, slots=True)
class _Mention:
    """A reference in a text; `resource_id` is `None` where it cannot be one of ours.

    What stands from `start` to `end` is replaced: the reference, or all of the line that names it.
    """

    pointer: str
    reference: str
    start: int
    end: int
    resource_id: str | None


@dataclass(frozen=True, slots=True)
class _TextWithReferences:
    """A string with references in it, and the object or array it is replaced in."""

    holder: JsonValue
    key: str | int
    text: str
    mentions: Sequence[_Mention]


@dataclass(frozen=True, slots=True)
class _ReadRequest:
    """A request of `size_bytes` that was read; `root` holds the arguments, as its only item."""

    size_bytes: int
    request: ResolveRequest
    root: list[JsonValue]
    places: Sequence[_TextWithReferences]

    @property
    def mentions(self) -> Iterator[_Mention]:
        """Return all of them, in the order they stand in."""
        return (mention for place in self.places for mention in place.mentions)


@dataclass(frozen=True, slots=True, eq=False)
class ReferenceResolver:
    """Puts content in the place of references."""

    records: Records
    """Where resources and sessions are looked up."""
    blobs: BlobStore
    """Where the bytes are."""
    links: LinkSigner
    """Signs the links of `signed-url`."""
    content_base_url: str
    """What those links begin with."""
    bodies: RequestBodies
    """Reads the bodies of requests."""
    work: LargeWork
    """Does what takes long."""
    limits: Limits
    """How much may be put into one answer."""

    async def resolve(self, project_id: str, body: AsyncIterator[bytes]) -> RenderedBody:
        """Return `{arguments, resolved, unresolved}` as JSON; its media are read while it is sent.

        Args:
            project_id: The caller's project.
            body: A `ResolveRequest` as JSON.

        Raises:
            InvalidJsonError, InvalidPayloadError: The body.
            NotFoundError: Nothing was ever written to the session.
            PayloadTooLargeError: There are too many references, or what they stand for is too
                large for one answer; the faults point to them, the largest first.
            StoreUnavailableError: A store did not answer.
        """
        async with self.bodies.read(body, partial(_read, limits=self.limits)) as read:
            request = read.request
            wanted = {each.resource_id for each in read.mentions if each.resource_id}

            def find(unit: UnitOfWork) -> Mapping[str, Resource]:
                require_found(unit[SessionRecords].find(request.session_id), "session")
                if request.scope == "project":
                    return unit[ResourceRecords].find_all(wanted)
                return unit[ResourceRecords].find_in_session(wanted, request.session_id)

            found = await self.records.read(project_id, find)
            resolved = {
                mention: resource
                for mention in read.mentions
                if (resource := found.get(mention.resource_id or "")) is not None
                and (request.form != "text" or is_textual(resource.mime_type))
            }
            self._check_size(request.form, resolved)
            contents = await self._contents(project_id, request.form, resolved.values())
            pieces = await self.work.run(
                read.size_bytes, _write_answer, read, found, resolved, contents
            )
            return await RenderedBody(self.blobs, project_id, Rendering(pieces)).check()

    def _check_size(self, form: ReferenceForm, resolved: Mapping[_Mention, Resource]) -> None:
        if form == "signed-url":
            return
        limit = self.limits.page_text_bytes if form == "text" else self.limits.inline_bytes
        # Each is counted as often as it is put in.
        size_bytes = sum(resource.size_bytes for resource in resolved.values())
        if size_bytes <= limit:
            return
        largest = sorted(resolved.items(), key=lambda each: -each[1].size_bytes)
        raise PayloadTooLargeError(
            f"The references stand for {size_bytes} bytes, and {limit} are put into one "
            "answer at most. Ask with `as: signed-url`, or for fewer of them at once; `errors` "
            "names the largest first.",
            code="medium-too-large",
            faults=[
                Fault(f"/arguments{mention.pointer}", f"has {resource.size_bytes} bytes")
                for mention, resource in largest
            ],
        )

    async def _contents(
        self, project_id: str, form: ReferenceForm, resources: Iterable[Resource]
    ) -> dict[str, Sequence[JsonPiece]]:
        """Return what stands in the place of each resource, by id: the inside of a JSON string."""
        expires_at = link_expiry(utc_now(), LINK_SECONDS)
        contents: dict[str, Sequence[JsonPiece]] = {}
        for resource_id, each in {each.resource_id: each for each in resources}.items():
            if form == "signed-url":
                contents[resource_id] = [self._link(project_id, each, expires_at)]
            elif form == "text":
                contents[resource_id] = [await self._text(project_id, each)]
            else:
                head = f"data:{each.mime_type};base64," if form == "data-uri" else ""
                medium = MediaPiece(each.digest, each.size_bytes)
                contents[resource_id] = [head.encode(), medium]
        return contents

    def _link(self, project_id: str, resource: Resource, expires_at: datetime) -> bytes:
        grant = LinkGrant(project_id, resource.resource_id, "inline", None, expires_at)
        return f"{self.content_base_url}{self.links.content_path(grant)}".encode()

    async def _text(self, project_id: str, resource: Resource) -> StoredTextPiece:
        """Return the place of a text, which is read once to learn how long it is, escaped."""
        writer = TextWriter()
        sent_bytes = 0
        opened = await self.blobs.open(project_id, resource.digest)
        async with aclosing(opened) as reader:
            async for chunk in reader:
                sent_bytes += await self.work.run(len(chunk), length_of, writer, chunk)
        return StoredTextPiece(
            resource.digest, resource.size_bytes, sent_bytes + len(writer.finish())
        )


def _read(body: bytes, *, limits: Limits) -> _ReadRequest:
    """Parse and check the body of a request.

    Raises:
        InvalidJsonError, InvalidPayloadError: It is no `ResolveRequest`.
        PayloadTooLargeError: Nested too deep, too many values, or too many references.
    """
    value = read_object(body, limits, spelled=True)
    request = validated(
        ResolveRequest,
        value,
        "The body has to be {arguments, sessionId, scope, as}; `errors` says where.",
    )
    root = [request.arguments]
    return _ReadRequest(len(body), request, root, list(_places_in(root, limits)))


def _places_in(root: list[JsonValue], limits: Limits) -> Iterator[_TextWithReferences]:
    """Yield the strings with references in them.

    Raises:
        PayloadTooLargeError: There are too many, or to say where they stand would take more than
            the request itself may.
    """
    count = pointer_chars = 0
    for place, text, holder in held_strings(root[0]):
        matches = list(_REFERENCE.finditer(text)) if "@blob:" in text else []
        if not matches:
            continue
        pointer = pointer_to(place)
        count += len(matches)
        pointer_chars += len(pointer) * len(matches)
        if count > limits.media_per_result or pointer_chars > limits.message_bytes:
            raise PayloadTooLargeError(
                f"At most {limits.media_per_result} references are replaced at once, in places "
                f"that are named in {limits.message_bytes} characters. Send them in parts.",
                code="too-many-references",
            )
        mentions = [_mention(pointer, text, match) for match in matches]
        yield _TextWithReferences(
            root if place is None else holder, place.key if place else 0, text, mentions
        )


def _mention(pointer: str, text: str, match: re.Match[str]) -> _Mention:
    # A model may copy the whole line in which it saw the reference.
    start, end = (0, len(text)) if is_handle_line(text) else match.span()
    following = text[match.end() : match.end() + 1]
    goes_on = following.isascii() and following.isalnum()
    resource_id = None if goes_on else parse_resource_id(match.group())
    return _Mention(pointer, match.group(), start, end, resource_id)


def _write_answer(
    read: _ReadRequest,
    found: Mapping[str, Resource],
    resolved: Mapping[_Mention, Resource],
    contents: Mapping[str, Sequence[JsonPiece]],
) -> Sequence[JsonPiece]:
    numbers = {resource_id: number for number, resource_id in enumerate(contents)}
    for place in read.places:
        kept = [each for each in place.mentions if each in resolved]
        if kept:
            place.holder[place.key] = _opened(place.text, kept, numbers)
    answer = ResolvedArguments(
        arguments=GAP,
        resolved=tuple(
            ResolvedReference(
                pointer=mention.pointer,
                uri=resource.uri,
                mime_type=resource.mime_type,
                size=resource.size_bytes,
            )
            for mention, resource in resolved.items()
        ),
        unresolved=tuple(
            UnresolvedReference(
                pointer=each.pointer,
                reference=each.reference,
                reason=_reason(found.get(each.resource_id or ""), read.request.scope),
            )
            for each in read.mentions
            if each not in resolved
        ),
    )
    head, tail = answer.around_gap()
    filled = list(contents.values())
    pieces: list[JsonPiece] = [head]
    for piece in json_template(read.root[0]):
        pieces += filled[piece.index] if isinstance(piece, MediaSlot) else [piece.encode()]
    return joined_pieces([*pieces, tail])


def _reason(resource: Resource | None, scope: ToolScope) -> str:
    """Say why a reference stays where it is."""
    if resource is None:
        return _ABSENT[scope]
    return f"It is {resource.mime_type} and no text: ask with another `as`."


def _opened(text: str, mentions: Sequence[_Mention], numbers: Mapping[str, int]) -> TextTemplate:
    """Return a text with open places where its references were."""
    pieces: list[str | MediaSlot] = []
    end = 0
    for mention in mentions:
        pieces += [text[end : mention.start], MediaSlot(numbers[mention.resource_id or ""])]
        end = mention.end
    return (*pieces, text[end:])
