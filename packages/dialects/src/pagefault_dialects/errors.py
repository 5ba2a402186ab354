"""Errors of reading and writing, each with a code and a sentence for the caller.

    PagefaultError
     ├─ InvalidJsonError       invalid JSON, or JSON that parsers read differently
     ├─ InvalidPayloadError    valid JSON with an unexpected value
     └─ PayloadTooLargeError   larger than a limit

Details never repeat the input: an echoed lone surrogate would turn a 422 into a 500.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Fault:
    """One error of a request: a JSON pointer and a sentence."""

    pointer: str
    detail: str


class PagefaultError(Exception):
    """Base of all errors for callers.

    Args:
        detail: One or two sentences for the caller: what is wrong, where, and what to do instead.
            Classes whose detail is always the same have it as `sentence`.
        faults: The errors one by one, if there are several.
        code: A code that is narrower than that of the class.
        members: Further members of the problem document (RFC 9457, section 3.2).
    """

    code: ClassVar[str] = "error"
    sentence: ClassVar[str] = ""
    tells_every_fault: ClassVar[bool] = False
    """True if the answer has all errors, rather than the first one."""

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
    """The body is not JSON text in UTF-8, or has NaN, Infinity or a number beyond them."""


class InvalidPayloadError(PagefaultError, code="invalid-payload"):
    """The value is readable, but not accepted."""


class PayloadTooLargeError(PagefaultError, code="payload-too-large"):
    """A size limit is exceeded; nothing is stored."""
