from collections.abc import Mapping
from datetime import UTC, datetime
from enum import Enum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import PreconditionFailedError
from app.http.conditions import evaluate_conditions, parse_http_date, range_applies

ETAG = '"sha256-aa"'
CHANGED = datetime(2026, 3, 1, 12, 0, 0, 900_000, tzinfo=UTC)
BEFORE = "Sun, 01 Mar 2026 11:59:59 GMT"
EXACTLY = "Sun, 01 Mar 2026 12:00:00 GMT"
AFTER = "Sun, 01 Mar 2026 12:00:01 GMT"


class Outcome(Enum):
    """Return the result of the conditions of a request."""

    PROCEED = "proceed"
    NOT_MODIFIED = "not modified"
    PRECONDITION_FAILED = "precondition failed"


def judged(
    headers: Mapping[str, str],
    *,
    method: str,
    etag: str = ETAG,
    last_modified: datetime | None = CHANGED,
) -> Outcome:
    try:
        is_known = evaluate_conditions(
            headers, method=method, etag=etag, last_modified=last_modified
        )
    except PreconditionFailedError:
        return Outcome.PRECONDITION_FAILED
    return Outcome.NOT_MODIFIED if is_known else Outcome.PROCEED


PROCEED, KNOWN, FAILED = Outcome.PROCEED, Outcome.NOT_MODIFIED, Outcome.PRECONDITION_FAILED

GET_OUTCOMES = {
    "no condition": ({}, PROCEED),
    "if-match names it": ({"if-match": ETAG}, PROCEED),
    "if-match names it among others": ({"if-match": f'"x", {ETAG} ,"y"'}, PROCEED),
    "if-match any": ({"if-match": "*"}, PROCEED),
    "if-match names another": ({"if-match": '"x"'}, FAILED),
    "if-match is strong": ({"if-match": f"W/{ETAG}"}, FAILED),
    "if-match unreadable": ({"if-match": "sha256-aa"}, FAILED),
    "if-match empty": ({"if-match": ""}, FAILED),
    "unmodified since before": ({"if-unmodified-since": BEFORE}, FAILED),
    "unmodified since exactly": ({"if-unmodified-since": EXACTLY}, PROCEED),
    "unmodified since after": ({"if-unmodified-since": AFTER}, PROCEED),
    "unmodified since nonsense": ({"if-unmodified-since": "yesterday"}, PROCEED),
    "if-match outranks unmodified since": (
        {"if-match": ETAG, "if-unmodified-since": BEFORE},
        PROCEED,
    ),
    "if-none-match names it": ({"if-none-match": ETAG}, KNOWN),
    "if-none-match is weak": ({"if-none-match": f"W/{ETAG}"}, KNOWN),
    "if-none-match any": ({"if-none-match": " * "}, KNOWN),
    "if-none-match among others": ({"if-none-match": f'"a,b",,W/"c" , {ETAG}'}, KNOWN),
    "if-none-match only inside quotes": ({"if-none-match": '"x, sha256-aa"'}, PROCEED),
    "if-none-match names another": ({"if-none-match": '"x"'}, PROCEED),
    "if-none-match unreadable": ({"if-none-match": f"{ETAG} {ETAG}"}, PROCEED),
    "if-none-match ending in junk": ({"if-none-match": f"{ETAG}, junk"}, PROCEED),
    "modified since before": ({"if-modified-since": BEFORE}, PROCEED),
    "modified since exactly": ({"if-modified-since": EXACTLY}, KNOWN),
    "modified since after": ({"if-modified-since": AFTER}, KNOWN),
    "modified since nonsense": ({"if-modified-since": "0"}, PROCEED),
    "if-none-match outranks modified since": (
        {"if-none-match": '"x"', "if-modified-since": AFTER},
        PROCEED,
    ),
    "if-match is judged before if-none-match": (
        {"if-match": '"x"', "if-none-match": ETAG},
        FAILED,
    ),
    "unmodified since is judged before if-none-match": (
        {"if-unmodified-since": BEFORE, "if-none-match": ETAG},
        FAILED,
    ),
}

WRITE_OUTCOMES = {
    "create only": ({"if-none-match": "*"}, FAILED),
    "not this version": ({"if-none-match": ETAG}, FAILED),
    "not another version": ({"if-none-match": '"x"'}, PROCEED),
    "this version": ({"if-match": ETAG}, PROCEED),
    "another version": ({"if-match": '"x"'}, FAILED),
    "modified since counts for reading only": ({"if-modified-since": AFTER}, PROCEED),
}

