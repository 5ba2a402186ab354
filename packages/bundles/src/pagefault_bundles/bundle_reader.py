"""Checks of an uploaded bundle: the members of the zip and every line, before anything is stored.

Any program may have packed the zip. The manifest defines the bundle: it lists every file with its
size and SHA-256, and no other file may be present. There is no digest of the manifest itself, but
its bytes have to be exactly those that this service would write.

First the members of the zip are checked (see `archive`), then the digest of each file, then the
lines of each file. The checks block. They keep only the resources of the bundle, and the links to
them, in memory.
"""

import codecs
import hashlib
import os
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import IO, TypeVar

import msgspec

from app.models import session
from app.models.limits import Limits
from app.services.pages.versions import PAGE
from app.stores.records.aliases import AliasTarget
from app.stores.records.session_prompts import SessionPrompt
from pagefault_bundles import line_types, record_checks
from pagefault_bundles.archive import (
    BLOBS,
    HISTORY,
    INTERACTIONS,
    LINE_FILES,
    MANIFEST,
    PAGES,
    RESOURCES,
    ArchiveMember,
    read_member,
    read_members,
)
from pagefault_bundles.bundle_lines import read_alias_targets, read_fork_origin, read_resource
from pagefault_bundles.bundle_records import Link
from pagefault_bundles.format_errors import REPACK, errors_at, require
from pagefault_bundles.record_checks import check_message, check_prompt
from pagefault_dialects.model.resource import Resource

MAX_MEMBERS = 100_000
"""The maximum number of members in a bundle: the files of lines, the manifest, and the blobs."""

RAISE_LIMIT = "The operator of the service can raise `PAGEFAULT_LIMITS__BUNDLE_BYTES`."

# The entry of a file in the manifest has a name of 70 characters, a digest of 64, and a size.
_MAX_FILE_ENTRY_BYTES = 256
# The session in the manifest: 16 bytes for each message of a frontier, up to 300 for each move.
_MAX_SESSION_BYTES = 16 * 1_024 * 1_024
# No record has a longer line: a message has up to 16 MiB, a page with its levels somewhat more.
_MAX_LINE_BYTES = 256 * 1024 * 1024
# A limit against zip bombs; text usually deflates to a fifth. Small bundles may have any ratio.
_MAX_RATIO = 32
_SMALL_BYTES = 64 * 1024 * 1024

_BATCH_LINES = 500
_BATCH_BYTES = 4 * 1024 * 1024

_Line = TypeVar("_Line")
ENTRY_KINDS: dict[type[line_types.HistoryLine], session.EntryKind] = {
    line_types.ToolResultLine: session.TOOL_RESULT,
    line_types.MessageLine: session.MESSAGE,
    line_types.PageFaultLine: session.PAGE_FAULT,
    line_types.InteractionEntryLine: session.INTERACTION,
    line_types.AnswerEntryLine: session.ANSWER,
}
"""The kind of entry of each type of line."""


@dataclass(frozen=True, slots=True)
class BundleFile:
    """A bundle whose members are intact. Its lines are not checked yet."""

    descriptor: int
    """The descriptor of the open zip file."""
    members: Mapping[str, ArchiveMember]
    """The members of the zip, by name."""
    manifest: line_types.BundleManifest

    @property
    def blobs(self) -> dict[str, int]:
        """The digests of the blobs, in order, with their sizes."""
        return {file.sha256: file.size for file in self.manifest.files[len(LINE_FILES) :]}

    def chunks(self, name: str) -> Iterator[bytes]:
        """Yield the bytes of a member in chunks of at most a megabyte."""
        return read_member(self.descriptor, self.members[name])

    def lines(self, name: str) -> Iterator[tuple[str, bytes]]:
        """Yield the lines of a member, each with its location, such as `pages.jsonl/3`.

        Raises:
            InvalidBundleError: A line is too long, or the last one is unterminated.
        """
        parts: list[bytes] = []
        parts_bytes = 0
        number = 1
        for chunk in self.chunks(name):
            # A line may have many chunks, so parts are joined only at its end.
            first, *lines = chunk.split(b"\n")
            parts.append(first)
            parts_bytes += len(first)
            with errors_at(f"{name}/{number}"):
                require(parts_bytes <= _MAX_LINE_BYTES, "is longer than a record may be")
            for line in lines:
                yield f"{name}/{number}", b"".join(parts)
                number += 1
                parts, parts_bytes = [line], len(line)
        with errors_at(f"{name}/{number}"):
            require(not parts_bytes, "has no end")


