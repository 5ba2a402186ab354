"""The programming language of a text page, and its code in a fence for a model.

A language is told by `metadata.language`, else by the MIME type, else by a file name's extension,
unless the type says that it is prose.
`metadata.language` may as well name the language people speak in a transcript; what is no name of
a programming language is not understood as one.
"""

import re

from pagefault_dialects.model.page import Level, Page, PageFields

# Languages whose files end in their own names, and the endings of the others.
_NAMED_AS_FILES = (
    "c css dart diff go graphql groovy html java json jsx less lua php r scala scss sql svelte "
    "swift toml tsx vue xml yaml zig"
)
_EXTENSIONS = {
    "bash": "sh bash zsh",
    "c": "h",
    "clojure": "clj cljs",
    "cpp": "cc cpp cxx hpp hxx",
    "csharp": "cs",
    "diff": "patch",
    "elixir": "ex exs",
    "erlang": "erl",
    "fsharp": "fs fsx",
    "graphql": "gql",
    "groovy": "gradle",
    "haskell": "hs",
    "html": "htm",
    "javascript": "js mjs cjs",
    "julia": "jl",
    "kotlin": "kt kts",
    "ocaml": "ml mli",
    "perl": "pl pm",
    "powershell": "ps1",
    "protobuf": "proto",
    "python": "py pyi pyw",
    "ruby": "rb",
    "rust": "rs",
    "terraform": "tf",
    "typescript": "ts mts cts",
    "xml": "xsl xsd",
    "yaml": "yml",
}
_BY_EXTENSION = {name: name for name in _NAMED_AS_FILES.split()} | {
    extension: language for language, known in _EXTENSIONS.items() for extension in known.split()
}
_LANGUAGES = frozenset(_BY_EXTENSION.values())
# Other names, in `metadata.language` and behind `text/x-`. Codes of spoken languages are not among
# them: Czech (cs), Polish (pl), Serbo-Croatian (sh), Tsonga (ts).
_OTHER_NAMES = {
    "bash": "shell shellscript zsh",
    "c": "chdr csrc",
    "cpp": "c++ c++src c++hdr",
    "csharp": "c#",
    "diff": "patch",
    "fsharp": "f#",
    "go": "golang",
    "javascript": "ecmascript js",
    "python": "py python3 script.python",
    "ruby": "rb",
    "yaml": "yml",
}
_ALIASES = {name: language for language, names in _OTHER_NAMES.items() for name in names.split()}
# RFC 6648 took the meaning from `x-`: both spellings are met.
_MIME_TYPE = re.compile(r"(?:text|application)/(?:x-|vnd\.)?([a-z0-9+#.]{1,32})")
# What says that a text is prose, so that a name which looks like a file's is not asked.
_PROSE = frozenset({"text/plain", "text/markdown", "text/x-markdown"})
_SEPARATOR = re.compile(r"[/\\]")
_BACKTICKS = re.compile("`+")
_NAMES = ("filename", "file_name", "name", "path")
_LONGEST_NAME = 4_096


def language_of(page: Page) -> str | None:
    """Return the programming language a text page is written in, as fences name it."""
    if page.fields.modality != "text":
        return None
    media = page.full.media
    claimed = (page.fields.mime_type, media.mime_type if media else None)
    types = [(each or "").partition(";")[0].strip().lower() for each in claimed]
    names = [found[1] for each in types if (found := _MIME_TYPE.fullmatch(each))]
    named = map(_by_name, (page.fields.metadata.get("language"), *names))
    language = next(filter(None, named), None)
    if language is not None or not _PROSE.isdisjoint(types):
        return language
    return _by_file_name(page.fields, media.filename if media else None, page.page_id)


def shown_language(page: Page, level: Level) -> str | None:
    """Return the language of what a level shows; `None` for a tag or for words about the code."""
    representation = page.at(level)
    if representation is None or level is Level.REFERENCE:
        return None
    below = (held for at, held in page.levels.items() if at <= level)
    if any(held.origin == "supplied" for held in below):
        return None
    return language_of(page)


def fenced(code: str, language: str) -> str:
    """Return code between fences that are longer than any run of backticks in it."""
    longest = max((len(run.group()) for run in _BACKTICKS.finditer(code)), default=0)
    fence = "`" * max(3, longest + 1)
    end = "" if code.endswith("\n") or not code else "\n"
    return f"{fence}{language}\n{code}{end}{fence}"


def _by_name(name: object) -> str | None:
    if not isinstance(name, str):
        return None
    known = name.strip().lower()
    return known if known in _LANGUAGES else _ALIASES.get(known)


def _by_file_name(fields: PageFields, stored: str | None, page_id: str) -> str | None:
    """Return the language of the first name that has a known extension."""
    names = (stored, *(fields.metadata.get(name) for name in _NAMES))
    for name in names:
        if isinstance(name, str) and len(name) <= _LONGEST_NAME:
            language = _BY_EXTENSION.get(_extension(name))
            if language is not None:
                return language
    # A page's id is not made to be a file name: one letter behind a dot says nothing.
    extension = _extension(page_id)
    return _BY_EXTENSION.get(extension) if len(extension) > 1 else None


def _extension(name: str) -> str:
    """Return what stands behind the last dot of a file name; a title with blanks is none."""
    last_step = _SEPARATOR.split(name.strip())[-1]
    if "." not in last_step or any(map(str.isspace, last_step)):
        return ""
    return last_step.rpartition(".")[2].lower()
