"""Results that real packages dumped are normalized without loss; near misses are records."""

import json

from packages.dialects.tests.dialects.corpus import FILE, observe, read_cases
from packages.dialects.tests.results.samples import without_nulls
from pagefault_dialects.dialects.registry import DIALECTS
from pagefault_dialects.results import normalize

CASES = read_cases(FILE.read_text())
# Where the protocol requires a member that may be null, it is there.
_REQUIRED_NULLS = ("llama-index-core", "opentelemetry-util-genai", "ai", "pydantic-ai-slim")


def test_results_of_real_packages_are_normalized_once_and_without_loss() -> None:
    different = {
        case.name: observed for case in CASES if (observed := observe(case.value)) != case.expect
    }
    assert different == {}


def test_every_dialect_has_results_of_real_packages() -> None:
    opened = {kept["dialect"] for case in CASES if (kept := normalize(case.value).envelope)}
    assert opened == {dialect.name for dialect in DIALECTS if dialect.envelopes}


def test_object_with_a_member_that_its_protocol_does_not_have_is_a_record() -> None:
    opened = [
        case.name
        for case in CASES
        if isinstance(case.value, dict)
        and normalize({**case.value, "a member of a record": 1}).envelope is not None
    ]
    assert opened == []


def test_members_that_no_model_reads_are_stored() -> None:
    lost = []
    for case in CASES:
        result = normalize(case.value)
        provenance = [part.provenance for part in result.parts]
        stored = repr((result.envelope, result.meta, result.structured_content, provenance))
        if stored.count("'kept'") < json.dumps(case.value).count('"kept"'):
            lost.append(case.name)
    assert lost == []


def test_null_member_is_an_absent_one() -> None:
    different = [
        case.name
        for case in CASES
        if observe(without_nulls(case.value)) != case.expect
        and not case.package.startswith(_REQUIRED_NULLS)
    ]
    assert different == []
