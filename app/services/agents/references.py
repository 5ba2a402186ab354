"""Replaces the references in a JSON value by the contents that they name.

A host does this before it passes arguments from a model to a tool. A reference begins with
`@blob:`, `@entry:` or `@entries:`. It is a whole string or a part of a text; keys of objects are
not searched. Only resources of the session are used or, with the scope `project`, resources of the
project. All other references stay as they are, and are listed with a reason. The reason is the same
for missing resources and for resources of other sessions or projects. Nothing is written to the
stores.
"""

import re
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal

import pybase64
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from pydantic.config import JsonDict
from typing_extensions import TypeAliasType

from app.models.identity import utc_now
from app.models.limits import Limits
from app.services.access.callers import LinkGrant, LinkSigner, link_expiry
from app.services.agents.history_contents import HistoryContents
from app.services.concurrency.large_work import LargeWork
from app.services.inline_media.json_with_media import RenderedBody
from app.services.inline_media.stored_media import measure_escaped
from app.services.requests.validation import read_object, require_found, validate_model
from app.services.requests.whole_bodies import RequestBodies
from app.stores.blobs.store import BlobStore
from app.stores.records.records import Records
from app.stores.records.resources import ResourceRecords
from app.stores.records.sessions import SessionRecords
from app.stores.records.unit_of_work import UnitOfWork
from app.wire.agents import ToolScope
from app.wire.resources import ResolvedArguments, ResolvedReference, UnresolvedReference
from app.wire.shape import GAP
from pagefault_dialects.context.cut_arguments import is_cut_text
from pagefault_dialects.errors import Fault, PayloadTooLargeError
from pagefault_dialects.json.values import (
    JsonValue,
    MediaSlot,
    TextTemplate,
    json_template,
    json_text,
)
from pagefault_dialects.media.embedded_data_uris import find_strings, pointer_of_path
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

ReferenceForm = TypeAliasType("ReferenceForm", Literal["data-uri", "base64", "signed-url", "text"])

# A reference ends at the end of a word; punctuation after it belongs to the sentence. The last
# alternative, which is not in the group `valid`, matches the beginning of a misspelled reference.
_REFERENCE = re.compile(
    r"(?P<valid>@blob:[0-9a-f]{32}"
    r"|@entries:[0-9]{1,15}(?:-[0-9]{0,15})?"
    r"|@entry:[0-9]{1,15}(?:/[0-9a-f]{12}"
    r"|/arguments/[0-9]{1,9}(?:/(?:(?:[A-Za-z0-9_.%/-]|~[01]){0,400}(?<!\.))?)?)?"
    r")(?=[_.~%/-]*+(?![0-9A-Za-z]))"
    r"|(?:@blob:[0-9A-Za-z]|@entr(?:y|ies):[0-9])(?:[0-9A-Za-z_.~%/-]{0,62}[0-9A-Za-z])?"
)
_EXAMPLE: JsonDict = {
    "sessionId": "demo",
    "as": "data-uri",
    "arguments": {"image": "@blob:9a0e04717cce2431260284cf548150ee", "width": 640},
}


class ResolveRequest(BaseModel):
    """A JSON value with references in it, and the form of their contents."""

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
        Field(alias="as", description="The form of the content that replaces a reference."),
    ] = "data-uri"


@dataclass(frozen=True, slots=True)
class ReferenceMention:
    """A reference in a string."""

    pointer: str
    """The JSON pointer to the string."""
    reference: str
    start: int
    """The start of the part of the string that is replaced, often the reference itself."""
    end: int
    """The end of that part."""
    resource_id: str | None
    """The id of the resource; `None` if the reference is not a valid `@blob:` reference."""
    is_valid: bool
    """False if the reference is misspelled."""

    @property
    def is_of_history(self) -> bool:
        """True if the reference names an entry, a part of an entry, or a list of entries."""
        return self.reference.startswith("@entr")


@dataclass(frozen=True, slots=True)
class TextWithReferences:
    """A string with references."""

    container: JsonValue
    """The object or array that contains the string."""
    key: str | int
    """The key or index of the string in its container."""
    text: str
    mentions: Sequence[ReferenceMention]


@dataclass(frozen=True, slots=True)
class _ParsedRequest:
    """A parsed request, with the references in its arguments."""

    size_bytes: int
    """The size of the body."""
    request: ResolveRequest
    root: list[JsonValue]
    """A list with the arguments as its only item, so that this item can be replaced too."""
    texts: Sequence[TextWithReferences]

    @property
    def mentions(self) -> Iterator[ReferenceMention]:
        """All references in the order of the arguments."""
        return (mention for text in self.texts for mention in text.mentions)


