"""Programming languages: their names, the MIME types and the extensions of their files."""

import re

# Languages whose files end in their own names, and the endings of the others.
_NAMED_AS_FILES = (
    "c css dart diff go graphql groovy html java json jsx less lua php r scala scss sql svelte "
    "swift toml tsx vue xml yaml zig"
)
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


def find_language(name: object) -> str | None:
    """Return the language that a name stands for, as fences name it; `None` if it is no name."""
    if not isinstance(name, str):
        return None
    known = name.strip().lower()
    return known if known in _LANGUAGES else _ALIASES.get(known)


def language_of_type(mime_type: str) -> str | None:
    """Return the language of the files of a MIME type, which has no parameters."""
    found = _MIME_TYPE.fullmatch(mime_type)
    return find_language(found[1]) if found else None


def language_of_extension(extension: str) -> str | None:
    """Return the language of the files with an extension, which has no dot."""
    return _BY_EXTENSION.get(extension)


def extension_of_language(language: str) -> str:
    """Return the extension of the files of a language, with its dot."""
    own = language in _NAMED_AS_FILES.split()
    return f".{language if own else _EXTENSIONS[language].split()[0]}"
