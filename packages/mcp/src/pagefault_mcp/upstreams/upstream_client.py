"""The client of a server at an address: it goes on where the server has moved on its own origin."""

from typing import Any

import httpx

_MOST_REDIRECTS = 5


class UpstreamClient(httpx.AsyncClient):
    """Sends requests, and again where the server says that an address has a slash, or none.

    Another origin gets nothing: headers have credentials, under any name.
    """

    async def send(
        self,
        request: httpx.Request,
        **options: Any,  # noqa: ANN401 - those of httpx
    ) -> httpx.Response:
        """Send a request; the answer is that of the last address, or another redirect."""
        answer = await super().send(request, **options)
        for _ in range(_MOST_REDIRECTS):
            again = answer.next_request
            # To many redirects a browser's answer is a GET, which has no message.
            if again is None or again.method != request.method or not _is_near(request, again):
                break
            await answer.aclose()
            answer = await super().send(again, **options)
        return answer


def _is_near(one: httpx.Request, other: httpx.Request) -> bool:
    here, there = one.url, other.url
    return (here.scheme, here.netloc) == (there.scheme, there.netloc)
