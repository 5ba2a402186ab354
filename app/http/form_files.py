"""Read the only file of a multipart form as a stream, with one chunk in memory."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from app.errors import MalformedRequestError
from pagefault_dialects.errors import Fault, InvalidPayloadError, PayloadTooLargeError
from pagefault_dialects.media.file_names import disposition_filename

_MAX_HEADER_BYTES = 16 * 1024
_MAX_PARTS = 100
_QUERY_PARAMETERS = ("alias", "filename")
_MAX_FIELD_BYTES = 1024 * 1024


@dataclass(slots=True)
class FormFile:
    """The file in a form: its name and type, and its bytes as they arrive."""

    filename: str | None
    mime_type: str | None
    chunks: AsyncIterator[bytes]


@dataclass(slots=True)
class _Form:
    """The state of a form that is being parsed.

    For each part of the form, the parser calls the methods in the order of their definition.
    """

    headers: dict[str, str] = field(default_factory=dict)
    """The headers of the current part, by lower-case name."""
    name: bytearray = field(default_factory=bytearray)
    """The name of the current header, which may arrive in several pieces, like its value."""
    value: bytearray = field(default_factory=bytearray)
    pending: list[bytes] = field(default_factory=list)
    """The bytes of the file that were parsed and not yet yielded."""
    file_headers: dict[str, str] | None = None
    """The headers of the first file; `None` before it has begun."""
    is_in_file: bool = False
    file_count: int = 0
    part_count: int = 0
    field_bytes: int = 0
    is_complete: bool = False

    def part_begin(self) -> None:
        self.headers = {}
        self.is_in_file = False
        self.part_count += 1
        if self.part_count > _MAX_PARTS:
            raise _build_form_too_large_error(f"more than {_MAX_PARTS} parts")

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
        self.file_count += 1
        self.is_in_file = True
        if self.file_headers is None:
            self.file_headers = self.headers

    def part_data(self, data: bytes, start: int, end: int) -> None:
        if self.is_in_file:
            self.pending.append(data[start:end])
            return
        self.field_bytes += end - start
        if self.field_bytes > _MAX_FIELD_BYTES:
            raise _build_form_too_large_error(f"more than {_MAX_FIELD_BYTES} bytes beside its file")

    def end(self) -> None:
        self.is_complete = True

    def _check_headers(self) -> None:
        if len(self.name) + len(self.value) + len(self.headers) * 64 > _MAX_HEADER_BYTES:
            raise MalformedRequestError("The headers of a part of the form are too long.")


def _check_field(disposition: str) -> None:
    """Raise InvalidPayloadError if a field has the name of a query parameter; ignore other fields.

    Such a field cannot replace the parameter, because it may arrive after the file.
    """
    name = parse_options_header(disposition)[1].get(b"name", b"").decode("latin-1")
    if name in _QUERY_PARAMETERS:
        raise InvalidPayloadError(
            f"`{name}` is not read from a field of the form: send it in the query, as in "
            f"`POST /api/resources?{name}=…`. Nothing was stored.",
            faults=[Fault("", f"has a field `{name}`, which belongs in the query")],
        )


def _build_form_too_large_error(excess: str) -> PayloadTooLargeError:
    return PayloadTooLargeError(
        f"The form has {excess}. Send the file alone: nothing else is kept."
    )


async def read_form_file(content_type: str, chunks: AsyncIterator[bytes]) -> FormFile:
    """Read a multipart form up to the beginning of its only file, and return the file.

    The chunks of the returned file read the rest of the form, and raise the same errors.

    Args:
        content_type: The request's Content-Type with its boundary.
        chunks: The request's body.

    Raises:
        MalformedRequestError: The body is not a multipart form.
        InvalidPayloadError: The form has no file, several files, or a field with the name of a
            query parameter.
        PayloadTooLargeError: The other fields are too large.
    """
    _, options = parse_options_header(content_type)
    boundary = options.get(b"boundary")
    if not boundary:
        raise MalformedRequestError("The multipart Content-Type names no boundary.")
    form = _Form()
    parser = _create_parser(boundary, form)
    async for chunk in chunks:
        _parse_chunk(parser, chunk)
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
        _read_file_chunks(parser, form, chunks),
    )


async def _read_file_chunks(
    parser: MultipartParser, form: _Form, chunks: AsyncIterator[bytes]
) -> AsyncIterator[bytes]:
    while True:
        if form.file_count > 1:
            raise InvalidPayloadError("The form has several files. Send each in its own request.")
        for piece in form.pending:
            yield piece
        form.pending.clear()
        chunk = await anext(chunks, None)
        if chunk is None:
            break
        _parse_chunk(parser, chunk)
    if not form.is_complete:
        raise MalformedRequestError("The multipart form is cut off before its end.")


def _create_parser(boundary: bytes, form: _Form) -> MultipartParser:
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


def _parse_chunk(parser: MultipartParser, chunk: bytes) -> None:
    try:
        parser.write(chunk)
    except FormParserError as exc:
        raise MalformedRequestError("The body is not a multipart form.") from exc