def read_bundle(
    file: IO[bytes], max_bytes: int, *, use: str = "imported", remedy: str = RAISE_LIMIT
) -> BundleFile:
    """Check the members of a zip and their digests, and return the bundle. Blocks.

    Args:
        file: The zip, which is read by position.
        max_bytes: The maximum size of all members together, unpacked.
        use: The use of the bundle, as a participle, for the error if it is too large.
        remedy: Advice for the same error.

    Raises:
        InvalidBundleError: The file is not a bundle, or is damaged.
    """
    descriptor = file.fileno()
    with errors_at(""):
        members = _read_member_names(descriptor)
        require(MANIFEST in members, f"has no `{MANIFEST}`", REPACK)
        _check_unpacked_size(descriptor, members, max_bytes, use, remedy)
    with errors_at(MANIFEST):
        manifest = _read_manifest(descriptor, members)
    files = {file_line.name: file_line for file_line in manifest.files}
    with errors_at(""):
        for name, member in members.items():
            sentence = f"has a member {member.label} that its manifest does not name"
            require(name in files or name == MANIFEST, sentence, REPACK)
    for name, file_line in files.items():
        with errors_at(name):
            require(name in members, "is missing: the manifest names it", REPACK)
            require(members[name].size_bytes == file_line.size, "has not the size in the manifest")
            digest = hashlib.sha256()
            _read_member(descriptor, members[name], digest.update)
            is_same_digest = digest.hexdigest() == file_line.sha256
            require(is_same_digest, "does not have the SHA-256 that the manifest gives for it")
    return BundleFile(descriptor, members, manifest)


def _read_member_names(descriptor: int) -> dict[str, ArchiveMember]:
    """Return the members of the zip by name, except the folder of the blobs."""
    members: dict[str, ArchiveMember] = {}
    for member in read_members(descriptor, max_entries=MAX_MEMBERS + 1):
        require(member.name not in members, f"has a member {member.label} twice", REPACK)
        members[member.name] = member
    if folder := members.pop(BLOBS, None):
        require(not folder.size_bytes, f"has bytes in the folder `{BLOBS}`", REPACK)
        _read_member(descriptor, folder, len)
    return members


def _check_unpacked_size(
    descriptor: int, members: Mapping[str, ArchiveMember], max_bytes: int, use: str, remedy: str
) -> None:
    size_bytes = sum(member.size_bytes for member in members.values())
    require(
        size_bytes <= max_bytes,
        f"unpacks to more than {max_bytes} bytes, the most that is {use} here",
        remedy,
    )
    packed_bytes = os.fstat(descriptor).st_size
    require(
        size_bytes <= max(_SMALL_BYTES, packed_bytes * _MAX_RATIO),
        f"unpacks to more than {_MAX_RATIO} times its size",
        "Send the file as it was exported, or pack its files again without compression.",
    )


def _read_manifest(
    descriptor: int, members: Mapping[str, ArchiveMember]
) -> line_types.BundleManifest:
    member = members[MANIFEST]
    max_bytes = _MAX_SESSION_BYTES + len(members) * _MAX_FILE_ENTRY_BYTES
    require(member.size_bytes <= max_bytes, "is longer than it may be")
    text = bytearray()
    _read_member(descriptor, member, text.extend)
    head = msgspec.json.decode(text, type=line_types.ManifestHead)
    require(head.format == line_types.FORMAT, "is that of something else")
    require(
        1 <= head.version <= line_types.VERSION,
        "names a version of the format that is not known here",
    )
    manifest = line_types.read_line(msgspec.json.Decoder(line_types.BundleManifest), bytes(text))
    names = [file.name for file in manifest.files]
    blobs = sorted({BLOBS + file.sha256 for file in manifest.files[len(LINE_FILES) :]})
    is_in_order = names == [*LINE_FILES, *blobs]
    require(is_in_order, "does not name the four files of lines, then each blob by its SHA-256")
    return manifest


def _read_member(
    descriptor: int, member: ArchiveMember, consume: Callable[[bytes], object]
) -> None:
    """Pass all bytes of a member to `consume`; raise if their checksum is not that in the zip."""
    crc32 = 0
    for chunk in read_member(descriptor, member):
        crc32 = zlib.crc32(chunk, crc32)
        consume(chunk)
    require(crc32 == member.crc32, "does not have the checksum that the archive gives for it")


