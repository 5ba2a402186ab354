"""The HTTP client of a server at an address, which follows redirects on the same origin."""

from typing import Any

import httpx

_MOST_REDIRECTS = 5


class UpstreamClient(httpx.AsyncClient):
    """A client that follows redirects, such as those that add or remove a trailing slash.

    Redirects to another origin are not followed, since any header may have credentials.
    """

    async def send(
        self,
        request: httpx.Request,
        **options: Any,  # noqa: ANN401 - those of httpx
    ) -> httpx.Response:
        """Send a request; return the last answer, which may be a redirect."""
        answer, url = await super().send(request, **options), request.url
        for _ in range(_MOST_REDIRECTS):
            redirected = answer.next_request
            # Some redirects change the method to GET, which has no body.
            if redirected is None or redirected.method != request.method:
                break
            if (redirected.url.scheme, redirected.url.netloc) != (url.scheme, url.netloc):
                break
            await answer.aclose()
            answer = await super().send(redirected, **options)
        return answer
