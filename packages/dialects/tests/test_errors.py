"""Errors of the library: their codes, sentences, faults and members."""

from pagefault_dialects.errors import (
    Fault,
    InvalidJsonError,
    InvalidPayloadError,
    PagefaultError,
    PayloadTooLargeError,
)


class GoneError(PagefaultError, code="gone"):
    """An error whose sentence is always the same."""

    sentence = "It is gone."


class LongGoneError(GoneError):
    """An error with the code of its base."""


def test_class_of_errors_has_a_code() -> None:
    classes = (PagefaultError, InvalidJsonError, InvalidPayloadError, PayloadTooLargeError)
    assert [error.code for error in (*classes, GoneError, LongGoneError)] == [
        *("error", "invalid-json", "invalid-payload", "payload-too-large", "gone", "gone"),
    ]


def test_error_has_its_sentence_its_faults_and_further_members() -> None:
    fault = Fault("/a", "is no id")
    error = InvalidPayloadError("No.", faults=[fault], code="narrow", members={"limit": 3})
    plain = LongGoneError()
    assert [
        (item.detail, str(item), item.faults, item.problem_code, item.code, item.members)
        for item in (error, plain)
    ] == [
        ("No.", "No.", (fault,), "narrow", "invalid-payload", {"limit": 3}),
        ("It is gone.", "It is gone.", (), "gone", "gone", {}),
    ]
