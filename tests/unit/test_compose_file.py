"""`docker-compose.yml`, as far as it can be held without Docker."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from app.config.settings import Settings, list_variables
from app.version import VERSION

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "docker-compose.yml"
_VARIABLE = re.compile(r"\$\{([A-Z0-9_]+)")


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(FILE.read_text())
    return loaded


@pytest.fixture
def services(compose: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = compose["services"]
    return found


def test_file_is_one_of_the_compose_specification() -> None:
    schema = ("--builtin-schema", "vendor.compose-spec")
    checked = subprocess.run(  # noqa: S603 - a tool of the lock
        [Path(sys.executable).with_name("check-jsonschema"), *schema, FILE],
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_every_image_has_an_exact_version(services: dict[str, Any]) -> None:
    images = {name: service["image"].partition(":")[2] for name, service in services.items()}
    assert images == {
        "service": VERSION,
        "migration": VERSION,
        "database": "18.4",
        "objects": "4.44",
    }


def test_every_setting_is_one(services: dict[str, Any]) -> None:
    environment = services["service"]["environment"]
    known = {name for name, _ in list_variables(Settings)}
    assert set(environment) <= known
    assert services["migration"]["environment"] == environment


def test_service_waits_for_what_says_that_it_is_healthy(services: dict[str, Any]) -> None:
    waits = {
        (name, other, wait["condition"])
        for name, service in services.items()
        for other, wait in service.get("depends_on", {}).items()
    }
    assert waits == {
        ("service", "migration", "service_completed_successfully"),
        ("service", "objects", "service_healthy"),
        ("migration", "database", "service_healthy"),
    }
    # A run that failed is no end of it while another one follows.
    assert services["migration"]["restart"] == "on-failure:5"
    healthy = {other for _, other, condition in waits if condition == "service_healthy"}
    assert healthy == {name for name, service in services.items() if "healthcheck" in service}


def test_what_is_stored_is_in_volumes_and_every_volume_is_declared(
    compose: dict[str, Any], services: dict[str, Any]
) -> None:
    mounted = {
        name: service["volumes"] for name, service in services.items() if "volumes" in service
    }
    assert mounted == {"database": ["database:/var/lib/postgresql"], "objects": ["objects:/data"]}
    assert set(compose["volumes"]) == {"database", "objects"}


def test_only_the_service_is_published_and_only_on_loopback(services: dict[str, Any]) -> None:
    published = {name: service["ports"] for name, service in services.items() if "ports" in service}
    assert published == {"service": ["127.0.0.1:8000:8000"]}


def test_object_store_takes_the_key_of_the_service_and_makes_its_bucket(
    services: dict[str, Any],
) -> None:
    given, store = services["service"]["environment"], services["objects"]["environment"]
    assert store == {
        "AWS_ACCESS_KEY_ID": given["PAGEFAULT_BLOBS__S3_ACCESS_KEY_ID"],
        "AWS_SECRET_ACCESS_KEY": given["PAGEFAULT_BLOBS__S3_SECRET_ACCESS_KEY"],
        "S3_BUCKET": given["PAGEFAULT_BLOBS__URL"].removeprefix("s3://"),
    }
    assert given["PAGEFAULT_BLOBS__S3_ENDPOINT"] == "http://objects:8333"


def test_nobody_but_the_service_reaches_the_object_store(services: dict[str, Any]) -> None:
    networks = {name: service.get("networks", ["default"]) for name, service in services.items()}
    assert [name for name, those in networks.items() if "objects" in those] == [
        *("service", "migration"),
        "objects",
    ]


def test_documents_name_the_variables_that_have_to_be_set() -> None:
    page = (ROOT / "docs" / "deployment.md").read_text()
    used = set(_VARIABLE.findall(FILE.read_text()))
    named = {name for name in used if re.search(rf"^{name}=", page, re.MULTILINE)}
    assert named == used


@pytest.mark.parametrize("path", ["README.md", "docs", "docker-compose.yml", "Dockerfile"])
def test_nothing_recommends_a_store_that_is_no_longer_kept(path: str) -> None:
    place = ROOT / path
    files = [place] if place.is_file() else sorted(place.glob("*.md"))
    named = {file.name for file in files if re.search(r"minio", file.read_text(), re.IGNORECASE)}
    # Two pages say which of its error codes are understood, for those who still run it.
    assert named <= {"durability.md", "operations.md"}
