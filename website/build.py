"""Build the documentation site: the pages, the HTTP reference, and a folder for each version.

    python -m website.build [--into build/site]

    build/site/
      index.html       redirects to the newest version
      versions.json    read by the version selector of the theme
      0.2.0/           one version; a broken link or anchor fails the build

The pages keep their relative paths, so links work in the repository and in the site. Existing
versions in the folder are kept: use the published folder with `--into`.
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
# Whole folders, and further pages that they link to.
FOLDERS: Final = ("docs", "examples", "deploy")
PAGES: Final = (
    "*.md",
    "LICENSE",
    "benchmarks/results.md",
    "tests/kit/README.md",
    "web/README.md",
    "clients/*/README.md",
    "packages/*/README.md",
)
SUFFIXES: Final = {
    ".md",
    ".png",
    ".txt",
    ".json",
    ".py",
    ".mjs",
    ".js",
    ".ts",
    ".yml",
    ".yaml",
    ".conf",
    ".service",
    "",
}
_MERMAID: Final = (
    ROOT / "website" / "node_modules" / "@mermaid-js" / "tiny" / "dist" / "mermaid.tiny.js"
)
# The theme loads Mermaid from another origin; the site has its own copy.
_FOREIGN_MERMAID: Final = re.compile(r'"https://unpkg\.com/mermaid@\d+/dist/mermaid\.min\.js"')
_OWN_MERMAID: Final = (
    """document.querySelector("script[src*='/bundle.']").src.replace(/[^/]*$/,"mermaid.js")"""
)
# The entry of the navigation before the pages of the tags.
_ROUTES: Final = '    { "All routes" = "reference/index.md" },'
_VERSION: Final = re.compile(r"\d+\.\d+\.\d+")


def main() -> None:
    """Build the site, and print its path."""
    parser = argparse.ArgumentParser(prog="python -m website.build", description=__doc__)
    parser.add_argument(
        "--into", type=Path, default=ROOT / "build" / "site", help="the folder of all versions"
    )
    into = parser.parse_args().into.resolve()
    stage()
    build(into / VERSION)
    write_versions(into)
    sys.stdout.write(f"The site is in {into}; start at {into / 'index.html'}.\n")


def stage() -> None:
    """Copy all pages and the reference into `build/website/pages`."""
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
    """Return the files of the pages; files that git ignores are left out."""
    names = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *FOLDERS,
         *(f":(glob){page}" for page in PAGES)],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    paths = [ROOT / name for name in names if (ROOT / name).is_file()]
    return [path for path in paths if path.suffix in SUFFIXES]


def build(into: Path) -> None:
    """Build the staged pages into a folder, which is replaced.

    Raises:
        SystemExit: A link or an anchor is broken, or a page of `docs/` is not in the navigation.
    """
    settings = (ROOT / "website" / "zensical.toml").read_text()
    (STAGED / "zensical.toml").write_text(settings.replace(_ROUTES, _route_pages()))
    missing = _missing_pages(settings)
    if missing:
        sys.exit(f"website/zensical.toml: add to `nav`: {', '.join(missing)}")
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
    if subprocess.run([*command, "-f", "zensical.toml"], cwd=STAGED, check=False).returncode:
        sys.exit("The site was not built: repair the links above.")
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


def _missing_pages(settings: str) -> list[str]:
    """Return the pages of `docs/` that are missing in the navigation."""
    docs = STAGED / "pages" / "docs"
    pages = sorted([*docs.glob("*.md"), *docs.glob("start/*.md")])
    names = [path.relative_to(STAGED / "pages").as_posix() for path in pages]
    return [name for name in names if f'"{name}"' not in settings]


def _use_own_mermaid(scripts: Path) -> None:
    """Make the theme load Mermaid from the site itself.

    Raises:
        SystemExit: The script of the theme does not have the expected URL of Mermaid.
    """
    (bundle,) = scripts.glob("bundle.*.js")
    text, count = _FOREIGN_MERMAID.subn(lambda _: _OWN_MERMAID, bundle.read_text())
    if count != 1:
        sys.exit("website/build.py: the script of the theme has no URL of Mermaid to replace.")
    bundle.write_text(text)
    shutil.copyfile(_MERMAID, scripts / "mermaid.js")


def write_versions(into: Path) -> None:
    """Write `versions.json`, newest first, and the redirect to the newest version."""
    folders = (path.name for path in into.iterdir() if _VERSION.fullmatch(path.name))
    versions = sorted(
        folders, key=lambda name: [int(word) for word in name.split(".")], reverse=True
    )
    entries = [
        {"version": name, "title": name, "aliases": ["latest"] if name == versions[0] else []}
        for name in versions
    ]
    (into / "versions.json").write_text(json.dumps(entries, indent=2) + "\n")
    (into / "index.html").write_text(
        f'<!doctype html><html lang="en"><title>Pagefault</title>'
        f'<meta http-equiv="refresh" content="0; url={versions[0]}/">'
        f'<a href="{versions[0]}/">Pagefault {versions[0]}</a></html>\n'
    )


if __name__ == "__main__":
    main()