def read_resolve_request(body: bytes, *, limits: Limits) -> _ParsedRequest:
    """Parse and check the body of a request.

    Raises:
        InvalidJsonError, InvalidPayloadError: The body is not a valid `ResolveRequest`.
        PayloadTooLargeError: The body is nested too deep, or has too many values or references.
    """
    value = read_object(body, limits, keeps_spelling=True)
    request = validate_model(
        ResolveRequest,
        value,
        "The body has to be {arguments, sessionId, scope, as}; `errors` says where.",
    )
    root = [request.arguments]
    return _ParsedRequest(len(body), request, root, list(_find_references(root, limits)))


def _find_references(root: list[JsonValue], limits: Limits) -> Iterator[TextWithReferences]:
    """Yield the strings that contain references.

    Args:
        root: A list with the arguments as its only item.
        limits: The limits of the number of references, and of the length of their JSON pointers.

    Raises:
        PayloadTooLargeError: There are too many references, or their JSON pointers are too long in
            total.
    """
    count = pointer_chars = 0
    for path, text, container in find_strings(root[0]):
        has_any = "@blob:" in text or "@entr" in text
        matches = list(_REFERENCE.finditer(text)) if has_any else []
        if not matches:
            continue
        if is_cut_text(text):
            # A cut text ends with a mark that names the whole text. Only this is a reference.
            matches = matches[-1:]
        pointer = pointer_of_path(path)
        count += len(matches)
        pointer_chars += len(pointer) * len(matches)
        if count > limits.media_per_result or pointer_chars > limits.message_bytes:
            raise PayloadTooLargeError(
                f"At most {limits.media_per_result} references are replaced at once, in places "
                f"that are named in {limits.message_bytes} characters. Send them in parts.",
                code="too-many-references",
            )
        mentions = [_make_mention(pointer, text, match) for match in matches]
        yield TextWithReferences(
            root if path is None else container, path.key if path else 0, text, mentions
        )


def _make_mention(pointer: str, text: str, match: re.Match[str]) -> ReferenceMention:
    """Return the reference that was matched in a string."""
    # A model may copy the whole line that describes a medium, or a cut argument with its mark. Then
    # the whole string is replaced, not only the reference.
    is_whole = is_handle_line(text) or is_cut_text(text)
    start, end = (0, len(text)) if is_whole else match.span()
    is_valid = match["valid"] is not None
    resource_id = parse_resource_id(match.group()) if is_valid else None
    return ReferenceMention(pointer, match.group(), start, end, resource_id, is_valid)


LINK_SECONDS = 300
"""The time for which the links of the form `signed-url` are valid."""

# The reasons why a reference is not replaced.
_MISSING: Mapping[ToolScope, str] = {
    "session": "Nothing in this session refers to such a resource.",
    "project": "This project has no such resource.",
}
_MISSPELLED = (
    "No reference is spelled so: it is `@entry:12`, `@entry:12/arguments/0/name` or `@entries:2-9`."
)
_NO_LINK = "It is part of a history, and no link leads there: ask with another `as`."


@dataclass(frozen=True, slots=True)
class _Content:
    """The content that replaces a reference: a resource, or bytes from the history."""

    uri: str
    """The URI of the resource, or the reference without `@`."""
    mime_type: str
    size_bytes: int
    source: Resource | bytes


