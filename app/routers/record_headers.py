"""Headers of records. `Location` and `Link` are relative: no host is taken from a request."""

from collections.abc import Mapping
from urllib.parse import urlencode


def location(path: str) -> dict[str, str]:
    """Where the new thing is."""
    return {"Location": path}


def next_link(path: str, query: Mapping[str, str], next_cursor: str | None) -> dict[str, str]:
    """Where the next page of a list is (RFC 8288), if there is one."""
    if next_cursor is None:
        return {}
    parameters = urlencode({**query, "cursor": next_cursor})
    return {"Link": f'<{path}?{parameters}>; rel="next"'}
