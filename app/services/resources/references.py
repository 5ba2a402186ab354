"""References back: `@blob:` strings in a JSON value, replaced by what they stand for.

What one tool returned is so made fit for the arguments of the next. Only resources that something
in the named session refers to are given out; any other reference stays where it is and is named,
in the same words whether it is nobody's or somebody else's. Nothing is written.
"""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from app.errors import Fault, NotFoundError, PayloadTooLargeError
from app.media.types import is_textual
from app.models.identity import utc_now
from app.models.json_value import json_template
from app.models.limits import Limits
from app.models.normalized import MediaSlot, TextTemplate
from app.models.rendering import JsonPiece, MediaPiece, Rendering, TextPiece, joined_pieces
from app.models.resource import Resource
from app.rendering.json_text.strings import TextWriter
from app.services.access.signed_links import LinkGrant, LinkSigner, link_expiry
from app.services.concurrency.large_work import LargeWork
from app.services.inline_media.json_with_media import RenderedBody
from app.services.requests.whole_bodies import RequestBodies
from app.services.resources.reference_requests import (
    Mention,
    ReferenceForm,
    ReferenceRequest,
    read_references,
)
from app.stores.blobs import BlobStore
from app.stores.records import Records, UnitOfWork
from app.wire.resources import ResolvedArguments, ResolvedReference, UnresolvedReference
from app.wire.shape import GAP

LINK_SECONDS = 300
"""How long the links of `signed-url` live."""

_ABSENT = "Nothing in this session refers to such a resource."


@dataclass(frozen=True, slots=True)
class _Settled:
    """What becomes of the mentions: a resource for each, or why there is none."""

    resolved: Sequence[tuple[Mention, Resource]]
    unresolved: Sequence[tuple[Mention, str]]

    @property
    def resources(self) -> dict[str, Resource]:
        """The resources to be put in, by id, each once."""
        return {resource.resource_id: resource for _, resource in self.resolved}

    @property
    def size_bytes(self) -> int:
        """What they take together, each as often as it is put in."""
        return sum(resource.size_bytes for _, resource in self.resolved)