IF_RANGE = {
    "absent": ({}, True),
    "the same tag": ({"if-range": ETAG}, True),
    "another tag": ({"if-range": '"x"'}, False),
    "a weak tag": ({"if-range": f"W/{ETAG}"}, False),
    "the same date": ({"if-range": EXACTLY}, True),
    "an earlier date": ({"if-range": BEFORE}, False),
    "a later date": ({"if-range": AFTER}, False),
    "nonsense": ({"if-range": "sha256-aa"}, False),
    "a list": ({"if-range": f"{ETAG}, {ETAG}"}, False),
}

HTTP_DATES = {
    "Sun, 06 Nov 1994 08:49:37 GMT": datetime(1994, 11, 6, 8, 49, 37, tzinfo=UTC),
    "Sunday, 06-Nov-94 08:49:37 GMT": datetime(1994, 11, 6, 8, 49, 37, tzinfo=UTC),
    "Sun Nov  6 08:49:37 1994": datetime(1994, 11, 6, 8, 49, 37, tzinfo=UTC),
    "Sun, 06 Nov 1994 08:49:37 +0200": None,
    "Sun, 06 Nov 1994 08:49:37": None,
    "Sun, 06 Nov 1994 25:49:37 GMT": None,
    "Sun, 31 Feb 1994 08:49:37 GMT": None,
    "Sun, 06 Xyz 1994 08:49:37 GMT": None,
    "Sun, 06 Nov 0000 08:49:37 GMT": None,
    "1994-11-06T08:49:37Z": None,
    "": None,
}


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize(("headers", "outcome"), GET_OUTCOMES.values(), ids=list(GET_OUTCOMES))
def test_conditions_of_a_reading_request_are_judged_in_order(
    headers: dict[str, str], outcome: Outcome, method: str
) -> None:
    assert judged(headers, method=method) is outcome


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize(("headers", "outcome"), WRITE_OUTCOMES.values(), ids=list(WRITE_OUTCOMES))
def test_conditions_of_a_write_never_come_to_not_modified(
    headers: dict[str, str], outcome: Outcome, method: str
) -> None:
    assert judged(headers, method=method) is outcome


@pytest.mark.parametrize("name", ["if-unmodified-since", "if-modified-since"])
@pytest.mark.parametrize("date", [BEFORE, EXACTLY, AFTER])
def test_what_has_no_date_meets_every_condition_on_dates(name: str, date: str) -> None:
    assert judged({name: date}, method="GET", last_modified=None) is PROCEED


@pytest.mark.parametrize("etag", ['W/"v1"', '"v1"'])
def test_a_weak_record_is_recognised_by_if_none_match(etag: str) -> None:
    headers = {"if-none-match": '"v1"'}
    assert judged(headers, method="GET", etag=etag, last_modified=None) is KNOWN


def test_a_weak_record_never_meets_if_match() -> None:
    headers = {"if-match": 'W/"v1"'}
    assert judged(headers, method="PUT", etag='W/"v1"', last_modified=None) is FAILED


@pytest.mark.parametrize(("headers", "applies"), IF_RANGE.values(), ids=list(IF_RANGE))
def test_range_counts_only_for_the_very_version(headers: dict[str, str], applies: bool) -> None:
    assert range_applies(headers, ETAG, CHANGED) is applies


def test_range_does_not_count_for_a_date_of_what_has_none() -> None:
    assert range_applies({"if-range": EXACTLY}, ETAG, None) is False


@pytest.mark.parametrize(("text", "moment"), HTTP_DATES.items())
def test_only_the_three_forms_of_a_date_are_read(text: str, moment: datetime | None) -> None:
    assert parse_http_date(text) == moment


@given(
    st.dictionaries(
        st.sampled_from(["if-match", "if-none-match", "if-modified-since", "if-unmodified-since"]),
        st.text(alphabet='W/"ab,* \xe9\t', max_size=30)
        | st.sampled_from([BEFORE, AFTER, "*", ETAG]),
    )
)
def test_no_header_breaks_the_judgement(headers: dict[str, str]) -> None:
    assert judged(headers, method="GET") in Outcome
