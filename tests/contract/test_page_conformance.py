"""The conformance cases of memory pages, each sent through the live service and held to `expect`.

A case is an operation on a page; every one has a function in `page_case_checks` that says what its
expectation means of the answer. A case without one fails.
"""

import secrets
from pathlib import Path

import httpx
import pytest
from pydantic import SecretStr

from tests.contract.page_case_checks import CHECKS
from tests.contract.page_cases import CASES, Case, built
from tests.kit.loaded_command import LoadedCommand
from tests.kit.servers import SIGNING_KEY, LiveService

pytestmark = pytest.mark.engines("embedded")

COMMAND_LINE_CASES = {"dl_flag_first"}


def names_of(operation: str) -> list[str]:
    """The cases of an operation, as far as they concern the HTTP surface."""
    named = [name for name, case in CASES.items() if case["op"] == operation]
    return [name for name in named if name not in COMMAND_LINE_CASES]


def check(client: httpx.Client, name: str) -> None:
    case = CASES[name]
    CHECKS[name](Case(client, built(case["page"]), case["args"]))


def test_every_case_has_a_check() -> None:
    assert set(CASES) == set(CHECKS) | COMMAND_LINE_CASES
    operations = {"blocks", "fault", "format", "compress", "detail", "download", "pack"}
    assert {case["op"] for case in CASES.values()} == operations


@pytest.mark.parametrize("name", names_of("blocks"))
def test_blocks_are_what_the_case_expects(shared_client: httpx.Client, name: str) -> None:
    check(shared_client, name)


@pytest.mark.parametrize("name", names_of("fault"))
def test_faulted_page_is_what_the_case_expects(shared_client: httpx.Client, name: str) -> None:
    check(shared_client, name)


@pytest.mark.parametrize("name", names_of("format"))
def test_typed_content_is_what_the_case_expects(shared_client: httpx.Client, name: str) -> None:
    check(shared_client, name)


@pytest.mark.parametrize("name", names_of("compress"))
def test_levels_are_what_the_case_expects(shared_client: httpx.Client, name: str) -> None:
    check(shared_client, name)


@pytest.mark.parametrize("name", names_of("detail"))
def test_detail_view_is_what_the_case_expects(shared_client: httpx.Client, name: str) -> None:
    check(shared_client, name)


@pytest.mark.parametrize("name", names_of("download"))
def test_download_is_what_the_case_expects(shared_client: httpx.Client, name: str) -> None:
    check(shared_client, name)


@pytest.mark.parametrize("name", names_of("pack"))
def test_manifest_line_is_what_the_case_expects(shared_client: httpx.Client, name: str) -> None:
    check(shared_client, name)


@pytest.mark.parametrize("order", [("--download", "ID"), ("ID", "--download")])
def test_download_flag_stands_before_or_behind_the_id(
    service: LiveService, pagefault: LoadedCommand, order: tuple[str, ...], tmp_path: Path
) -> None:
    page = CASES["dl_flag_first"]["page"]
    project = f"flags-{secrets.token_hex(6)}"
    with service.client(service.new_key(project)) as client:
        Case(client, page, {}).store()
    words = [page["page_id"] if word == "ID" else word for word in order]
    done = pagefault.run(
        *("page", "show", *words, "--project", project, "--output", str(tmp_path)),
        env=settings_in_the_environment(service),
    )
    assert done.returncode == 0, done.stderr
    saved = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert saved == {"msg_062.txt": b"x"}
    assert done.stdout.startswith(f"{tmp_path / 'msg_062.txt'}  (")


def settings_in_the_environment(service: LiveService) -> dict[str, str]:
    """Return the settings of a command for the stores of a running service."""
    settings = service.settings
    given: dict[str, str | SecretStr | None] = {
        "PAGEFAULT_DATA_DIR": str(settings.data_dir),
        "PAGEFAULT_SIGNING_KEYS": SIGNING_KEY,
        "PAGEFAULT_DB__URL": settings.db.url,
        "PAGEFAULT_BLOBS__URL": settings.blobs.url,
        "PAGEFAULT_BLOBS__S3_ENDPOINT": settings.blobs.s3_endpoint,
        "PAGEFAULT_BLOBS__S3_ACCESS_KEY_ID": settings.blobs.s3_access_key_id,
        "PAGEFAULT_BLOBS__S3_SECRET_ACCESS_KEY": settings.blobs.s3_secret_access_key,
    }
    plain = {
        name: value.get_secret_value() if isinstance(value, SecretStr) else value
        for name, value in given.items()
    }
    return {name: value for name, value in plain.items() if value is not None}