class References:
    """Puts content in the place of references.

    Args:
        records: Where resources and sessions are looked up.
        blobs: Where the bytes are.
        links: Signs the links of `signed-url`.
        content_base_url: What those links begin with.
        bodies: Reads the bodies of requests.
        work: Does what takes long.
        limits: How much may be put into one answer.
    """

    def __init__(
        self,
        records: Records,
        blobs: BlobStore,
        *,
        links: LinkSigner,
        content_base_url: str,
        bodies: RequestBodies,
        work: LargeWork,
        limits: Limits,
    ) -> None:
        self._records = records
        self._blobs = blobs
        self._links = links
        self._content_base_url = content_base_url
        self._bodies = bodies
        self._work = work
        self._limits = limits

    async def resolve(self, project_id: str, body: AsyncIterator[bytes]) -> RenderedBody:
        """The JSON `{arguments, resolved, unresolved}`, whose media are read while it is sent.

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
        work = partial(read_references, limits=self._limits)
        async with self._bodies.read(body, work) as read:
            return await self._resolve(project_id, read)

    async def _resolve(self, project_id: str, read: ReferenceRequest) -> RenderedBody:
        request = read.request
        wanted = {each.resource_id for each in read.mentions if each.resource_id}

        def find(unit: UnitOfWork) -> Mapping[str, Resource]:
            if unit.sessions.find(request.session_id) is None:
                raise NotFoundError("session")
            return unit.resources.find_in_session(wanted, request.session_id)

        found = await self._records.read(project_id, find)
        settled = _settle(read, found)
        self._check_size(request.form, settled)
        contents = await self._contents(project_id, request.form, settled.resources.values())
        pieces = await self._work.run(read.size_bytes, _write_answer, read, settled, contents)
        answer = RenderedBody(self._blobs, project_id, Rendering(pieces))
        await answer.check()
        return answer

    def _check_size(self, form: ReferenceForm, settled: _Settled) -> None:
        if form == "signed-url":
            return
        limit = self._limits.page_text_bytes if form == "text" else self._limits.inline_bytes
        if settled.size_bytes <= limit:
            return
        largest = sorted(settled.resolved, key=lambda each: -each[1].size_bytes)
        raise PayloadTooLargeError(
            f"The references stand for {settled.size_bytes} bytes, and {limit} are put into one "
            "answer at most. Ask with `as: signed-url`, or for fewer of them at once; `errors` "
            "names the largest first.",
            code="medium-too-large",
            faults=[
                Fault(f"/arguments{mention.pointer}", f"has {resource.size_bytes} bytes")
                for mention, resource in largest
            ],
        )

    async def _contents(
        self, project_id: str, form: ReferenceForm, resources: Collection[Resource]
    ) -> dict[str, Sequence[JsonPiece]]:
        """What stands in the place of each resource, by id, as the inside of a JSON string."""
        expires_at = link_expiry(utc_now(), LINK_SECONDS)
        contents: dict[str, Sequence[JsonPiece]] = {}
        for each in resources:
            if form == "signed-url":
                contents[each.resource_id] = [self._link(project_id, each, expires_at)]
            elif form == "text":
                contents[each.resource_id] = [await self._text(project_id, each)]
            else:
                head = f"data:{each.mime_type};base64," if form == "data-uri" else ""
                medium = MediaPiece(each.digest, each.size_bytes)
                contents[each.resource_id] = [head.encode(), medium]
        return contents

    def _link(self, project_id: str, resource: Resource, expires_at: datetime) -> bytes:
        grant = LinkGrant(project_id, resource.resource_id, "inline", None, expires_at)
        return f"{self._content_base_url}{self._links.content_path(grant)}".encode()

    async def _text(self, project_id: str, resource: Resource) -> TextPiece:
        """The place of a text; it is read once to learn how long it is when it is escaped."""
        writer = TextWriter()
        sent_bytes = 0
        opened = await self._blobs.open(project_id, resource.digest)
        async with aclosing(opened) as reader:
            async for chunk in reader:
                sent_bytes += await self._work.run(len(chunk), _length, writer, chunk)
        return TextPiece(resource.digest, resource.size_bytes, sent_bytes + len(writer.finish()))


def _length(writer: TextWriter, chunk: bytes) -> int:
    return sum(map(len, writer.feed(chunk)))


def _settle(read: ReferenceRequest, found: Mapping[str, Resource]) -> _Settled:
    resolved: list[tuple[Mention, Resource]] = []
    unresolved: list[tuple[Mention, str]] = []
    for mention in read.mentions:
        resource = found.get(mention.resource_id or "")
        if resource is None:
            unresolved.append((mention, _ABSENT))
        elif read.request.form == "text" and not is_textual(resource.mime_type):
            reason = f"It is {resource.mime_type} and no text: ask with another `as`."
            unresolved.append((mention, reason))
        else:
            resolved.append((mention, resource))
    return _Settled(resolved, unresolved)


def _write_answer(
    read: ReferenceRequest, settled: _Settled, contents: Mapping[str, Sequence[JsonPiece]]
) -> Sequence[JsonPiece]:
    ids = {resource_id: number for number, resource_id in enumerate(contents)}
    replaced = {mention for mention, _ in settled.resolved}
    for place in read.places:
        kept = [each for each in place.mentions if each in replaced]
        if kept:
            place.holder[place.key] = _opened(place.text, kept, ids)
    head, tail = _answer(settled).around_gap()
    filled = list(contents.values())
    pieces: list[JsonPiece] = [head]
    for piece in json_template(read.root[0]):
        pieces += filled[piece.index] if isinstance(piece, MediaSlot) else [piece.encode()]
    return joined_pieces([*pieces, tail])


def _answer(settled: _Settled) -> ResolvedArguments:
    return ResolvedArguments(
        arguments=GAP,
        resolved=tuple(
            ResolvedReference(
                pointer=mention.pointer,
                uri=resource.uri,
                mime_type=resource.mime_type,
                size=resource.size_bytes,
            )
            for mention, resource in settled.resolved
        ),
        unresolved=tuple(
            UnresolvedReference(pointer=mention.pointer, reference=mention.reference, reason=reason)
            for mention, reason in settled.unresolved
        ),
    )


def _opened(text: str, mentions: Sequence[Mention], ids: Mapping[str, int]) -> TextTemplate:
    """A text with open places where its references were."""
    pieces: list[str | MediaSlot] = []
    end = 0
    for mention in mentions:
        pieces += [text[end : mention.start], MediaSlot(ids[mention.resource_id or ""])]
        end = mention.start + len(mention.reference)
    return (*pieces, text[end:])