@dataclass(slots=True)
class BundleCheck:
    """Checks the lines of a bundle, and collects its resources and links."""

    file: BundleFile
    project_id: str
    """The project into which the bundle is imported."""
    limits: Limits
    resources: dict[str, Resource] = field(default_factory=dict)
    """The resources of the bundle, by id."""
    aliases: dict[str, AliasTarget] = field(default_factory=dict)
    """The aliases of the resources."""
    links: list[Link] = field(default_factory=list)
    """The references of all records to resources."""
    prompt: SessionPrompt | None = None
    """The prompt of the session."""
    failures: dict[str, int] = field(default_factory=dict)
    """The numbers of failed results in messages that have some, by the ids of the messages."""
    # The ids of resources that are returned as text.
    _text_resources: set[str] = field(default_factory=set)
    _interactions_by_seq: dict[int, str] = field(default_factory=dict)
    _answers_by_seq: dict[int, str] = field(default_factory=dict)
    _answer_numbers: Counter[str] = field(default_factory=Counter)
    _counts: Counter[session.EntryKind] = field(default_factory=Counter)

    def run(self) -> session.Session:
        """Check the lines of the bundle, and return its session.

        Raises:
            InvalidBundleError: The bundle is invalid; the error names the line and the fault.
        """
        self._check_resources()
        self._check_interactions()
        last_seq = self._check_history()
        self._check_pages()
        self._check_resource_use()
        self._check_texts()
        session_line = self.file.manifest.session
        with errors_at(MANIFEST):
            # Writes of pages take numbers as well, without an entry in the history.
            line_types.check_number(session_line.last_seq)
            names = [frontier.name for frontier in session_line.frontiers]
            require(names == sorted(set(names)), "has frontiers in another order, or one twice")
            moves = [[move.seq for move in line.moves] for line in session_line.frontiers]
            require(moves == [sorted(set(move)) for move in moves], "has moves in another order")
            require(session_line.last_seq >= last_seq, "names a last number below that of an entry")
            require(len(set(session_line.tags)) == len(session_line.tags), "has a tag twice")
            origin = session_line.forked_from
            is_within = origin is None or origin.up_to <= session_line.last_seq
            require(is_within, "is a fork that has come further than its last number")
            return session.Session(
                session_id=session_line.id,
                created_at=line_types.parse_timestamp(session_line.created_at),
                updated_at=line_types.parse_timestamp(session_line.updated_at),
                last_seq=session_line.last_seq,
                counts=session.HistoryCounts(
                    tool_results=self._counts[session.TOOL_RESULT],
                    page_faults=self._counts[session.PAGE_FAULT],
                    messages=self._counts[session.MESSAGE],
                    interactions=self._counts[session.INTERACTION],
                    answers=self._counts[session.ANSWER],
                ),
                forked_from=None if origin is None else read_fork_origin(origin),
                marks=session.SessionMarks(
                    session_line.pinned, session_line.tags, session_line.note
                ),
            )

    def batches(self, name: str, decoder: msgspec.json.Decoder[_Line]) -> Iterator[list[_Line]]:
        """Yield the lines of a checked file in batches of a few megabytes."""
        batch: list[_Line] = []
        size_bytes = 0
        for _, text in self.file.lines(name):
            batch.append(decoder.decode(text))
            size_bytes += len(text)
            if len(batch) >= _BATCH_LINES or size_bytes >= _BATCH_BYTES:
                yield batch
                batch, size_bytes = [], 0
        if batch:
            yield batch

    def _check_resources(self) -> None:
        last = ""
        for location, text in self.file.lines(RESOURCES):
            with errors_at(location):
                line = line_types.read_line(line_types.RESOURCE_DECODER, text)
                require(line.id > last, "does not follow on the line before")
                record_checks.check_resource(line)
                last = line.id
                self.resources[last] = read_resource(line, self.project_id)
                repeated = self.aliases.keys() & line.aliases
                require(not repeated, "has an alias that another line has")
                self.aliases |= read_alias_targets(line)

    def _check_interactions(self) -> None:
        last, ids = 0, set()
        for location, text in self.file.lines(INTERACTIONS):
            with errors_at(location):
                line = line_types.read_line(line_types.INTERACTION_DECODER, text)
                require(line.seq > last, "does not follow on the line before")
                require(line.id not in ids, "has an id that another line has")
                last = line.seq
                ids.add(line.id)
                self._add_links(
                    session.INTERACTION, line.id, record_checks.check_interaction(line, self.limits)
                )
                self._interactions_by_seq[line.seq] = line.id
                if line.answer_seq is not None:
                    require(line.answer_seq not in self._answers_by_seq, "has another one's answer")
                    self._answers_by_seq[line.answer_seq] = line.id

    def _check_history(self) -> int:
        seq, ids = 0, set()
        for location, text in self.file.lines(HISTORY):
            with errors_at(location):
                line = line_types.read_line(line_types.HISTORY_DECODER, text)
                if isinstance(line, line_types.PromptLine):
                    require(seq == 0 and self.prompt is None, "is not the first line")
                    self.prompt = check_prompt(line, self.limits)
                    continue
                require(line.seq > seq, "does not have a number above that of the line before")
                line_types.check_number(line.seq)
                seq = line.seq
                kind = ENTRY_KINDS[type(line)]
                self._counts[kind] += 1
                self._check_entry(line)
                self._check_answer_number(line)
                if not isinstance(line, line_types.AnswerEntryLine):
                    require(line.id not in ids, "has an id that another line has")
                    ids.add(line.id)
        with errors_at(INTERACTIONS):
            require(
                not self._interactions_by_seq and not self._answers_by_seq,
                "has more than the history speaks of",
            )
        return seq

    def _check_answer_number(self, line: line_types.HistoryLine) -> None:
        """Raise unless the results of calls with one id are numbered in order."""
        if isinstance(line, line_types.InteractionEntryLine | line_types.AnswerEntryLine):
            return
        if line.tool_call_id is None:
            return
        previous = self._answer_numbers[line.tool_call_id]
        is_next = line.answer_number == previous + 1
        # Earlier versions may have stored two messages for one call.
        is_repeated = line.answer_number == previous and not isinstance(
            line, line_types.ToolResultLine
        )
        require(is_next or is_repeated, "answers a call that was answered")
        self._answer_numbers[line.tool_call_id] = line.answer_number

    def _check_entry(self, line: line_types.HistoryLine) -> None:
        if isinstance(line, line_types.InteractionEntryLine):
            require(
                self._interactions_by_seq.pop(line.seq, None) == line.id,
                "names no interaction there is",
            )
        elif isinstance(line, line_types.AnswerEntryLine):
            require(self._answers_by_seq.pop(line.seq, None) == line.id, "names no answer there is")
        elif isinstance(line, line_types.ToolResultLine):
            references = record_checks.check_tool_result(line, self.resources, self.limits)
            self._add_links(session.TOOL_RESULT, line.id, references)
        elif isinstance(line, line_types.MessageLine):
            references, failures = check_message(line, self.limits)
            self._add_links(session.MESSAGE, line.id, references)
            if failures:
                self.failures[line.id] = failures
        else:
            references = record_checks.check_page_fault(line, self.limits)
            self._add_links(session.PAGE_FAULT, line.id, references)

    def _check_pages(self) -> None:
        ids: set[str] = set()
        session_id = self.file.manifest.session.id
        for location, text in self.file.lines(PAGES):
            with errors_at(location):
                line = line_types.read_line(line_types.PAGE_DECODER, text)
                line_types.check_number(line.version)
                line_types.check_number(line.access_count)
                require(line.page_id not in ids, "has an id that another line has")
                ids.add(line.page_id)
                references = record_checks.check_page(line, session_id, self.resources, self.limits)
                self._add_links(PAGE, line.page_id, references)

    def _add_links(
        self, owner_kind: str, owner_id: str, references: record_checks.ResourceReferences
    ) -> None:
        is_complete = references.required <= self.resources.keys()
        require(is_complete, "refers to a resource that is not in the bundle")
        used = references.required | (references.mentioned & self.resources.keys())
        self.links += (Link(item, owner_kind, owner_id) for item in used)
        self._text_resources |= references.texts

    def _check_resource_use(self) -> None:
        with errors_at(RESOURCES):
            used = {link.resource_id for link in self.links}
            require(used == self.resources.keys(), "has resources that nothing refers to")
            sizes = {resource.digest: resource.size_bytes for resource in self.resources.values()}
            require(
                all(
                    sizes[resource.digest] == resource.size_bytes
                    for resource in self.resources.values()
                ),
                "has resources of other sizes than their bytes",
            )
            require(sizes == self.file.blobs, "does not describe the blobs of the bundle")

    def _check_texts(self) -> None:
        """Raise unless resources that are returned as text are UTF-8."""
        for digest in sorted({self.resources[text].digest for text in self._text_resources}):
            with errors_at(BLOBS + digest):
                decoder = codecs.getincrementaldecoder("utf-8")()
                for chunk in self.file.chunks(BLOBS + digest):
                    decoder.decode(chunk)
                decoder.decode(b"", final=True)