@dataclass(frozen=True, slots=True, eq=False)
class ReferenceResolver:
    """Replaces references by the contents that they name."""

    records: Records
    blobs: BlobStore
    links: LinkSigner
    """Signs links, for the form `signed-url`."""
    content_base_url: str
    """The base URL of the links."""
    bodies: RequestBodies
    """Reads the bodies of requests."""
    history: HistoryContents
    """Reads contents of histories."""
    work: LargeWork
    """Runs long work in threads."""
    limits: Limits

    async def resolve(self, project_id: str, body: AsyncIterator[bytes]) -> RenderedBody:
        """Replace the references in the arguments of a request.

        Args:
            project_id: The caller's project.
            body: The bytes of a `ResolveRequest` as JSON.

        Returns:
            `{arguments, resolved, unresolved}` as JSON. Its media are read while it is sent.

        Raises:
            InvalidJsonError, InvalidPayloadError: The body is invalid.
            NotFoundError: There is no such session.
            PayloadTooLargeError: There are too many references, or their contents are too large for
                one response. `faults` points to the references, the largest first.
            StoreUnavailableError: A store did not answer.
        """
        parse = partial(read_resolve_request, limits=self.limits)
        async with self.bodies.read(body, parse) as parsed:
            request = parsed.request
            contents_or_reasons = {
                **await self._find_resources(project_id, parsed),
                **await self._read_history(project_id, parsed),
            }
            resolved = {
                mention: content
                for mention in parsed.mentions
                if isinstance(content := contents_or_reasons[mention.reference], _Content)
            }
            self._check_size(request.form, resolved)
            encoded = await self._encode_contents(project_id, request.form, resolved.values())
            pieces = await self.work.run(
                parsed.size_bytes,
                _replace_references,
                parsed,
                contents_or_reasons,
                resolved,
                encoded,
            )
            return await RenderedBody(self.blobs, project_id, Rendering(pieces)).check()

    async def _find_resources(
        self, project_id: str, parsed: _ParsedRequest
    ) -> Mapping[str, _Content | str]:
        """Find the resources that references name.

        Returns:
            By the reference: its content, or the reason why there is none.
        """
        request = parsed.request
        ids = {mention.resource_id for mention in parsed.mentions if mention.resource_id}

        def find(unit: UnitOfWork) -> Mapping[str, Resource]:
            require_found(unit[SessionRecords].find(request.session_id), "session")
            if request.scope == "project":
                return unit[ResourceRecords].find_all(ids)
            return unit[ResourceRecords].find_in_session(ids, request.session_id)

        resources = await self.records.read(project_id, find)
        contents: dict[str, _Content | str] = {}
        for mention in parsed.mentions:
            resource = resources.get(mention.resource_id or "")
            if resource is None:
                contents[mention.reference] = _MISSING[request.scope]
            elif request.form == "text" and not is_textual(resource.mime_type):
                contents[mention.reference] = _describe_no_text(resource.mime_type)
            else:
                contents[mention.reference] = _Content(
                    resource.uri, resource.mime_type, resource.size_bytes, resource
                )
        return contents

    async def _read_history(
        self, project_id: str, parsed: _ParsedRequest
    ) -> Mapping[str, _Content | str]:
        """Read the contents of the references that name entries of the history.

        Returns:
            By the reference: its content, or the reason why there is none.

        Raises:
            PayloadTooLargeError: The contents are too large for one response.
        """
        request = parsed.request
        contents: dict[str, _Content | str] = {}
        remaining_bytes = self.limits.page_text_bytes
        valid_references = {mention.reference for mention in parsed.mentions if mention.is_valid}
        for reference in dict.fromkeys(
            mention.reference for mention in parsed.mentions if mention.is_of_history
        ):
            if reference not in valid_references:
                contents[reference] = _MISSPELLED
                continue
            if request.form == "signed-url":
                contents[reference] = _NO_LINK
                continue
            content = await self.history.read(
                project_id, request.session_id, reference, max_bytes=remaining_bytes
            )
            if isinstance(content, str):
                contents[reference] = content
            elif request.form == "text" and not is_textual(content.mime_type):
                contents[reference] = _describe_no_text(content.mime_type)
            else:
                remaining_bytes -= len(content.data)
                contents[reference] = _Content(
                    reference[1:], content.mime_type, len(content.data), content.data
                )
        return contents

    def _check_size(
        self, form: ReferenceForm, resolved: Mapping[ReferenceMention, _Content]
    ) -> None:
        """Raise an error if the contents are too large for one response; see `resolve`."""
        if form == "signed-url":
            return
        limit = self.limits.page_text_bytes if form == "text" else self.limits.inline_bytes
        # The content of two equal references counts twice, because it is inserted twice.
        size_bytes = sum(content.size_bytes for content in resolved.values())
        if size_bytes <= limit:
            return
        largest = sorted(resolved.items(), key=lambda item: -item[1].size_bytes)
        raise PayloadTooLargeError(
            f"The contents of the references have {size_bytes} bytes, and one answer has at most "
            f"{limit}. Use `as: signed-url`, or send fewer references at once; `errors` names the "
            "largest first.",
            code="medium-too-large",
            faults=[
                Fault(f"/arguments{mention.pointer}", f"has {content.size_bytes} bytes")
                for mention, content in largest
            ],
        )

    async def _encode_contents(
        self, project_id: str, form: ReferenceForm, contents: Iterable[_Content]
    ) -> dict[str, Sequence[JsonPiece]]:
        """Encode contents as the request wants them, as parts of JSON strings.

        Returns:
            The pieces of each content, by its URI.
        """
        expires_at = link_expiry(utc_now(), LINK_SECONDS)
        encoded: dict[str, Sequence[JsonPiece]] = {}
        for uri, content in {content.uri: content for content in contents}.items():
            source = content.source
            head = f"data:{content.mime_type};base64," if form == "data-uri" else ""
            if isinstance(source, bytes):
                encoded[uri] = [
                    await self.work.run(content.size_bytes, _encode_bytes, source, head, form)
                ]
            elif form == "signed-url":
                grant = LinkGrant(project_id, source.resource_id, "inline", None, expires_at)
                link = f"{self.content_base_url}{self.links.content_path(grant)}"
                encoded[uri] = [link.encode()]
            elif form == "text":
                encoded[uri] = [await self._measure_text(project_id, source)]
            else:
                encoded[uri] = [head.encode(), MediaPiece(source.digest, content.size_bytes)]
        return encoded

    async def _measure_text(self, project_id: str, resource: Resource) -> StoredTextPiece:
        """Return the piece for a stored text.

        The text is read to count its bytes with JSON escapes, for the `Content-Length`.
        """
        writer = TextWriter()
        escaped_bytes = 0
        blob = await self.blobs.open(project_id, resource.digest)
        async with aclosing(blob) as reader:
            async for chunk in reader:
                escaped_bytes += await self.work.run(len(chunk), measure_escaped, writer, chunk)
        return StoredTextPiece(
            resource.digest, resource.size_bytes, escaped_bytes + len(writer.finish())
        )


