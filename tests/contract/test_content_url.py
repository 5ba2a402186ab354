"""The setting of the content URL: what makes no origin of its own is refused, and said so."""

import pytest
from pydantic import ValidationError

from app.config.setting_values import build_origin, list_host_names
from app.config.settings import Settings
from tests.kit.loaded_command import LoadedCommand

PUBLIC_URL = "https://media.example.com/below"
CONTENT_URL = "https://files.example.com"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "files.example.com",
        "//files.example.com",
        "ftp://files.example.com",
        "https://",
        "https://files.example.com/below",
        "https://files.example.com//",
        "https://files.example.com?",
        "https://files.example.com/?a=b",
        "https://files.example.com#",
        "https://someone@files.example.com",
        "https://files.example.com:",
        "https://files.example.com:x",
        "https://files.example.com:123456",
        "https://files.example.com; script-src *",
        "https://files.example.com https://evil.example",
        "https://*.example.com",
        "https://fil\u00e9s.example.com",
        "https://files.example.com.",
        "https://files.example.com:0443",
        "https://files.example.com:0",
        "https://files_of.example.com",
        "https://-files.example.com",
        "http://[::1]:8000",
        "http://127.1",
        "http://0x7f.0.0.1",
        "http://127.0.0.01",
        "http://2130706433",
        "http://files.0x7f",
        "https://files.example.com\n",
    ],
)
def test_content_url_is_an_origin(url: str) -> None:
    with pytest.raises(ValidationError, match="must be an origin such as"):
        Settings(public_url=PUBLIC_URL, content_url=url)


def test_content_url_has_a_port_that_there_is() -> None:
    with pytest.raises(ValidationError, match="Port out of range"):
        Settings(public_url=PUBLIC_URL, content_url="https://files.example.com:65536")


@pytest.mark.parametrize(
    ("url", "taken"),
    [
        ("https://Files.Example.com/", CONTENT_URL),
        ("https://files.example.com:443", CONTENT_URL),
        ("http://files.example.com:80/", "http://files.example.com"),
        ("http://files.example.com:443", "http://files.example.com:443"),
        ("http://localhost:8000", "http://localhost:8000"),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
        ("http://xn--fils-bpa.example.com", "http://xn--fils-bpa.example.com"),
    ],
)
def test_content_url_is_spelled_as_browsers_do(url: str, taken: str) -> None:
    assert Settings(public_url=PUBLIC_URL, content_url=url).content_url == taken


def test_content_url_needs_a_public_url() -> None:
    with pytest.raises(ValidationError, match="set the first one too, PAGEFAULT_PUBLIC_URL"):
        Settings(content_url=CONTENT_URL)


@pytest.mark.parametrize(
    "public_url",
    [
        "https://files.example.com",
        "https://FILES.example.com:443/below",
        "https://files.example.com./",
        "http://files.example.com",
        "http://files.example.com:443",
    ],
)
def test_content_url_is_on_another_host(public_url: str) -> None:
    with pytest.raises(ValidationError, match="name the same host"):
        Settings(public_url=public_url, content_url=CONTENT_URL)


@pytest.mark.parametrize(
    "public_url",
    ["http://127.1", "http://2130706433:8000", "http://fil\u00e9s.example.com", "http://a_b.c"],
)
def test_host_of_the_public_url_is_spelled_so_that_they_can_be_told_apart(public_url: str) -> None:
    Settings(public_url=public_url)
    with pytest.raises(ValidationError, match="a host that browsers spell in another way"):
        Settings(public_url=public_url, content_url="http://127.0.0.1")


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        (PUBLIC_URL, "https://media.example.com"),
        ("https://Media.Example.com:443/below", "https://media.example.com"),
        ("https://someone@media.example.com:8443", "https://media.example.com:8443"),
        ("http://[::1]:8000/", "http://[::1]:8000"),
        ("http://[::1]", "http://[::1]"),
    ],
)
def test_origin_is_spelled_as_browsers_do(url: str, origin: str) -> None:
    assert build_origin(url) == origin


def test_host_of_an_address_keeps_its_brackets() -> None:
    assert list_host_names("http://[::1]:8000") == {"[::1]:8000", "[::1].:8000"}


def test_wrong_content_url_is_told_by_the_name_of_its_variable(pagefault: LoadedCommand) -> None:
    changed = {"PAGEFAULT_PUBLIC_URL": PUBLIC_URL, "PAGEFAULT_CONTENT_URL": PUBLIC_URL}
    ended = pagefault.run("serve", env=changed)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "PAGEFAULT_CONTENT_URL: must be an origin such as https://files" in ended.stderr
