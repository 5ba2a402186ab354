"""Build the documentation site: the pages as they are, the HTTP reference, and a folder a version.

    python -m website.build [--into build/site]

    build/site/
      index.html       leads to the newest version
      versions.json    read by the version selector of the theme
      0.2.0/           one version, built strictly: a broken link or anchor ends the build

The pages are copied with their places to each other, so that a link that works in the repository
works in the site. Versions that are in the folder already stay: build into what is published.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from app.version import VERSION
from website.reference import reference_pages, slug

ROOT: Final = Path(__file__).parent.parent
STAGED: Final = ROOT / "build" / "website"
# Whole folders, and pages that others link to.
FOLDERS: Final = ("docs", "examples")
PAGES: Final = (
    "*.md",
    "LICENSE",
    "benchmarks/results.md",
    "tests/kit/README.md",
    "web/README.md",
    "clients/*/README.md",
    "packages/*/README.md",
)
SHOWN: Final = {".md", ".png", ".txt", ".json", ".py", ".mjs", ".js", ".ts", ".yml", ""}
_MERMAID: Final = (
    ROOT / "website" / "node_modules" / "@mermaid-js" / "tiny" / "dist" / "mermaid.tiny.js"
)
# The theme loads this from another origin when a page has a drawing; the site has its own copy.
_FOREIGN_MERMAID: Final = re.compile(r'"https://unpkg\.com/mermaid@\d+/dist/mermaid\.min\.js"')
_OWN_MERMAID: Final = (
    """document.querySelector("script[src*='/bundle.']").src.replace(/[^/]*$/,"mermaid.js")"""
)
# Behind this entry of the navigation come the pages of the tags.
_ROUTES: Final = '    { "All routes" = "reference/index.md" },'
_VERSION: Final = re.compile(r"\d+\.\d+\.\d+")


def main() -> None:
    """Build the site, and print where it is."""
    parser = argparse.ArgumentParser(prog="python -m website.build", description=__doc__)
    parser.add_argument(
        "--into", type=Path, default=ROOT / "build" / "site", help="the folder of all versions"
    )
    into = parser.parse_args().into.resolve()
    stage()
    build(into / VERSION)
    name_versions(into)
    sys.stdout.write(f"The site is in {into}; start at {into / 'index.html'}.\n")


def stage() -> None:
    """Copy all pages into `build/website/pages`, with the reference beside them."""
    pages = STAGED / "pages"
    shutil.rmtree(STAGED, ignore_errors=True)
    for source in sources():
        target = pages / source.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
    reference = pages / "reference"
    reference.mkdir()
    text = (ROOT / "openapi" / "openapi.json").read_text()
    (reference / "openapi.json").write_text(text)
    for name, page in reference_pages(json.loads(text)).items():
        (reference / name).write_text(page)


def sources() -> list[Path]:
    """Return the files of the pages that git tracks or would track, so no stray files."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *FOLDERS,
         *(f":(glob){page}" for page in PAGES)],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    found = [ROOT / name for name in listed if (ROOT / name).is_file()]
    return [path for path in found if path.suffix in SHOWN]


def build(into: Path) -> None:
    """Build the staged pages into a folder, which is replaced.

    Raises:
        SystemExit: A link or an anchor leads nowhere, or the navigation misses a page of `docs/`.
    """
    settings = (ROOT / "website" / "zensical.toml").read_text()
    (STAGED / "zensical.toml").write_text(settings.replace(_ROUTES, _route_pages()))
    missing = _not_in_navigation(settings)
    if missing:
        sys.exit(f"website/zensical.toml: add to `nav`: {', '.join(missing)}")
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
    if subprocess.run([*command, "-f", "zensical.toml"], cwd=STAGED, check=False).returncode:
        sys.exit("The site was not built: mend the links above.")
    _use_own_mermaid(STAGED / "site" / "assets" / "javascripts")
    shutil.rmtree(into, ignore_errors=True)
    into.parent.mkdir(parents=True, exist_ok=True)
    shutil.copytree(STAGED / "site", into)


def _route_pages() -> str:
    """Return the entries of the navigation for the pages of routes, one for each tag."""
    tags = json.loads((ROOT / "openapi" / "openapi.json").read_text())["tags"]
    names = [tag["name"] for tag in tags]
    pages = [f'    {{ "{name.capitalize()}" = "reference/{slug(name)}.md" }},' for name in names]
    return "\n".join([_ROUTES, *pages])


def _not_in_navigation(settings: str) -> list[str]:
    """Return the pages of `docs/` that no entry of the navigation names."""
    pages = sorted((STAGED / "pages" / "docs").glob("*.md"))
    names = [path.relative_to(STAGED / "pages").as_posix() for path in pages]
    return [name for name in names if f'"{name}"' not in settings]


def _use_own_mermaid(scripts: Path) -> None:
    """Let the theme load what draws diagrams from the site itself.

    Raises:
        SystemExit: The theme loads it in another way than this knows.
    """
    (bundle,) = scripts.glob("bundle.*.js")
    text, count = _FOREIGN_MERMAID.subn(lambda _: _OWN_MERMAID, bundle.read_text())
    if count != 1:
        sys.exit("website/build.py: the theme has no address of mermaid that could be replaced.")
    bundle.write_text(text)
    shutil.copyfile(_MERMAID, scripts / "mermaid.js")


def name_versions(into: Path) -> None:
    """Write `versions.json`, newest first, and the page that leads to the newest."""
    folders = (path.name for path in into.iterdir() if _VERSION.fullmatch(path.name))
    versions = sorted(
        folders, key=lambda name: [int(each) for each in name.split(".")], reverse=True
    )
    listed = [
        {"version": name, "title": name, "aliases": ["latest"] if name == versions[0] else []}
        for name in versions
    ]
    (into / "versions.json").write_text(json.dumps(listed, indent=2) + "\n")
    (into / "index.html").write_text(
        f'<!doctype html><html lang="en"><title>Pagefault</title>'
        f'<meta http-equiv="refresh" content="0; url={versions[0]}/">'
        f'<a href="{versions[0]}/">Pagefault {versions[0]}</a></html>\n'
    )


if __name__ == "__main__":
    main()