def _replace_references(
    parsed: _ParsedRequest,
    contents_or_reasons: Mapping[str, _Content | str],
    resolved: Mapping[ReferenceMention, _Content],
    encoded: Mapping[str, Sequence[JsonPiece]],
) -> Sequence[JsonPiece]:
    """Replace references in the arguments, and return the pieces of the response.

    Args:
        parsed: The request, whose arguments are changed.
        contents_or_reasons: By the reference: its content, or the reason why there is none.
        resolved: The contents of the references that are replaced.
        encoded: The pieces of each content, by its URI.
    """
    numbers = {uri: number for number, uri in enumerate(encoded)}
    for text in parsed.texts:
        mentions = [mention for mention in text.mentions if mention in resolved]
        if mentions:
            slots = [(mention, MediaSlot(numbers[resolved[mention].uri])) for mention in mentions]
            text.container[text.key] = _make_template(text.text, slots)
    response = ResolvedArguments(
        arguments=GAP,
        resolved=tuple(
            ResolvedReference(
                pointer=mention.pointer,
                uri=content.uri,
                mime_type=content.mime_type,
                size=content.size_bytes,
            )
            for mention, content in resolved.items()
        ),
        unresolved=tuple(
            UnresolvedReference(pointer=mention.pointer, reference=mention.reference, reason=reason)
            for mention in parsed.mentions
            if isinstance(reason := contents_or_reasons[mention.reference], str)
        ),
    )
    head, tail = response.split_at_gap()
    encoded_by_number = list(encoded.values())
    pieces: list[JsonPiece] = [head]
    for piece in json_template(parsed.root[0]):
        if isinstance(piece, MediaSlot):
            pieces += encoded_by_number[piece.index]
        else:
            pieces.append(piece.encode())
    return joined_pieces([*pieces, tail])


def _encode_bytes(data: bytes, head: str, form: ReferenceForm) -> bytes:
    """Encode bytes from the history as a part of a JSON string.

    Args:
        data: The bytes.
        head: The beginning of a data URI, or an empty text.
        form: `text`, `base64` or `data-uri`.
    """
    if form == "text":
        return json_text(data.decode("utf-8", "replace"))[1:-1].encode()
    return head.encode() + pybase64.b64encode(data)


def _describe_no_text(mime_type: str) -> str:
    return f"It is {mime_type} and no text: ask with another `as`."


def _make_template(text: str, slots: Sequence[tuple[ReferenceMention, MediaSlot]]) -> TextTemplate:
    """Return a text with slots in place of its references."""
    pieces: list[str | MediaSlot] = []
    end = 0
    for mention, slot in slots:
        pieces += [text[end : mention.start], slot]
        end = mention.end
    return (*pieces, text[end:])
