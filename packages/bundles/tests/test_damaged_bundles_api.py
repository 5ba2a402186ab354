"""Damaged, inconsistent and hostile bundles are refused, and never cause an internal error."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import httpx
import hypothesis
import pytest
from hypothesis import strategies as st

from app.models.resource_descriptor import derive_resource_id
from packages.bundles.tests.zip_entries import (
    DESCRIPTOR,
    ENCRYPTED,
    ZipEntry,
    deflated,
    descriptor_of,
    packed_by_hand,
)
from tests.contract.bundled_sessions import (
    SESSION,
    bundled,
    export,
    listed,
    make_small_session,
    members_of,
    sha256,
    take_in,
    with_manifest,
)
from tests.kit.servers import LiveService

Members = dict[str, bytes]
Line = dict[str, Any]
LINE_FILES = ["history.jsonl", "interactions.jsonl", "pages.jsonl", "resources.jsonl"]


@pytest.fixture(scope="module")
def bundle(service: LiveService) -> bytes:
    with service.client() as client:
        make_small_session(client)
        return export(client)


@pytest.fixture(scope="module")
def importer(service: LiveService) -> Iterator[httpx.Client]:
    """Yield a client in a project where nothing may be stored."""
    with service.client() as client:
        yield client


def stored(client: httpx.Client) -> list[Any]:
    paths = ("/api/sessions", "/api/pages", "/api/resources", "/api/tool-results")
    return [item for path in paths for item in listed(client, path)]


def refused(client: httpx.Client, damaged: bytes) -> dict[str, Any]:
    """Return the problem of a refused bundle, after a check that nothing of it is stored."""
    answer = take_in(client, damaged)
    assert (answer.status_code, answer.json().get("code")) == (422, "invalid-bundle"), answer.text
    assert stored(client) == []
    problem: dict[str, Any] = answer.json()
    return problem


def test_small_bundle_is_taken_as_it_is_and_when_it_is_put_together_again(
    service: LiveService, bundle: bytes
) -> None:
    assert bundled(members_of(bundle)) == bundle
    assert with_manifest(members_of(bundle)) == members_of(bundle)
    with service.client() as client:
        assert take_in(client, bundle).status_code == 201
        assert export(client) == bundle


def patched(bundle: bytes, at: int, data: bytes) -> bytes:
    return bundle[:at] + data + bundle[at + len(data) :]


Entries = list[ZipEntry]


def all_but(bundle: bytes, **changes: object) -> Entries:
    """Return the entries of a bundle, with changes to the first, the history."""
    first, *further = (ZipEntry(name, data) for name, data in members_of(bundle).items())
    return [replace(first, **changes), *further]  # type: ignore[arg-type]


def in_both(**fields: int | str) -> Callable[[bytes], bytes]:
    """Return a zip whose header and directory have the same false fields of the history."""
    return lambda b: packed_by_hand(all_but(b, header=fields, entry=fields))


def in_directory(**fields: int | str) -> Callable[[bytes], bytes]:
    """Return a zip whose directory contradicts the header of the history."""
    return lambda b: packed_by_hand(all_but(b, entry=fields))


def in_header(**fields: int | str) -> Callable[[bytes], bytes]:
    return lambda b: packed_by_hand(all_but(b, header=fields))


def with_entry(name: str, data: bytes = b"") -> Callable[[bytes], bytes]:
    """Return a zip with an additional member."""
    more = ZipEntry(name, data)
    return lambda b: packed_by_hand([*all_but(b), more])


def history_deflated(change: Callable[[bytes], bytes], **fields: int) -> Callable[[bytes], bytes]:
    """Return a zip whose history is compressed, and then changed."""

    def damaged(bundle: bytes) -> bytes:
        packed = change(deflated(all_but(bundle)[0].data))
        return packed_by_hand(all_but(bundle, packed=packed, method=8, header=fields, entry=fields))

    return damaged


def nested(bundle: bytes) -> bytes:
    """Return a zip whose first member contains the second, with both in the directory."""
    first, second, *further = all_but(bundle)
    inside = packed_by_hand([second])
    outer = replace(first, data=inside[: inside.index(b"PK\x01\x02")])
    whole = packed_by_hand(
        [outer, replace(second, entry={"start": 30 + len(first.name)}), *further]
    )
    return whole


def count_of(number: int) -> Callable[[bytes], bytes]:
    return lambda b: packed_by_hand(all_but(b), end={"count": number})


def in_zip64(**fields: int) -> Callable[[bytes], bytes]:
    return lambda b: packed_by_hand(all_but(b), zip64=fields)


DIFFERENT_HEADER = "has a member `history.jsonl` whose header is not the one in the directory"
DIFFERENT_SUMS = "has a member `history.jsonl` of another size or checksum in its header"
SIZE_IS_NOT_STORED = (
    "has a member `history.jsonl` that is stored in more or fewer bytes than it has"
)
NOT_ALONE = "has a member `history.jsonl` with extra bytes behind it"
ENCRYPTED_MEMBER = "has a member `history.jsonl` that is encrypted"
UNKNOWN_PACKING = (
    "has a member `history.jsonl` that is neither stored nor deflated, or has unknown flags"
)
NO_END = "is no zip archive, or has a comment at its end"
NOT_AT_THE_ENDS = "has bytes in front of it, or behind its directory"
CUT_OFF = "is damaged: a header is cut off or missing"
MANY = "has more than the 100001 entries a bundle may have"
TOO_MUCH = "unpacks to more than 32 times its size"


UNKNOWN = "has a member (number {last} in the directory) that its manifest does not name"
# A problem does not quote the bundle, names of files included.
FOREIGN_NAMES = [
    "../x",
    "/etc/passwd",
    "C:\\x",
    "./history.jsonl",
    "HISTORY.JSONL",
    "BLOBS/",
    "bundle/",
    "bundle.zip",
    "__MACOSX/._history.jsonl",
    "history.jsonl\0.txt",
    "h\u00efstory.jsonl",
    "`x`\r\n",
    "",
]
ARCHIVES: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "nothing": (lambda _: b"", "is too short for a zip archive"),
    "no zip": (lambda _: b"PK\x05\x06 and words" * 10, NO_END),
    "an empty zip": (lambda _: b"PK\x05\x06" + bytes(18), "has no `manifest.json`"),
    "half of it": (lambda b: b[: len(b) // 2], NO_END),
    "all but a byte": (lambda b: b[:-1], NO_END),
    "a byte more": (lambda b: b + b"\0", NO_END),
    "a comment": (lambda b: b[:-2] + b"\x04\x00abcd", NO_END),
    "a script in front": (lambda b: b"#!/bin/sh\n" + b, NOT_AT_THE_ENDS),
    "a script in front that is counted": (
        lambda b: packed_by_hand(all_but(b), front=b"#!/bin/sh\n"),
        "has bytes in front of its members",
    ),
    "twice": (lambda b: b + b, NOT_AT_THE_ENDS),
    "something between": (lambda b: packed_by_hand(all_but(b, behind=b"x")), NOT_ALONE),
    "something before the directory": (
        lambda b: packed_by_hand([*all_but(b)[:-1], replace(all_but(b)[-1], behind=bytes(50))]),
        NOT_ALONE.replace("history.jsonl", "manifest.json"),
    ),
    "something behind the directory": (
        lambda b: packed_by_hand(all_but(b), end={"size": 60}),
        NOT_AT_THE_ENDS,
    ),
    # Fields that only some programs read.
    "another name in the directory": (
        in_directory(name="pages.jsonk"),
        DIFFERENT_HEADER.replace("`history.jsonl`", "(number 1 in the directory)"),
    ),
    "another name in the header": (in_header(name="historx.jsonl"), DIFFERENT_HEADER),
    "a longer name in the header": (in_header(name="history.jsonl2"), DIFFERENT_HEADER),
    "another method in the header": (in_header(method=8), DIFFERENT_HEADER),
    "another flag in the header": (in_header(flags=DESCRIPTOR), DIFFERENT_HEADER),
    "another size in the header": (in_header(size=1), DIFFERENT_SUMS),
    "another packed size in the header": (in_header(packed=1), DIFFERENT_SUMS),
    "no sizes in the header": (in_header(size=0, packed=0, crc32=0), DIFFERENT_SUMS),
    "another checksum in the header": (in_header(crc32=1), DIFFERENT_SUMS),
    "another checksum in the directory": (in_directory(crc32=1), DIFFERENT_SUMS),
    "a smaller size in the directory": (in_directory(size=1, packed=1), DIFFERENT_SUMS),
    "a size beyond 4 GiB": (in_directory(size=2**32 - 1, packed=2**32 - 1), DIFFERENT_SUMS),
    "one size of two": (in_both(size=1), SIZE_IS_NOT_STORED),
    "a size too small": (in_both(size=1, packed=1), NOT_ALONE),
    "a size too large": (
        in_both(size=2**31, packed=2**31),
        "has a member `history.jsonl` that shares bytes with another",
    ),
    "a start at another member": (
        in_directory(start=2**31),
        "has bytes in front of its members",
    ),
    "a wrong data descriptor": (
        lambda b: packed_by_hand(all_but(b, flags=DESCRIPTOR, behind=descriptor_of(b"x"))),
        NOT_ALONE,
    ),
    "no data descriptor": (
        lambda b: packed_by_hand(all_but(b, flags=DESCRIPTOR)),
        NOT_ALONE,
    ),
    "a member in a member": (
        nested,
        "has a member `history.jsonl` that shares bytes with another",
    ),
    "one member for two": (
        lambda b: packed_by_hand(
            [*all_but(b)[:1], replace(all_but(b)[1], entry={"start": 0}), *all_but(b)[2:]]
        ),
        "has a member `history.jsonl` that shares bytes with another",
    ),
    # Numbers of members, and of bytes.
    "65,534 members that are not there": (count_of(0xFFFE), CUT_OFF),
    "more members than there are": (count_of(11), CUT_OFF),
    "fewer members than there are": (count_of(5), CUT_OFF),
    "a million members": (in_zip64(count=10**6), NO_END),
    "a hundred thousand members": (
        lambda b: packed_by_hand(all_but(b), zip64={"count": 100_002}, end={"count": 0xFFFF}),
        MANY,
    ),
    "another end in zip64": (in_zip64(start=5), NO_END),
    "an end in zip64 somewhere else": (in_zip64(at=5), NO_END),
    "zip64 that is not there": (
        lambda b: packed_by_hand(all_but(b), end={"start": 2**32 - 1}),
        NOT_AT_THE_ENDS,
    ),
    "a part of several": (
        lambda b: packed_by_hand(all_but(b), end={"disk": 1}),
        "is a part of an archive in several parts",
    ),
    "another file": (with_entry("zeros", bytes(100)), UNKNOWN),
    "a bomb that says so": (history_deflated(bytes, size=2**31), TOO_MUCH),
    # Names.
    **{f"the name {name!r}": (with_entry(name, b"x"), UNKNOWN) for name in FOREIGN_NAMES},
    "a blob that is not in the manifest": (
        with_entry("blobs/" + "0" * 64),
        f"has a member `blobs/{'0' * 64}` that its manifest does not name",
    ),
    "a name of 60,000 bytes": (
        with_entry("x" * 60_000),
        "has a directory larger than a bundle may have",
    ),
    "one name twice": (with_entry("history.jsonl", b"x"), "has a member `history.jsonl` twice"),
    "one folder twice": (
        lambda b: packed_by_hand([ZipEntry("blobs/", b""), *all_but(b), ZipEntry("blobs/", b"")]),
        "has a member `blobs/` twice",
    ),
    "a folder that is a file": (with_entry("blobs/", b"x"), "has bytes in the folder `blobs/`"),
    "a folder that hides bytes": (
        lambda b: packed_by_hand(
            [*all_but(b), ZipEntry("blobs/", b"", method=8, packed=deflated(b"") + b"x")]
        ),
        "unpacks to fewer bytes than its entry declares, or has extra ones",
    ),
    # Ways to pack.
    "encrypted": (in_both(flags=ENCRYPTED), ENCRYPTED_MEMBER),
    "strongly encrypted": (in_both(flags=0x41), ENCRYPTED_MEMBER),
    "encrypted headers": (in_both(flags=0x2000), ENCRYPTED_MEMBER),
    "a patch": (in_both(flags=0x20), UNKNOWN_PACKING),
    **{
        f"packed by method {method}": (in_both(method=method), UNKNOWN_PACKING)
        for method in (1, 9, 12, 14, 93, 99)
    },
}
DAMAGED_HISTORIES: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "another checksum everywhere": (
        in_both(crc32=1),
        "does not have the checksum that the archive gives for it",
    ),
    "not inflatable": (
        history_deflated(lambda _: b"\xff" * 50),
        "is damaged: its bytes cannot be inflated",
    ),
    "cut off": (
        history_deflated(lambda packed: packed[:-1]),
        "unpacks to fewer bytes than its entry declares, or has extra ones",
    ),
    "more behind its end": (
        history_deflated(lambda packed: packed + b"x"),
        "unpacks to fewer bytes than its entry declares, or has extra ones",
    ),
    "a bomb that hides": (
        history_deflated(lambda _: deflated(bytes(3_000_000))),
        "unpacks to more bytes than its entry declares",
    ),
    "less than it says": (
        history_deflated(lambda _: deflated(b"x")),
        "unpacks to fewer bytes than its entry declares, or has extra ones",
    ),
    "another size": (
        lambda b: packed_by_hand(all_but(b, data=b"x")),
        "has not the size in the manifest",
    ),
    "other bytes": (
        lambda b: packed_by_hand(all_but(b, data=bytes(len(all_but(b)[0].data)))),
        "does not have the SHA-256 that the manifest gives for it",
    ),
    "not there": (lambda b: packed_by_hand(all_but(b)[1:]), "is missing: the manifest names it"),
}


@pytest.mark.engines("embedded")
@pytest.mark.promise(
    "security.md#the-database",
    "A zip with more than one meaning, with overlaps or with unknown names is refused as a bundle",
    kept_by="packages/bundles/src/pagefault_bundles/archive.py",
    tried="73 archives",
)
@pytest.mark.parametrize("name", ARCHIVES)
def test_zip_of_several_meanings_or_of_too_much_is_refused(
    importer: httpx.Client, bundle: bytes, name: str
) -> None:
    damage, template = ARCHIVES[name]
    sentence = template.format(last=len(members_of(bundle)) + 1)
    problem = refused(importer, damage(bundle))
    assert problem["errors"] == [{"pointer": "", "detail": sentence}]
    assert f"It {sentence}. Nothing of it was stored. " in problem["detail"]


@pytest.mark.engines("embedded")
@pytest.mark.promise(
    "security.md#the-database",
    "Nothing of a bundle is parsed unless it has the digest in the manifest",
    kept_by="packages/bundles/src/pagefault_bundles/bundle_reader.py",
    tried="9 archives",
)
@pytest.mark.parametrize("name", DAMAGED_HISTORIES)
def test_member_that_is_not_what_the_manifest_says_is_named(
    importer: httpx.Client, bundle: bytes, name: str
) -> None:
    damage, sentence = DAMAGED_HISTORIES[name]
    problem = refused(importer, damage(bundle))
    assert problem["errors"] == [{"pointer": "/history.jsonl", "detail": sentence}]


def test_problem_says_what_to_do_instead(importer: httpx.Client, bundle: bytes) -> None:
    assert refused(importer, ARCHIVES["a comment"][0](bundle))["detail"] == (
        "The bundle cannot be imported. It is no zip archive, or has a comment at its end. "
        "Nothing of it was stored. Send the file as it was exported, or pack its files again with "
        "a zip program, compressed with deflate or not at all, with no password, no comment and no "
        "folder around them."
    )


def test_flipped_bit_in_any_member_is_found(importer: httpx.Client, bundle: bytes) -> None:
    for name, data in members_of(bundle).items():
        middle = bundle.index(data) + len(data) // 2
        patch = patched(bundle, middle, bytes([bundle[middle] ^ 1]))
        flipped = bundled({**members_of(bundle), name: bytes([data[0] ^ 1]) + data[1:]})
        problems = [refused(importer, damaged) for damaged in (patch, flipped)]
        assert [problem["code"] for problem in problems] == ["invalid-bundle"] * 2


def without(name: str) -> Callable[[Members], Members]:
    return lambda members: {key: data for key, data in members.items() if key != name}


def in_manifest(**changes: object) -> Callable[[Members], Members]:
    def change(members: Members) -> Members:
        manifest = {**json.loads(members["manifest.json"]), **changes}
        text = json.dumps(manifest, separators=(",", ":")).encode()
        return {**members, "manifest.json": text}

    return change


def in_session(**changes: object) -> Callable[[Members], Members]:
    def change(members: Members) -> Members:
        session = json.loads(members["manifest.json"])["session"]
        return in_manifest(session={**session, **changes})(members)

    return change


def moved_frontier(*seqs: int) -> dict[str, object]:
    moves = [{"seq": seq, "tool_media": 1} for seq in seqs]
    return {"name": "main", "through": [1, 0, 0, 0, 0], "orphans": [], "sent": "", "moves": moves}


def manifest_of(text: bytes) -> Callable[[Members], Members]:
    return lambda members: {**members, "manifest.json": text}


def in_line(
    file: str, number: int, change: Callable[[Line], object]
) -> Callable[[Members], Members]:
    """Return a change to a line of a file that keeps the manifest consistent."""

    def changed(members: Members) -> Members:
        lines = members[f"{file}.jsonl"].splitlines()
        line = json.loads(lines[number])
        change(line)
        lines[number] = json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode()
        return with_manifest({**members, f"{file}.jsonl": b"\n".join(lines) + b"\n"})

    return changed


def in_text(file: str, old: bytes, new: bytes) -> Callable[[Members], Members]:
    def changed(members: Members) -> Members:
        text = members[f"{file}.jsonl"]
        assert old in text
        return with_manifest({**members, f"{file}.jsonl": text.replace(old, new, 1)})

    return changed


def put(*path: str | int, value: object) -> Callable[[Line], object]:
    def change(line: Line) -> None:
        *parents, last = path
        here: Any = line
        for step in parents:
            here = here[step]
        here[last] = value

    return change


def wrapped(role: str, **more: object) -> Callable[[Line], object]:
    """Return a change that wraps the message of a line, and moves its form."""

    def change(line: Line) -> None:
        envelope = {"dialect": line["dialect"], "role": role, "message": line["message"], **more}
        line |= {"role": role, "message": envelope}
        line["inline_form"] = line["inline_form"].replace('"/content', '"/message/content')

    return change


def with_prompt(
    place: int, *, prompt: str = '{"system":"x"}', dialect: str = "null"
) -> Callable[[Members], Members]:
    """Return a change that inserts a line with a prompt into the history."""

    def changed(members: Members) -> Members:
        lines = members["history.jsonl"].splitlines()
        line = f'{{"kind":"prompt","dialect":{dialect},"prompt":{prompt}}}'
        lines.insert(place, line.encode())
        return with_manifest({**members, "history.jsonl": b"\n".join(lines) + b"\n"})

    return changed


def foreign_blob(members: Members) -> Members:
    return with_manifest({**members, f"blobs/{sha256(b'x')}": b"x"})


def misnamed_blob(members: Members) -> Members:
    name = next(name for name in members if name.startswith("blobs/"))
    return with_manifest({**members, name: b"other bytes"})


def other_bytes(members: Members) -> Members:
    """Replace the bytes of a known id, with the digest of the descriptor."""
    lines = [json.loads(line) for line in members["resources.jsonl"].splitlines()]
    old = f"blobs/{lines[0]['digest']}"
    lines[0] |= {"digest": sha256(b"evil"), "size_bytes": 4}
    text = b"".join(json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in lines)
    kept = {name: data for name, data in members.items() if name != old}
    return with_manifest({**kept, "resources.jsonl": text, f"blobs/{sha256(b'evil')}": b"evil"})


def stray_resource(members: Members) -> Members:
    """Add a valid resource that nothing refers to."""
    first = json.loads(members["resources.jsonl"].splitlines()[0])
    stray = first | {"filename": "stray", "project": "p"}
    stray["id"] = derive_resource_id("p", stray["digest"], stray["mime_type"], "stray")
    lines = [json.loads(line) for line in members["resources.jsonl"].splitlines()] + [stray]
    lines.sort(key=lambda line: str(line["id"]))
    text = b"".join(json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in lines)
    return with_manifest({**members, "resources.jsonl": text})


def dropped_line(file: str, number: int) -> Callable[[Members], Members]:
    def changed(members: Members) -> Members:
        lines = members[f"{file}.jsonl"].splitlines(keepends=True)
        del lines[number]
        return with_manifest({**members, f"{file}.jsonl": b"".join(lines)})

    return changed


def doubled_line(file: str) -> Callable[[Members], Members]:
    return lambda members: with_manifest(
        {**members, f"{file}.jsonl": members[f"{file}.jsonl"].splitlines(keepends=True)[0] * 2}
    )


def doubled_alias(members: Members) -> Members:
    """Put the same alias on two lines."""
    for number in range(2):
        members = in_line("resources", number, put("aliases", value={"a": AT}))(members)
    return members


def rebound(resource_id: str | None) -> Callable[[Line], object]:
    """Return a change that binds the attachment of an interaction to another resource."""

    def change(line: Line) -> None:
        attached_id = line["input"]["parts"][0]["attachments"][0]["id"]
        line["bindings"] = {attached_id.removeprefix("blob:"): resource_id}

    return change


AT = "2026-01-01T00:00:00.000000Z"
RESULT, MESSAGE, FAULT, ASKED, ANSWER = range(5)
CONTENTS: dict[str, Callable[[Members], Members]] = {
    **{f"no {name}": without(name) for name in (*LINE_FILES, "manifest.json")},
    "another order in the manifest": lambda m: in_manifest(
        files=json.loads(m["manifest.json"])["files"][::-1]
    )(m),
    "a file twice in the manifest": lambda m: in_manifest(
        files=json.loads(m["manifest.json"])["files"] * 2
    )(m),
    "a zip in the place of the manifest": lambda m: {**m, "manifest.json": bundled(m)},
    "a huge manifest": manifest_of(b'{"format":"' + b"x" * 5_000_000 + b'"}'),
    "a deep manifest": manifest_of(b"[" * 500),
    "an empty manifest": manifest_of(b""),
    "an unknown format": in_manifest(format="other"),
    "an unknown version": in_manifest(version=5),
    "a version that is no number": in_manifest(version="1"),
    "a new member of the manifest": in_manifest(more=1),
    "no files in the manifest": in_manifest(files=[]),
    "a session id that is none": in_session(id="../x"),
    "a session id with an end of line": in_session(id="s-1\n"),
    "a long session id": in_session(id="s" * 129),
    "another last seq": in_session(last_seq=6),
    "a fork of more": in_session(forked_from={"session_id": "s", "up_to": 2**40}),
    "a fork of nothing": in_session(forked_from={"session_id": "", "up_to": 1}),
    "moves of a frontier in another order": in_session(frontiers=[moved_frontier(3, 2)]),
    "a move of a frontier twice": in_session(frontiers=[moved_frontier(2, 2)]),
    "a negative last seq": in_session(last_seq=-5),
    "a time that is none": in_session(created_at="yesterday"),
    "a time of another spelling": in_session(created_at="2026-01-01T00:00:00Z"),
    "a time before all": in_session(created_at="0001-01-01T00:00:00.000000Z"),
    "a seq above the next one": in_line("history", FAULT, put("seq", value=7)),
    "a seq of zero": in_line("history", RESULT, put("seq", value=0)),
    "a seq beyond all": in_line("history", RESULT, put("seq", value=10**30)),
    "an entry less": dropped_line("history", MESSAGE),
    "an answer less": dropped_line("history", ANSWER),
    "an interaction less": dropped_line("interactions", 0),
    "an interaction more": doubled_line("interactions"),
    "a page twice": doubled_line("pages"),
    "a resource twice": doubled_line("resources"),
    "an unknown kind": in_line("history", RESULT, put("kind", value="event")),
    "an id that is none": in_line("history", RESULT, put("id", value="x")),
    "the id of another": in_line("history", ASKED, put("id", value="0" * 8)),
    "no end of line": lambda m: with_manifest({**m, "history.jsonl": m["history.jsonl"][:-1]}),
    "an empty line": lambda m: with_manifest({**m, "pages.jsonl": m["pages.jsonl"] + b"\n"}),
    "blanks": in_text("history", b'"seq":1', b'"seq": 1'),
    "NaN": in_text("history", b'"success":true', b'"success":NaN'),
    "NaN inside": in_text("history", b'"sanitized":{', b'"sanitized":{"x":NaN,'),
    "a number too large": in_text("history", b'"sanitized":{', b'"sanitized":{"x":1e999,'),
    "half a pair": in_text("interactions", b'"text":"x"', b'"text":"\\ud800"'),
    "no UTF-8": in_text("interactions", b'"text":"x"', b'"text":"\xff"'),
    "deep JSON": in_text("history", b'"content":[', b'"content":[' + b"[" * 200_000),
    "deep whole JSON": in_text(
        "history", b'"content":[', b'"content":[' + b"[" * 20_000 + b"]" * 20_000 + b","
    ),
    "another call": in_line("history", RESULT, put("tool_name", value="other")),
    "another success": in_line("history", RESULT, put("success", value=False)),
    "no parts": in_line("history", RESULT, put("sanitized", "parts", value=[])),
    "a record with more": in_line("history", RESULT, put("sanitized", "more", value=1)),
    "a record of another size": in_line(
        "history", RESULT, put("sanitized", "resources", 0, "size", value=1)
    ),
    "a link to nothing": in_line(
        "history", RESULT, put("sanitized", "resources", 0, "uri", value="blob:" + "0" * 32)
    ),
    "a link less": in_line("history", RESULT, put("sanitized", "resources", value=[])),
    "a message that is a list": in_line("history", MESSAGE, put("message", value=[])),
    "a message of no role": in_line("history", MESSAGE, put("message", "role", value="x")),
    "a message with a seq": in_line("history", MESSAGE, put("message", "seq", value=1)),
    "a prompt behind an entry": with_prompt(1),
    "two prompts": lambda members: with_prompt(0)(with_prompt(0)(members)),
    "a prompt that is a list": with_prompt(0, prompt="[]"),
    "a prompt with spaces": with_prompt(0, prompt='{"system": "x"}'),
    "a prompt of no dialect": with_prompt(0, dialect='"morse"'),
    "a message of no dialect": in_line("history", MESSAGE, put("dialect", value="morse")),
    "a message read some day": in_line("history", MESSAGE, put("reading", value=99)),
    "a dialect without a reading": in_line("history", MESSAGE, put("reading", value=None)),
    "a role around nothing": in_line("history", MESSAGE, put("role", value="user")),
    "a role of nobody": in_line("history", MESSAGE, put("role", value="narrator")),
    "a wrapped message of another role": in_line("history", MESSAGE, wrapped("assistant")),
    "a wrapped message beside something": in_line("history", MESSAGE, wrapped("user", more=1)),
    "a wrapped message of another dialect": in_line(
        "history", MESSAGE, wrapped("user", dialect="mcp")
    ),
    "a message that answers": in_line("history", MESSAGE, put("tool_call_id", value="c")),
    "a form of nothing": in_line("history", MESSAGE, put("inline_form", value="{}")),
    "a form that is none": in_line("history", MESSAGE, put("inline_form", value="[")),
    "a form somewhere else": in_text("history", b"/content/0/url", b"/content/9/url"),
    "a form of a negative index": in_text("history", b"/content/0/url", b"/content/-2/url"),
    "a form of an index with two digits": in_text("history", b"/content/0/url", b"/content/00/url"),
    "a form on a list": in_text("history", b"/content/0/url", b"/content"),
    "a form on a word": in_text("history", b"/content/0/url", b"/content/x/url"),
    "a fault with a picture of nothing": in_line(
        "history", FAULT, put("message", "content", 1, "image_url", "url", value="@blob:x")
    ),
    "a fault with half a picture": in_line(
        "history", FAULT, put("message", "content", 1, "image_url", value=None)
    ),
    "a fault of no blocks": in_line("history", FAULT, put("message", "content", value=[1])),
    "a fault of nothing": in_line("history", FAULT, put("message", "content", value=None)),
    "a fault of a page that is none": in_line(
        "history",
        FAULT,
        put("page_fault", value='{"page_id":"a/b","target_level":0,"mime_type":null}'),
    ),
    "a fault of a level that is none": in_line(
        "history",
        FAULT,
        put("page_fault", value='{"page_id":"p","target_level":4,"mime_type":null}'),
    ),
    "a fault of something else": in_line("history", FAULT, put("page_fault", value="[1]")),
    "a fault with spaces": in_line(
        "history",
        FAULT,
        put("page_fault", value='{"page_id": "p","target_level":0,"mime_type":null}'),
    ),
    "a fault with more": in_line("history", FAULT, put("message", "more", value=1)),
    "an input of another kind": in_line("interactions", 0, put("input_kind", value="dict")),
    "an attachment that is none": in_line(
        "interactions", 0, put("input", "parts", 0, "attachments", 0, "id", value="x")
    ),
    "an answer that is none": in_line("interactions", 0, put("output", value={"role": "x"})),
    "no answer": in_line("interactions", 0, put("output", value=None)),
    "an answer before": in_line("interactions", 0, put("answer_seq", value=1)),
    "half an answer": in_line("interactions", 0, put("answered_at", value=None)),
    "a time of no kind": in_line("interactions", 0, put("timestamp", value="x")),
    "a page of another session": in_line("pages", 0, put("descriptor", "session_id", value="s-2")),
    "a page with another hint": in_line("pages", 0, put("descriptor", "hint", value="evil")),
    "a page of another version": in_line("pages", 0, put("version", value=9)),
    "a page of another modality": in_line("pages", 0, put("descriptor", "modality", value="x")),
    "a page without a field": in_line("pages", 0, lambda line: line["descriptor"].pop("hint")),
    "a page that is a list": in_line("pages", 0, put("descriptor", value=[])),
    "a page id that is taken": in_line("pages", 0, put("page_id", value="search")),
    "a page of other content": in_line("pages", 0, put("content", value="@blob:" + "0" * 32)),
    "a page of data": in_line("pages", 1, put("content", value={"a": 1})),
    "a body of another kind": in_line("pages", 1, put("body", "kind", value="json")),
    "a body of no kind": in_line("pages", 1, put("body", "kind", value="x")),
    "a body without a kind": in_line("pages", 1, lambda line: line["body"].pop("kind")),
    "a medium of another size": in_line("pages", 0, put("body", "media", "size_bytes", value=1)),
    "a digest that is not its own": in_line("pages", 0, put("digest", value="0" * 64)),
    "a level that is none": in_line("pages", 0, put("levels", 0, "level", value=0)),
    "a level twice": in_line("pages", 0, put("levels", 0, "level", value=2)),
    "a level of no kind": in_line("pages", 1, put("levels", 0, "body", "kind", value="x")),
    "a level that is a number": in_line("pages", 1, put("levels", 0, "body", "value", value=1)),
    "half a counter": in_line("pages", 0, put("access_count", value=0)),
    "a file it cannot have": in_line("pages", 1, put("fetched_resource_id", value="0" * 32)),
    "a forged id": in_line("resources", 0, put("id", value="0" * 32)),
    "another project": in_line("resources", 0, put("project", value="other")),
    "another name": in_line("resources", 0, put("filename", value="evil.html")),
    "another type": in_line("resources", 0, put("mime_type", value="text/html")),
    "another size": in_line("resources", 0, put("size_bytes", value=7)),
    "another kind of resource": in_line("resources", 0, put("kind", value="video")),
    "a picture of no width": in_line("resources", 0, put("width", value=-1)),
    "a resource less": dropped_line("resources", 0),
    "a resource nobody uses": stray_resource,
    "a blob nobody uses": foreign_blob,
    "a blob of another name": misnamed_blob,
    "other bytes under a known id": other_bytes,
    **{
        f"{what} of a resource": in_line("resources", 0, put("aliases", value=aliases))
        for what, aliases in {
            "an alias like an id": {"0" * 32: AT},
            "an alias like a URI": {"blob:x": AT},
            "an alias with a slash": {"a/b": AT},
            "an alias of no time": {"a": "x"},
            "aliases in another order": {"b": AT, "a": AT},
            "too many aliases": {f"a-{number:04}": AT for number in range(1_001)},
            "written absence of aliases": {},
        }.items()
    },
    "an alias of two resources": doubled_alias,
    "a binding of nothing": in_line("interactions", 0, put("bindings", value={"doc-1": None})),
    "a binding of an id to another": in_line("interactions", 0, rebound("0" * 32)),
    "a binding to what is not there": in_line(
        "interactions",
        0,
        lambda line: (
            put("input", "parts", 0, "attachments", 0, "id", value="doc-1")(line),
            put("bindings", value={"doc-1": "0" * 32})(line),
        ),
    ),
}


@pytest.mark.slow
@pytest.mark.engines("embedded")
@pytest.mark.parametrize("name", CONTENTS)
def test_content_that_is_not_ours_is_refused_though_every_digest_is_right(
    importer: httpx.Client, bundle: bytes, name: str
) -> None:
    members = members_of(bundle)
    damaged = CONTENTS[name](dict(members))
    assert damaged != members or list(damaged) != list(members)
    refused(importer, bundled(damaged))


def test_fault_says_in_which_file_and_line(importer: httpx.Client, bundle: bytes) -> None:
    damaged = CONTENTS["a seq above the next one"](members_of(bundle))
    problem = refused(importer, bundled(damaged))
    assert problem["errors"] == [
        {
            "pointer": "/history.jsonl/4",
            "detail": "does not have a number above that of the line before",
        }
    ]


LARGEST = 2**53 - 2**32


@pytest.mark.promise(
    "security.md#the-database",
    "An imported bundle sets no number so high that its session would pass 2^53",
    kept_by="packages/bundles/src/pagefault_bundles/line_types.py",
    tried="4 places",
)
@pytest.mark.parametrize(
    ("place", "change"),
    [
        ("/manifest.json", in_session(last_seq=LARGEST + 1)),
        ("/history.jsonl/5", in_line("history", ANSWER, put("seq", value=LARGEST + 1))),
        ("/pages.jsonl/1", in_line("pages", 0, put("access_count", value=LARGEST + 1))),
        ("/pages.jsonl/1", in_line("pages", 0, put("version", value=LARGEST + 1))),
    ],
)
def test_number_that_leaves_too_few_above_it_is_refused(
    importer: httpx.Client, bundle: bytes, place: str, change: Callable[[Members], Members]
) -> None:
    """Above 2^53, readers of JSON that have doubles only confuse two numbers."""
    assert refused(importer, bundled(change(members_of(bundle))))["errors"] == [
        {
            "pointer": place,
            "detail": f"has a number above {LARGEST} (2^53 - 2^32), which leaves too few for what "
            "follows",
        }
    ]


@pytest.mark.promise(
    "security.md#the-database",
    "The largest numbers and the last dates that a bundle may set break nothing",
    kept_by="packages/bundles/src/pagefault_bundles/line_types.py",
    tried="2^53 - 2^32, the year 9999",
)
def test_session_with_the_largest_numbers_of_all_goes_on_and_out_again(
    service: LiveService, bundle: bytes
) -> None:
    """Its times are the last that exist, so computations on them would overflow first."""
    last = "9999-12-31T23:59:59.999999Z"
    largest = in_session(last_seq=LARGEST, created_at=last, updated_at=last)
    for number in (RESULT, MESSAGE, FAULT):
        largest = then(largest, in_line("history", number, put("created_at", value=last)))
    for change in (
        in_line("interactions", 0, put("created_at", value=last)),
        in_line("interactions", 0, put("answered_at", value=last)),
        in_line("pages", 0, put("last_accessed", value=last)),
        in_line("resources", 0, put("created_at", value=last)),
    ):
        largest = then(largest, change)
    changed = bundled(largest(members_of(bundle)))
    with service.client() as client:
        created = take_in(client, changed)
        assert (created.status_code, created.json()["lastSeq"]) == (201, LARGEST)
        assert export(client) == changed
        for path in ("", "/messages", "/interactions", "/render?target=anthropic"):
            assert client.get(f"/api/sessions/{SESSION}{path}").status_code == 200
        for path in ("/api/sessions", "/api/pages", "/api/resources", "/api/tool-results"):
            first = client.get(path, params={"limit": 1})
            assert first.status_code == 200
            assert "next" not in first.links or client.get(first.links["next"]["url"]).is_success
        for resource in listed(client, "/api/resources"):
            assert client.get(f"/api/resources/{resource['uri']}/content").status_code == 200
        appended = client.post(
            f"/api/sessions/{SESSION}/messages", json={"role": "user", "content": "more"}
        )
        assert (appended.status_code, appended.json()["seq"]) == (201, LARGEST + 1)


def then(
    first: Callable[[Members], Members], second: Callable[[Members], Members]
) -> Callable[[Members], Members]:
    return lambda members: second(first(members))


@pytest.mark.slow
@pytest.mark.engines("embedded")
def test_any_damage_to_the_bytes_is_found_or_changes_nothing(
    importer: httpx.Client, bundle: bytes
) -> None:
    @hypothesis.settings(max_examples=60, suppress_health_check=[hypothesis.HealthCheck.too_slow])
    @hypothesis.given(data=st.data())
    def damage(data: st.DataObject) -> None:
        end = data.draw(st.integers(0, len(bundle)))
        damaged = bytearray(bundle[: end if data.draw(st.booleans()) else None])
        places = st.lists(st.integers(0, max(0, len(damaged) - 1)), max_size=3)
        for place in data.draw(places) if damaged else ():
            damaged[place] ^= data.draw(st.integers(1, 255))
        answer = take_in(importer, bytes(damaged))
        if answer.status_code == 201:
            # Bytes that no reader checks: the time of a member, or its attributes.
            assert export(importer) == bundle
            assert importer.delete(f"/api/sessions/{SESSION}").status_code == 200
        else:
            assert answer.status_code == 422

    damage()
    assert stored(importer) == []


def test_session_of_a_refused_bundle_is_free(service: LiveService, bundle: bytes) -> None:
    with service.client() as client:
        refused(client, bundle[:-1])
        assert take_in(client, bundle).status_code == 201
        assert client.get(f"/api/sessions/{SESSION}").json()["lastSeq"] == 7
