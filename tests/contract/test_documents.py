"""Documents say what the code does: generated pages, settings, links, locks, container files."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
import yaml
from pydantic import BaseModel

from app.config.settings import CLIENT_VARIABLES, Settings
from app.wiring.startup_errors import MissingSigningKeysError
from tests.kit.process import ROOT
from website.documents import generated_documents

pytestmark = pytest.mark.engines("embedded")

GENERATED = (
    "openapi/openapi.json",
    "docs/dialects.md",
    "docs/errors.md",
    "docs/settings.md",
    "docs/telemetry.md",
)
# What the compose file takes from `.env`, as an operator would fill it in.
OPERATOR_VALUES = {
    "PAGEFAULT_SIGNING_KEYS": "k1:" + "0123456789abcdef" * 4,
    "POSTGRES_PASSWORD": "database-secret",
    "S3_SECRET": "object-secret",
}
# Beside PAGEFAULT_*, what the service and the images of other makers read.
OTHER_VARIABLES = {"PATH", "PROMETHEUS_MULTIPROC_DIR"}

_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)[^)]*\)|!\[[^\]]*\]\(([^)\s]+)[^)]*\)")
_COMMAND = re.compile(
    r"(?:curl|docker|export|make|openssl|python3?|[\w./]*pagefault|[A-Z_]+=\S+$)(?: |$)"
)
_PATH = re.compile(r"`((?:app|packages|tests|web|clients|peers|website)/[\w./-]+)`")
_CODE_BLOCK = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_DECISIONS = re.compile(
    r"# [A-Z].*\n\n(?:\*\*Accepted \d{4}-\d\d-\d\d:\*\* [A-Z`].*\n(?:.+\n)*\n)+## Why\n"
)
_PINNED = re.compile(
    r"[a-z0-9._-]+(\[[a-z0-9,._-]+\])?==[^\s;]+( ; [^\\]+?)?( --hash=sha256:[0-9a-f]{64})+"
)


def variables(group: type[BaseModel] = Settings, prefix: str = "PAGEFAULT_") -> Iterator[str]:
    """Every variable that sets something, nested ones included."""
    for name, field in group.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from variables(field.annotation, f"{prefix}{name.upper()}__")
        elif isinstance(field.validation_alias, str):
            yield field.validation_alias
        else:
            yield f"{prefix}{name.upper()}"


def pages() -> list[Path]:
    """All pages a reader may open."""
    return sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def decision_pages() -> list[Path]:
    """All pages of decisions."""
    folder = ROOT / "docs" / "decisions"
    return sorted({*folder.glob("*.md")} - {folder / "README.md"})


def settings_from(values: dict[str, str], patch: pytest.MonkeyPatch) -> Settings:
    """Settings of a process with this environment."""
    for name in variables():
        patch.delenv(name, raising=False)
    for name, value in values.items():
        patch.setenv(name, value)
    return Settings()


def image_environment() -> dict[str, str]:
    """The variables the image sets."""
    text = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
    lines = re.findall(r"^ENV (.+)$", text, re.MULTILINE)
    return dict(pair.split("=", 1) for line in lines for pair in line.split())


def compose() -> dict[str, Any]:
    """The compose file, with what an operator fills in filled in."""
    text = (ROOT / "docker-compose.yml").read_text()

    def value(match: re.Match[str]) -> str:
        name, default = match.group(1), match.group(2) or ""
        return OPERATOR_VALUES.get(name, default.removeprefix(":-"))

    filled: dict[str, Any] = yaml.safe_load(re.sub(r"\$\{(\w+)(:[^}]*)?\}", value, text))
    return filled


@pytest.mark.parametrize("name", GENERATED)
def test_generated_document_is_up_to_date(name: str) -> None:
    assert (ROOT / name).read_text() == generated_documents()[ROOT / name]


def test_no_generated_document_is_forgotten() -> None:
    assert set(generated_documents()) == {ROOT / name for name in GENERATED}


def test_every_setting_has_a_row() -> None:
    text = (ROOT / "docs" / "settings.md").read_text()
    rows = re.findall(r"^\| `([A-Z0-9_]+)` \| .* \| (\S.*) \|$", text, re.MULTILINE)
    assert [variable for variable, _ in rows] == list(variables())


def test_hooks_before_a_commit_are_local() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert [hook["repo"] for hook in hooks] == ["local"]
    assert {hook["language"] for item in hooks for hook in item["hooks"]} == {"system"}


def test_front_page_leads_to_the_settings() -> None:
    assert "(docs/settings.md)" in (ROOT / "README.md").read_text()


def test_pages_name_only_settings_that_exist() -> None:
    known = {*variables(), *CLIENT_VARIABLES}
    unknown = {
        (page.name, name)
        for page in pages()
        for name in re.findall(r"\bPAGEFAULT_[A-Z0-9_]*[A-Z0-9]\b", page.read_text())
        if name not in known
    }
    assert unknown == set()


def test_links_to_files_lead_to_files_that_exist() -> None:
    broken = [
        (page.name, link)
        for page in pages()
        for link in _links_to_files(page)
        if not (page.parent / unquote(link)).exists()
    ]
    assert broken == []


def _links_to_files(page: Path) -> Iterator[str]:
    text = _CODE_BLOCK.sub("", page.read_text())
    for one, other in _LINK.findall(text):
        if not re.match(r"[a-z]+:|#", link := one or other):
            yield link.partition("#")[0]


def test_pages_name_only_files_that_exist() -> None:
    named = {
        f"{page.relative_to(ROOT)}: {path}"
        for page in pages()
        for path in _PATH.findall(page.read_text())
        if not (ROOT / path).exists() and path != "web/dist"
    }
    assert named == set()


def test_glossary_has_at_most_thirty_words_each_once() -> None:
    text = (ROOT / "docs" / "glossary.md").read_text()
    words = re.findall(r"^\| (?!word \|)(\S.*?) \|", text, re.MULTILINE)
    assert 0 < len(set(words)) == len(words) <= 30


def test_guide_for_agents_has_the_stages_in_their_order() -> None:
    guide = (ROOT / "CLAUDE.md").read_text()
    stages = ("normalize_tool_result", "persist_tool_media", "build_sanitized_tool_result")
    places = [guide.index(f"{stage}:") if f"{stage}:" in guide else -1 for stage in stages]
    assert 0 < places[0] < places[1] < places[2]
    assert "(CLAUDE.md)" in (ROOT / "AGENTS.md").read_text()


@pytest.mark.parametrize("page", decision_pages(), ids=lambda page: page.stem)
def test_page_of_decisions_begins_with_them_and_their_dates(page: Path) -> None:
    assert _DECISIONS.match(page.read_text()), "docs/decisions/README.md has the form of a page"


def test_index_lists_every_page_of_decisions_by_its_title() -> None:
    index = (ROOT / "docs" / "decisions" / "README.md").read_text()
    titles = {page.name: page.read_text().partition("\n")[0] for page in decision_pages()}
    listed = re.findall(r"^- \[(.+)\]\(([a-z-]+\.md)\): ", index, re.MULTILINE)
    assert sorted((name, f"# {title}") for title, name in listed) == sorted(titles.items())


def test_every_example_that_the_front_page_sends_is_there() -> None:
    named = re.findall(r"\b(examples/[\w./-]*\w)", (ROOT / "README.md").read_text())
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_changelog_has_a_section_to_write_to() -> None:
    headings = re.findall(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert headings
    assert re.fullmatch(r"Unreleased|\d+\.\d+\.\d+", headings[0])


def test_image_sets_only_what_can_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    given = image_environment()
    ours = {name: value for name, value in given.items() if name.startswith("PAGEFAULT_")}
    assert given.keys() - set(variables()) <= OTHER_VARIABLES
    assert ours.keys() <= set(variables())
    settings = settings_from(ours, monkeypatch)
    assert (settings.host, settings.auth) == ("0.0.0.0", "api-key")  # noqa: S104


@pytest.mark.parametrize("name", ["service", "migration"])
def test_compose_file_gives_valid_settings(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given = image_environment() | compose()["services"][name]["environment"]
    ours = {key: value for key, value in given.items() if key.startswith("PAGEFAULT_")}
    assert given.keys() - set(variables()) <= OTHER_VARIABLES
    settings = settings_from(ours, monkeypatch)
    assert (settings.auth, settings.is_embedded_database, settings.blobs.url) == (
        *("api-key", False),
        "s3://pagefault",
    )


def test_signing_keys_are_accepted_as_they_are_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [*(page.read_text() for page in pages()), str(MissingSigningKeysError())]
    printed = {
        match for text in texts for match in re.findall(r"\bk1:([^\s`,]+(?: [^)`]+\))?)", text)
    }
    assert printed - {"…"} == {"$(openssl rand -hex 32)"}
    settings_from({"PAGEFAULT_SIGNING_KEYS": f"k1:{'0' * 64}"}, monkeypatch)


def test_compose_file_has_every_service_it_depends_on() -> None:
    services = compose()["services"]
    needed = {name for service in services.values() for name in service.get("depends_on", {})}
    assert needed - services.keys() == set()


def test_compose_file_uses_every_value_it_asks_the_operator_for() -> None:
    text = (ROOT / "docker-compose.yml").read_text()
    assert set(re.findall(r"\$\{(\w+):\?", text)) == OPERATOR_VALUES.keys()


@pytest.mark.parametrize("name", ["runtime.lock", "web.lock", "dev.lock"])
def test_lock_pins_everything_by_hash_and_names_no_host(name: str) -> None:
    text = (ROOT / "requirements" / name).read_text()
    lines = re.sub(r" \\\n\s+", " ", text).splitlines()
    assert [line for line in lines if not _PINNED.fullmatch(line)] == []
    assert re.findall(r"\w+://|index-url|find-links", text) == []


@pytest.mark.parametrize("name", ["runtime.lock", "web.lock"])
def test_development_lock_agrees_with_the_others(name: str) -> None:
    other, development = (
        set(re.findall(r"^[a-z0-9].*==[^\s;]+", path.read_text(), re.MULTILINE))
        for path in (ROOT / "requirements" / name for name in (name, "dev.lock"))
    )
    assert other - development == set()


def test_lines_to_copy_have_no_prompt_and_leave_nothing_out() -> None:
    lines = [(page.name, line) for page in pages() for line in page.read_text().splitlines()]
    assert [line for line in lines if line[1].startswith("$ ")] == []
    commands = [line for line in lines if _COMMAND.match(line[1])]
    assert commands
    assert [command for command in commands if "…" in command[1]] == []
