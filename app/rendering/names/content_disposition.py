"""The file name in a Content-Disposition, as clients, forms and other servers send it."""

from contextlib import suppress
from email.message import Message
from email.utils import collapse_rfc2231_value

# A longer header is no file name, and taking it apart costs more than its length.
_MOST_CHARS = 4_096


def disposition_filename(header: str) -> str | None:
    """The file name in a Content-Disposition, `filename*` (RFC 8187) before `filename`.

    Header bytes beyond ASCII are taken as UTF-8, which browsers and curl send. A part of a form is
    a file if it has a name, be it an empty one.
    """
    header = header[:_MOST_CHARS]
    with suppress(UnicodeError):
        header = header.encode("latin-1").decode()
    message = Message()
    message["Content-Disposition"] = header.replace("\r", " ").replace("\n", " ")
    named: dict[bool, str] = {}
    for name, value in message.get_params(failobj=[], header="content-disposition"):
        if name.lower() == "filename":
            # The parser hands on `filename*` decoded into its three pieces, `filename` as a text.
            named.setdefault(isinstance(value, tuple), collapse_rfc2231_value(value))
    return named.get(True, named.get(False))
