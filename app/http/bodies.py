"""Request bodies as they arrive: counted, paced, and never longer than the limit.

Of a multipart form, its one file is a stream as well, and at no time more than a chunk of it is
there.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.requests import Request

from app.errors import MalformedRequestError, SlowBodyError, UnsupportedMediaError
from app.http.conditions import whole_number
from app.models.limits import Limits
from pagefault_dialects.errors import Fault, InvalidPayloadError, PayloadTooLargeError
from pagefault_dialects.json.values import JsonValue, parse_repaired_json
from pagefault_dialects.media.file_names import disposition_filename

if TYPE_CHECKING:
    # It knows the records of keys, which a proxy does not load.
    from app.services.quotas.key_quotas import Allowance

# What a sweep has removed is remembered for longer, so a row is never written without its blob.
_LONGEST_SECONDS = 24 * 3600.0
_SMALL_BODY_BYTES = 64 * 1024
_SMALL_BODY_DEPTH = 64
_LARGEST_HEADERS_BYTES = 16 * 1024
_MOST_PARTS = 100
_IN_QUERY = ("alias", "filename")
_LARGEST_FIELDS_BYTES = 1024 * 1024


async def limited_body(
    request: Request, limits: Limits, *, in_pieces: bool = False
) -> AsyncIterator[bytes]:
    """Yield the body's chunks.

    Args:
        request: Whose body it is.
        limits: How long it may be, and how slow.
        in_pieces: Whether what has come is kept although the request is refused.

    Raises:
        PayloadTooLargeError: It is, or is announced to be, longer than `limits.body_bytes`; known
            before the byte too many is handed on.
        SlowBodyError: It pauses too long, falls below the pace it must keep after its grace, or
            takes more than a day.
        UnsupportedMediaError: It is compressed.
        QuotaExceededError: The key has sent too many bytes in a day.
    """
    if request.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise UnsupportedMediaError(
            "Bodies are taken as they are: send it without a Content-Encoding."
        )
    announced = request.headers.get("content-length", "")
    size_bytes = whole_number(announced) if announced.isdigit() else None
    if size_bytes is not None and size_bytes > limits.body_bytes:
        raise _too_large(limits)
    received = 0
    started = time.monotonic()
    allowance: Allowance | None = request.scope["state"].get("allowance")
    chunks = request.stream()
    if allowance is not None:
        chunks = allowance.metered(chunks, announced=size_bytes, in_pieces=in_pieces)
    while True:
        chunk = await _next_chunk(chunks, limits.body_idle_seconds)
        if chunk is None:
            return
        received += len(chunk)
        if received > limits.body_bytes:
            raise _too_large(limits)
        elapsed = time.monotonic() - started - limits.body_grace_seconds
        if elapsed > _LONGEST_SECONDS:
            raise SlowBodyError
        if elapsed > 0 and received < elapsed * limits.body_bytes_per_second:
            raise SlowBodyError
        yield chunk
        if received == size_bytes and allowance is None:
            # What the server would say next is that this was all.
            await chunks.aclose()
            return


async def _next_chunk(chunks: AsyncIterator[bytes], idle_seconds: float) -> bytes | None:
    try:
        # A cancel scope of anyio's would take longer than most chunks do.
        async with asyncio.timeout(idle_seconds):
            return await anext(chunks, None)
    except TimeoutError as exc:
        raise SlowBodyError from exc


def _too_large(limits: Limits) -> PayloadTooLargeError:
    return PayloadTooLargeError(
        f"A request body may have {limits.body_bytes} bytes at most. Nothing was stored."
    )


def require_json(request: Request) -> None:
    """Refuse a body that is not declared as JSON.

    Asking for the type keeps other sites' pages from posting without a preflight.

    Raises:
        UnsupportedMediaError: The Content-Type is not JSON.
    """
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type != "application/json" and not content_type.endswith("+json"):
        raise UnsupportedMediaError("Send the body with `Content-Type: application/json`.")


async def read_small_json(request: Request, limits: Limits) -> JsonValue:
    """Return the value of a small JSON body; an empty body, or null, is an empty object.

    The framework's own way would read a body of any length, and takes NaN for a number.

    Raises:
        PayloadTooLargeError: It is longer than 64 KiB, or nested too deep.
        InvalidJsonError: It is not JSON.
    """
    small = limits.model_copy(update={"body_bytes": min(limits.body_bytes, _SMALL_BODY_BYTES)})
    body = b"".join([chunk async for chunk in limited_body(request, small)])
    if body:
        require_json(request)
    value = parse_repaired_json(
        body or b"{}", max_depth=_SMALL_BODY_DEPTH, max_nodes=limits.json_nodes
    )
    return {} if value is None else value


@dataclass(slots=True)
class FormFile:
    """The file part of a form: its headers, and its bytes as they arrive."""

    filename: str | None
    mime_type: str | None
    chunks: AsyncIterator[bytes]


@dataclass(slots=True)
class _Form:
    """What the parser's callbacks leave behind between two chunks."""

    headers: dict[str, str] = field(default_factory=dict)
    name: bytearray = field(default_factory=bytearray)
    value: bytearray = field(default_factory=bytearray)
    pending: list[bytes] = field(default_factory=list)
    file_headers: dict[str, str] | None = None
    in_file: bool = False
    files: int = 0
    parts: int = 0
    field_bytes: int = 0
    ended: bool = False

    def part_begin(self) -> None:
        self.headers = {}
        self.in_file = False
        self.parts += 1
        if self.parts > _MOST_PARTS:
            raise _too_much_beside(f"more than {_MOST_PARTS} parts")

    def header_field(self, data: bytes, start: int, end: int) -> None:
        self.name += data[start:end]
        self._check_headers()

    def header_value(self, data: bytes, start: int, end: int) -> None:
        self.value += data[start:end]
        self._check_headers()

    def header_end(self) -> None:
        self.headers[self.name.decode("latin-1").lower()] = self.value.decode("latin-1")
        self.name.clear()
        self.value.clear()

    def headers_finished(self) -> None:
        disposition = self.headers.get("content-disposition", "")
        if disposition_filename(disposition) is None:
            _check_field(disposition)
            return
        self.files += 1
        self.in_file = True
        if self.file_headers is None:
            self.file_headers = self.headers

    def part_data(self, data: bytes, start: int, end: int) -> None:
        if self.in_file:
            self.pending.append(data[start:end])
            return
        self.field_bytes += end - start
        if self.field_bytes > _LARGEST_FIELDS_BYTES:
            raise _too_much_beside(f"more than {_LARGEST_FIELDS_BYTES} bytes beside its file")

    def end(self) -> None:
        self.ended = True

    def _check_headers(self) -> None:
        if len(self.name) + len(self.value) + len(self.headers) * 64 > _LARGEST_HEADERS_BYTES:
            raise MalformedRequestError("The headers of a part of the form are too long.")


