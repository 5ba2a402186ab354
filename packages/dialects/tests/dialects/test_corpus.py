"""Results that real packages dumped are told once and truly; near misses are records."""

import json
from typing import Any

import pytest

from packages.dialects.tests.dialects.corpus import FILE, Case, observe, read_cases
from pagefault_dialects.dialects.registry import DIALECTS
from pagefault_dialects.results import normalize

CASES = read_cases(FILE.read_text())
_BY_NAME = {case.name: case for case in CASES}


@pytest.mark.parametrize("name", _BY_NAME)
def test_a_result_of_a_real_package_is_told_once_and_truly(name: str) -> None:
    case = _BY_NAME[name]
    assert observe(case.value) == case.expect


def test_every_dialect_has_results_of_real_packages() -> None:
    opened = {kept["dialect"] for case in CASES if (kept := normalize(case.value).envelope)}
    assert opened == {dialect.name for dialect in DIALECTS if dialect.envelopes}


@pytest.mark.parametrize(
    "case", [case for case in CASES if isinstance(case.value, dict)], ids=lambda case: case.name
)
def test_a_member_that_the_protocol_does_not_know_makes_it_a_record(case: Case) -> None:
    assert normalize({**case.value, "a member of a record": 1}).envelope is None


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_is_told_to_no_model_is_kept(case: Case) -> None:
    result = normalize(case.value)
    beside = [part.provenance for part in result.parts]
    kept = repr((result.envelope, result.meta, result.structured_content, beside))
    assert kept.count("'kept'") >= json.dumps(case.value).count('"kept"')


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_member_that_is_null_is_an_absent_one(case: Case) -> None:
    bare = _without_nulls(case.value)
    # Where the protocol requires a member that may be null, it is there.
    if observe(bare) != case.expect:
        assert case.package.startswith(_REQUIRED_NULLS)


_REQUIRED_NULLS = ("llama-index-core", "opentelemetry-util-genai", "ai", "pydantic-ai-slim")


def _without_nulls(value: Any) -> Any:  # noqa: ANN401 - JSON
    if isinstance(value, dict):
        return {key: _without_nulls(each) for key, each in value.items() if each is not None}
    return [_without_nulls(each) for each in value] if isinstance(value, list) else value
