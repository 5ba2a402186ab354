"""Programming languages: their names, the MIME types and the extensions of their files."""

import re

# Languages whose names are extensions of their files.
_NAMED_AS_FILES = (
    "c css dart diff go graphql groovy html java json jsx less lua php r scala scss sql svelte "
    "swift toml tsx vue xml yaml zig"
)
# Other extensions by language. If the name of the language is not an extension, the first of these
# is the usual one.
_EXTENSIONS = {
    "bash": "sh bash zsh",
    "c": "h",
    "clojure": "clj cljs",
    "cpp": "cpp cc cxx hpp hxx",
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
    extension: language
    for language, extensions in _EXTENSIONS.items()
    for extension in extensions.split()
}
_LANGUAGES = frozenset(_BY_EXTENSION.values())
# Aliases that occur in `metadata.language` and after `text/x-`. Extensions that are also codes of
# natural languages are excluded: Czech (cs), Polish (pl), Serbo-Croatian (sh), Tsonga (ts).
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
# RFC 6648 deprecated `x-`: both spellings occur.
_MIME_TYPE = re.compile(r"(?:text|application)/(?:x-|vnd\.)?([a-z0-9+#.]{1,32})")


def find_language(name: object) -> str | None:
    """Return the language with a name or an alias, as code fences spell it; `None` if unknown."""
    if not isinstance(name, str):
        return None
    lower = name.strip().lower()
    return lower if lower in _LANGUAGES else _ALIASES.get(lower)


def language_of_type(mime_type: str) -> str | None:
    """Return the language of files with a MIME type, given without parameters."""
    found = _MIME_TYPE.fullmatch(mime_type)
    return find_language(found[1]) if found else None


def language_of_extension(extension: str) -> str | None:
    """Return the language of files with an extension, given without its dot."""
    return _BY_EXTENSION.get(extension)


def extension_of_language(language: str) -> str:
    """Return the extension of a language's files, with its dot."""
    is_extension = language in _NAMED_AS_FILES.split()
    return f".{language if is_extension else _EXTENSIONS[language].split()[0]}"
