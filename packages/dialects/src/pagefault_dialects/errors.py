"""Errors of reading and writing, each with a code and a sentence for the caller.

    PagefaultError
     ├─ InvalidJsonError       not JSON, or JSON that no two parsers agree on
     ├─ InvalidPayloadError    readable, but not what is taken
     └─ PayloadTooLargeError   larger than a limit

Details never repeat the caller's input: an echoed lone surrogate turns a 422 into a 500.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong with a request: a JSON pointer to it and a sentence about it."""

    pointer: str
    detail: str


class PagefaultError(Exception):
    """Base of all errors that a caller is to read.

    Args:
        detail: One or two sentences for the caller: what, where, and what to do instead. A class
            that always says the same has a `sentence` for it.
        faults: The single faults, when there are several.
        code: A narrower code than the class's own.
        members: Further members of the answer (RFC 9457 §3.2), for callers that hand it on.
    """

    code: ClassVar[str] = "error"
    sentence: ClassVar[str] = ""
    tells_every_fault: ClassVar[bool] = False
    """Whether the answer has all faults, rather than the first of them."""

    def __init_subclass__(cls, *, code: str | None = None) -> None:
        """Set the code of a class: `class GoneError(PagefaultError, code="gone")`."""
        super().__init_subclass__()
        cls.code = code or cls.code

    def __init__(
        self,
        detail: str | None = None,
        *,
        faults: Sequence[Fault] = (),
        code: str | None = None,
        members: Mapping[str, object] | None = None,
    ) -> None:
        self.detail = detail or self.sentence
        super().__init__(self.detail)
        self.faults = tuple(faults)
        self.problem_code = code or self.code
        self.members = members or {}


class InvalidJsonError(PagefaultError, code="invalid-json"):
    """The body is not JSON text in UTF-8, or holds NaN, Infinity or a number beyond them."""


class InvalidPayloadError(PagefaultError, code="invalid-payload"):
    """The value can be read, but is not what is taken."""


class PayloadTooLargeError(PagefaultError, code="payload-too-large"):
    """A limit on size is exceeded; nothing is kept."""
