"""What LangChain adds to every content block: an id, a number, an outer place for names.

Its constructors give each block an id of their own (`lc_` and a UUID), count the pieces of a stream
in `index`, and put what its standard has no member for into `extras`.
"""

from typing import TypeVar

_OWN = "lc_"

_Member = TypeVar("_Member")


def is_of_langchain(block: dict[str, _Member]) -> bool:
    """Return whether a block has an id that LangChain has made."""
    return str(block.get("id", "")).startswith(_OWN)


def without_frame(block: dict[str, _Member]) -> dict[str, _Member]:
    """Return a block without what LangChain adds, with its file name where others have it."""
    made = {
        key
        for key in ("id", "index")
        if isinstance(block.get(key), int) or str(block.get(key, "")).startswith(_OWN)
    }
    bare = {key: value for key, value in block.items() if key not in made}
    extras = bare.get("extras")
    if not isinstance(extras, dict) or not isinstance(extras.get("filename"), str):
        return bare
    if "filename" in bare:
        return bare
    rest = {key: value for key, value in extras.items() if key != "filename"}
    return {**bare, "filename": extras["filename"], "extras": rest}
