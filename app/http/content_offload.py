"""Answers whose bytes somebody else sends: the proxy in front, or the bucket.

What is decided here stays decided: whether the caller has the bytes already, and which of them
there are. So only those requests are left to the other side that it is sure to understand alike.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from app.http.content_headers import ResourcePolicy, safe_headers
from app.http.ranges import ByteRange
from app.services.resources.content_sources import ProxyPath, Sender, StoreLink

# It would judge these once more, by tags and dates of its own, and answer 412 or 304.
_JUDGED_HERE = frozenset({"if-match", "if-unmodified-since", "if-modified-since"})

_PLAIN_RANGE = re.compile(r"bytes=(?:[0-9]{1,18}-[0-9]{0,18}|-[0-9]{1,18})", re.IGNORECASE)


class Offload(Protocol):
    """The ways to the bytes of a content that are not through here.

    See `app.services.resources.content_sources.ContentSource`.
    """

    async def path(self) -> Path | None:
        """The file of this machine that the bytes are, known to be there; `None` if none is."""
        ...

    def sender(self, size_bytes: int) -> Sender | None:
        """Who is to send the bytes, if there are so many of them; `None` for the service itself."""
        ...

    async def elsewhere(self, *, content_type: str, disposition: str) -> ProxyPath | StoreLink:
        """Where somebody else has the bytes, to be sent with these two headers."""
        ...


def can_offload(
    sender: Sender, fields: Mapping[str, str], spans: Sequence[ByteRange] | None
) -> bool:
    """Whether another server answers a GET, judged here, as it would be answered here.

    Args:
        sender: Which one.
        fields: The request's headers, by lower-case name.
        spans: The ranges to send, `None` for all of the content.
    """
    if not _JUDGED_HERE.isdisjoint(fields):
        return False
    if "range" not in fields:
        return True
    if not _PLAIN_RANGE.fullmatch(fields["range"]):
        # Lists of ranges, long numbers and gaps are taken in different ways, or refused.
        return False
    if "if-range" in fields and sender == "store":
        # The store has tags of its own. One of ours means nothing to it, and one that is none of
        # ours is likely from the part of its answer that the caller has.
        return spans is None
    return spans is not None


class OffloadResponse(Response):
    """Says where the bytes are: to the proxy, or to the caller.

    Args:
        ways: Asked when the answer is sent.
        headers: What the content is sent with, here or there.
        is_whole: Whether all of it is to be sent.
        resource_policy: Who may embed the content.
    """

    def __init__(
        self,
        ways: Offload,
        headers: Mapping[str, str],
        *,
        is_whole: bool,
        resource_policy: ResourcePolicy,
    ) -> None:
        self._ways = ways
        self._is_whole = is_whole
        self._content_headers = headers
        self._resource_policy: ResourcePolicy = resource_policy
        super().__init__()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the answer."""
        headers = self._content_headers
        place = await self._ways.elsewhere(
            content_type=headers["Content-Type"], disposition=headers["Content-Disposition"]
        )
        if isinstance(place, StoreLink):
            answer = self._sent_to(place.url)
        else:
            answer = Response(headers={**headers, "X-Accel-Redirect": place.path})
            # The proxy counts what it is going to send by itself.
            del answer.headers["Content-Length"]
            if self._is_whole:
                # nginx says so too, though not of a part.
                del answer.headers["Accept-Ranges"]
        await answer(scope, receive, send)

    def _sent_to(self, url: str) -> Response:
        # The address is as good as a key for as long as it lives: nobody keeps it, or passes it on.
        headers = {"Location": url, "Cache-Control": "no-store"}
        return Response(status_code=307, headers=headers | safe_headers(self._resource_policy))
