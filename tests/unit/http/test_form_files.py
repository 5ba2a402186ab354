"""Forms: the one file in them, wherever the body is cut into chunks."""

from collections.abc import AsyncIterator
from itertools import pairwise

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import MalformedRequestError
from app.http.form_files import read_form_file
from pagefault_dialects.errors import InvalidPayloadError
from pagefault_dialects.media.file_names import disposition_filename

CONTENT_TYPE = "multipart/form-data; boundary=cut"


def part(disposition: str, content: bytes, *headers: str) -> bytes:
    lines = [f"Content-Disposition: {disposition}", *headers]
    return b"--cut\r\n" + "\r\n".join(lines).encode() + b"\r\n\r\n" + content + b"\r\n"


def form(*parts: bytes) -> bytes:
    return b"".join(parts) + b"--cut--\r\n"


def read(body: bytes, *cuts: int) -> tuple[str | None, str | None, bytes]:
    async def chunks() -> AsyncIterator[bytes]:
        edges = [0, *sorted(cuts), len(body)]
        for start, end in pairwise(edges):
            yield body[start:end]

    async def whole() -> tuple[str | None, str | None, bytes]:
        file = await read_form_file(CONTENT_TYPE, chunks())
        return file.filename, file.mime_type, b"".join([piece async for piece in file.chunks])

    return anyio.run(whole)


FILE = part(
    'form-data; name="file"; filename="a.png"', b"\r\n--cu\x00--cut", "Content-Type: image/png"
)
FIELD = part('form-data; name="file-name"', b"not a file")


@given(cuts=st.lists(st.integers(0, len(form(FIELD, FILE, FIELD))), max_size=12))
def test_file_is_the_same_wherever_the_body_is_cut(cuts: list[int]) -> None:
    assert read(form(FIELD, FILE, FIELD), *cuts) == ("a.png", "image/png", b"\r\n--cu\x00--cut")


def test_parameter_names_are_case_insensitive() -> None:
    body = form(part('form-data; NAME="file"; FILENAME="q.png"', b"x"))
    assert read(body) == ("q.png", None, b"x")


def test_file_without_a_name_is_a_file() -> None:
    assert read(form(part('form-data; name="file"; filename=""', b"x"))) == ("", None, b"x")


@pytest.mark.parametrize("body", [form(), form(FIELD), form(FILE, FILE)])
def test_form_without_exactly_one_file_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidPayloadError):
        read(body)


@pytest.mark.parametrize("name", ["alias", "filename"])
@pytest.mark.parametrize("is_first", [True, False])
def test_field_for_what_the_query_says_is_refused(name: str, *, is_first: bool) -> None:
    field = part(f'form-data; name="{name}"', b"doc-1")
    with pytest.raises(InvalidPayloadError, match="send it in the query"):
        read(form(field, FILE) if is_first else form(FILE, field), 3, 90)


@pytest.mark.parametrize("body", [b"", b"no form", FILE, FILE[:40]])
def test_body_that_is_no_whole_form_is_refused(body: bytes) -> None:
    with pytest.raises((MalformedRequestError, InvalidPayloadError)):
        read(body)


@pytest.mark.parametrize(
    ("header", "filename"),
    [
        ("", None),
        ("attachment", None),
        ('attachment; name="filename"', None),
        ('attachment; filename="a b.txt"', "a b.txt"),
        ("attachment; filename=a.txt", "a.txt"),
        ("attachment; filename=\"e.txt\"; filename*=UTF-8''%C3%A9.txt", "é.txt"),
        ("attachment; filename*=UTF-8''%C3%A9.txt; filename=\"e.txt\"", "é.txt"),
        ('attachment; filename="é.txt"'.encode().decode("latin-1"), "é.txt"),
        ("attachment; filename*=nonsense''%ZZ", "%ZZ"),
    ],
)
def test_name_is_read_from_a_content_disposition(header: str, filename: str | None) -> None:
    assert disposition_filename(header) == filename
