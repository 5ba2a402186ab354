"""One WebSocket: uvicorn's protocol, which no silent client keeps open."""

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

_PARTING_SECONDS = 5.0


class PartingProtocol(WebSocketsSansIOProtocol):
    """One WebSocket. A client that takes nothing cannot keep it, nor what was sent, to the end."""

    async def run_asgi(self) -> None:
        """Handle the connection, and drop what is not taken soon after."""
        await super().run_asgi()
        self.loop.call_later(_PARTING_SECONDS, self.transport.abort)

    def keepalive_timeout(self) -> None:
        """End a connection whose client does not answer: closing it would wait for that client."""
        super().keepalive_timeout()
        self.transport.abort()
