"""Headers and ids of uploads that mean nothing: refused with a problem, and nothing is done."""

import httpx
import pytest

from tests.contract.upload_requests import (
    ABSENT,
    PIECE,
    ROUTE,
    TUS,
    begin,
    offset_of,
    pair,
    send,
)
from tests.kit.media import b64

pytestmark = pytest.mark.engines("embedded")

NUMBERS = (
    "",
    "-1",
    "+1",
    "1.0",
    "1e3",
    "0x1",
    "\u0661",
    "\u00b2",
    "1 1",
    "1,1",
    "nan",
    "9" * 9_000,
)
METADATA = (
    ",",
    "filename",
    "filename ,a",
    "filename !",
    "filename AAA",
    "filename AA==AA==",
    "filename  AAAA",
    "filename AAAA AAAA",
    ", AAAA",
    "a AAAA,a AAAA",
    pair("filename", b"\xff"),
    pair("type", b"\xed\xa0\x80"),
    pair("filename", b"\0/../\r\n"),
    pair("filetype", b"no/such\0"),
    "\u00e9 AAAA",
    "a" * 5_000,
    "a AAAA," * 800,
)
_READABLE_METADATA = {"filename", "filename ,a", METADATA[12], METADATA[13]}


@pytest.mark.parametrize("value", METADATA, ids=range(len(METADATA)))
def test_metadata_that_cannot_be_read_is_refused(client: httpx.Client, value: str) -> None:
    headers = [(b"Tus-Resumable", b"1.0.0"), (b"Upload-Length", b"3")]
    created = client.post(ROUTE, headers=[*headers, (b"Upload-Metadata", value.encode())])
    assert created.status_code == (201 if value in _READABLE_METADATA else 400)
    if created.status_code == 201:
        path = created.headers["location"]
        assert client.head(path, headers=TUS).headers["upload-metadata"] == value.strip()
        uri = send(client, path, 0, b"abc").headers["upload-resource"]
        descriptor = client.get(f"/api/resources/{uri}").json()
        assert descriptor.get("filename", "x").isprintable()
        assert descriptor["mimeType"] in ("application/octet-stream", "text/plain")


@pytest.mark.parametrize("value", NUMBERS, ids=range(len(NUMBERS)))
def test_number_that_is_none_is_refused(client: httpx.Client, value: str) -> None:
    path = begin(client, 3)
    number = value.encode()
    piece = [(name.encode(), text.encode()) for name, text in PIECE.items()]
    answers = [
        client.post(ROUTE, headers=[piece[0], (b"Upload-Length", number)]),
        client.post(ROUTE, headers=[piece[0], *[(b"Upload-Length", b"3")] * 2]),
        client.patch(path, content=b"abc", headers=[*piece, (b"Upload-Offset", number)]),
        client.patch(path, content=b"abc", headers=[*piece, *[(b"Upload-Offset", b"0")] * 2]),
    ]
    statuses = [answer.status_code for answer in answers]
    assert statuses == ([413, 400, 409, 400] if value.startswith("99") else [400] * 4)
    assert offset_of(client, path) == 0


@pytest.mark.parametrize(
    "name",
    ["%00", "x" * 300, "..%2f..%2fetc", ABSENT.upper(), ABSENT + "%00", "%ff", "{id}", "' --"],
)
def test_id_that_is_none_is_absent(client: httpx.Client, name: str) -> None:
    path = f"{ROUTE}/{name}"
    absent = [client.get(f"{ROUTE}/{ABSENT}"), client.get(path)]
    answers = [client.head(path, headers=TUS), send(client, path, 0, b"abc")]
    answers.append(client.delete(path, headers=TUS))
    assert [answer.status_code for answer in (*absent, *answers)] == [404] * 5
    assert absent[0].json()["detail"] == absent[1].json().get("detail") or "%2f" in name


@pytest.mark.parametrize(
    "value",
    [
        "",
        "sha256",
        "sha256 !",
        "sha256 AAAA",
        "crc32 AAAA",
        "SHA256 " + b64(bytes(32)),
        "sha256  " + b64(bytes(32)),
        "sha1 " + b64(bytes(32)),
        "sha256 " + b64(bytes(32)) + ", sha256 " + b64(bytes(32)),
        "sha256 \u00e9",
        "sha256 " + "A" * 4_000,
    ],
)
def test_checksum_that_cannot_be_verified_is_refused(client: httpx.Client, value: str) -> None:
    path = begin(client, 3)
    headers = {**{k.encode(): v.encode() for k, v in PIECE.items()}, b"Upload-Offset": b"0"}
    answer = client.patch(
        path, content=b"abc", headers={**headers, b"Upload-Checksum": value.encode()}
    )
    assert (answer.status_code, answer.json()["code"]) == (400, "malformed-request")
    assert offset_of(client, path) == 0
