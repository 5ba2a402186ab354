"""`docs/targets.md` prints what really becomes of every medium, and every target's profile."""

import re
from pathlib import Path

import httpx
import pytest

from pagefault_dialects.targets.table import TARGETS
from tests.contract.render_cases import matrix

pytestmark = pytest.mark.engines("embedded")

DOCUMENT = Path(__file__).parents[2] / "docs" / "targets.md"
_MATRIX = re.compile(r"(?<=<!-- matrix -->\n).*?(?=\n<!-- end of matrix -->)", re.DOTALL)


@pytest.mark.slow
def test_the_matrix_is_what_the_providers_types_take(
    client: httpx.Client, pytestconfig: pytest.Config
) -> None:
    made = matrix(client)
    document = DOCUMENT.read_text()
    if pytestconfig.getoption("write_documents"):
        document = _MATRIX.sub(lambda _: made, document)
        DOCUMENT.write_text(document)
    assert _MATRIX.findall(document) == [made]


@pytest.mark.parametrize("target", TARGETS)
def test_every_profile_is_described(target: str) -> None:
    profile = TARGETS[target]
    row = next(
        line for line in DOCUMENT.read_text().splitlines() if line.startswith(f"| `{target}` |")
    )
    assert f"| {profile.version} | {profile.source} |" in row