def _check_field(disposition: str) -> None:
    """Refuse a field that says what the query says; all others are passed over.

    It may come behind the file, when what it says is no longer of use.
    """
    name = parse_options_header(disposition)[1].get(b"name", b"").decode("latin-1")
    if name in _IN_QUERY:
        raise InvalidPayloadError(
            f"`{name}` is not read from a field of the form: send it in the query, as in "
            f"`POST /api/resources?{name}=…`. Nothing was stored.",
            faults=[Fault("", f"has a field `{name}`, which belongs in the query")],
        )


def _too_much_beside(has: str) -> PayloadTooLargeError:
    return PayloadTooLargeError(f"The form has {has}. Send the file alone: nothing else is kept.")


async def form_file(content_type: str, chunks: AsyncIterator[bytes]) -> FormFile:
    """Return the only file of a multipart form.

    Args:
        content_type: The request's Content-Type with its boundary.
        chunks: The request's body; it is read as the file's chunks are.

    Raises:
        MalformedRequestError: Not a multipart form.
        InvalidPayloadError: There is no file in it; while streaming: there is more than one. Also
            at any time: there is a field for what is sent in the query.
        PayloadTooLargeError: There is too much beside the file; also while streaming.
    """
    _, options = parse_options_header(content_type)
    boundary = options.get(b"boundary")
    if not boundary:
        raise MalformedRequestError("The multipart Content-Type names no boundary.")
    form = _Form()
    parser = _parser(boundary, form)
    async for chunk in chunks:
        _feed(parser, chunk)
        if form.file_headers is not None:
            break
    if form.file_headers is None:
        raise InvalidPayloadError(
            "The form has no file. Send one as a part with a filename, for example "
            "`curl -F file=@picture.png`."
        )
    return FormFile(
        disposition_filename(form.file_headers.get("content-disposition", "")),
        form.file_headers.get("content-type"),
        _file_chunks(parser, form, chunks),
    )


async def _file_chunks(
    parser: MultipartParser, form: _Form, chunks: AsyncIterator[bytes]
) -> AsyncIterator[bytes]:
    while True:
        if form.files > 1:
            raise InvalidPayloadError("The form has several files. Send each in its own request.")
        for piece in form.pending:
            yield piece
        form.pending.clear()
        chunk = await anext(chunks, None)
        if chunk is None:
            break
        _feed(parser, chunk)
    if not form.ended:
        raise MalformedRequestError("The multipart form is cut off before its end.")


def _parser(boundary: bytes, form: _Form) -> MultipartParser:
    try:
        return MultipartParser(
            boundary,
            {
                "on_part_begin": form.part_begin,
                "on_header_field": form.header_field,
                "on_header_value": form.header_value,
                "on_header_end": form.header_end,
                "on_headers_finished": form.headers_finished,
                "on_part_data": form.part_data,
                "on_end": form.end,
            },
        )
    except FormParserError as exc:
        raise MalformedRequestError("The multipart boundary is not a valid one.") from exc


def _feed(parser: MultipartParser, chunk: bytes) -> None:
    try:
        parser.write(chunk)
    except FormParserError as exc:
        raise MalformedRequestError("The body is not a multipart form.") from exc
