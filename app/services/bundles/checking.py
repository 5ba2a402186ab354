"""Check a bundle line by line, before anything of it is stored; blocks, in constant memory.

Only what the lines have in common is kept: the resources, and what refers to them.
"""

import codecs
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeVar

import msgspec

from app.models import message
from app.models.limits import Limits
from app.models.resource import Resource
from app.services.bundles import record_checks, rows
from app.services.bundles.archive import BLOBS, HISTORY, INTERACTIONS, MANIFEST, PAGES, RESOURCES
from app.services.bundles.format_errors import errors_at, require
from app.services.bundles.reading import BundleFile
from app.services.bundles.stored import named_resources, stored_resource
from app.services.pages.writing import PAGE
from app.stores.records.bundles import Link
from app.stores.records.resources import NamedResource

_LINES_AT_ONCE = 500
_LINES_BYTES = 4 * 1024 * 1024

_Line = TypeVar("_Line")
ENTRY_KINDS: dict[type[rows.HistoryLine], message.EntryKind] = {
    rows.ToolResultLine: message.TOOL_RESULT,
    rows.MessageLine: message.MESSAGE,
    rows.PageFaultLine: message.PAGE_FAULT,
    rows.InteractionEntryLine: message.INTERACTION,
    rows.AnswerEntryLine: message.ANSWER,
}
"""The kind of entry that each type of line is."""


@dataclass(slots=True)
class BundleCheck:
    """The check of one bundle that is to be stored in a project, and what it has found in it."""

    file: BundleFile
    project_id: str
    limits: Limits
    resources: dict[str, Resource] = field(default_factory=dict)
    aliases: dict[str, NamedResource] = field(default_factory=dict)
    links: list[Link] = field(default_factory=list)
    _texts: set[str] = field(default_factory=set)
    _asked: dict[int, str] = field(default_factory=dict)
    _answered: dict[int, str] = field(default_factory=dict)
    _counts: Counter[message.EntryKind] = field(default_factory=Counter)

    def run(self) -> message.Session:
        """Return the session in it once everything is found to be right.

        Raises:
            InvalidBundleError: Something is not; the error says what and where.
        """
        self._check_resources()
        self._check_interactions()
        last_seq = self._check_history()
        self._check_pages()
        self._check_use()
        self._check_texts()
        described = self.file.manifest.session
        with errors_at(MANIFEST):
            # The writes of pages take numbers as well, which no entry of the history has.
            rows.check_number(described.last_seq)
            names = [each.name for each in described.frontiers]
            require(names == sorted(set(names)), "has frontiers in another order, or one twice")
            require(described.last_seq >= last_seq, "names a last number below that of an entry")
            return message.Session(
                session_id=described.id,
                created_at=rows.parse_moment(described.created_at),
                updated_at=rows.parse_moment(described.updated_at),
                last_seq=described.last_seq,
                counts=message.EntryCounts(
                    tool_results=self._counts[message.TOOL_RESULT],
                    page_faults=self._counts[message.PAGE_FAULT],
                    messages=self._counts[message.MESSAGE],
                    interactions=self._counts[message.INTERACTION],
                    answers=self._counts[message.ANSWER],
                ),
            )

    def batches(self, name: str, decoder: msgspec.json.Decoder[_Line]) -> Iterator[list[_Line]]:
        """Yield the lines of a file that has been checked, a few megabytes at once."""
        batch: list[_Line] = []
        size_bytes = 0
        for _, text in self.file.lines(name):
            batch.append(decoder.decode(text))
            size_bytes += len(text)
            if len(batch) >= _LINES_AT_ONCE or size_bytes >= _LINES_BYTES:
                yield batch
                batch, size_bytes = [], 0
        if batch:
            yield batch

    def _check_resources(self) -> None:
        last = ""
        for location, text in self.file.lines(RESOURCES):
            with errors_at(location):
                line = rows.read_line(rows.RESOURCE_LINES, text)
                require(line.id > last, "does not follow on the line before")
                record_checks.check_resource(line)
                last = line.id
                self.resources[last] = stored_resource(line, self.project_id)
                taken = self.aliases.keys() & line.aliases
                require(not taken, "has an alias that another line has")
                self.aliases |= named_resources(line)

    def _check_interactions(self) -> None:
        last, seen = 0, set()
        for location, text in self.file.lines(INTERACTIONS):
            with errors_at(location):
                line = rows.read_line(rows.INTERACTION_LINES, text)
                require(line.seq > last, "does not follow on the line before")
                require(line.id not in seen, "has an id that another line has")
                last = line.seq
                seen.add(line.id)
                self._link(
                    message.INTERACTION, line.id, record_checks.check_interaction(line, self.limits)
                )
                self._asked[line.seq] = line.id
                if line.answer_seq is not None:
                    require(line.answer_seq not in self._answered, "has another one's answer")
                    self._answered[line.answer_seq] = line.id

    def _check_history(self) -> int:
        seq, ids, calls = 0, set(), set()
        for location, text in self.file.lines(HISTORY):
            with errors_at(location):
                line = rows.read_line(rows.HISTORY_LINES, text)
                require(line.seq > seq, "does not have a number above that of the line before")
                rows.check_number(line.seq)
                seq = line.seq
                kind = ENTRY_KINDS[type(line)]
                self._counts[kind] += 1
                self._check_entry(line)
                if isinstance(line, rows.ToolResultLine):
                    require(line.tool_call_id not in calls, "answers a call that was answered")
                    calls.add(line.tool_call_id)
                if not isinstance(line, rows.AnswerEntryLine):
                    require(line.id not in ids, "has an id that another line has")
                    ids.add(line.id)
        with errors_at(INTERACTIONS):
            require(not self._asked and not self._answered, "has more than the history speaks of")
        return seq

    def _check_entry(self, line: rows.HistoryLine) -> None:
        if isinstance(line, rows.InteractionEntryLine):
            require(self._asked.pop(line.seq, None) == line.id, "names no interaction there is")
        elif isinstance(line, rows.AnswerEntryLine):
            require(self._answered.pop(line.seq, None) == line.id, "names no answer there is")
        elif isinstance(line, rows.ToolResultLine):
            referred = record_checks.check_tool_result(line, self.resources, self.limits)
            self._link(message.TOOL_RESULT, line.id, referred)
        elif isinstance(line, rows.MessageLine):
            self._link(message.MESSAGE, line.id, record_checks.check_message(line, self.limits))
        else:
            referred = record_checks.check_page_fault(line, self.limits)
            self._link(message.PAGE_FAULT, line.id, referred)

    def _check_pages(self) -> None:
        seen: set[str] = set()
        session_id = self.file.manifest.session.id
        for location, text in self.file.lines(PAGES):
            with errors_at(location):
                line = rows.read_line(rows.PAGE_LINES, text)
                rows.check_number(line.version)
                rows.check_number(line.access_count)
                require(line.page_id not in seen, "has an id that another line has")
                seen.add(line.page_id)
                referred = record_checks.check_page(line, session_id, self.resources, self.limits)
                self._link(PAGE, line.page_id, referred)

    def _link(self, owner_kind: str, owner_id: str, referred: record_checks.References) -> None:
        require(
            referred.needed <= self.resources.keys(),
            "refers to a resource that is not in the bundle",
        )
        used = referred.needed | (referred.named & self.resources.keys())
        self.links += (Link(each, owner_kind, owner_id) for each in used)
        self._texts |= referred.texts

    def _check_use(self) -> None:
        with errors_at(RESOURCES):
            used = {link.resource_id for link in self.links}
            require(used == self.resources.keys(), "has resources that nothing refers to")
            sizes = {each.digest: each.size_bytes for each in self.resources.values()}
            require(
                all(sizes[each.digest] == each.size_bytes for each in self.resources.values()),
                "has resources of other sizes than their bytes",
            )
            require(sizes == self.file.blobs, "does not describe the blobs of the bundle")

    def _check_texts(self) -> None:
        """Raise unless what is put into answers as text is UTF-8."""
        for digest in sorted({self.resources[each].digest for each in self._texts}):
            with errors_at(BLOBS + digest):
                decoder = codecs.getincrementaldecoder("utf-8")()
                for chunk in self.file.chunks(BLOBS + digest):
                    decoder.decode(chunk)
                decoder.decode(b"", final=True)
