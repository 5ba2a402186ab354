"""One WebSocket: uvicorn's protocol, which no silent client keeps open."""

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

_PARTING_SECONDS = 5.0
# What is told of a connection that ends without a closing frame (RFC 6455 §7.4.1).
_NO_CLOSE_FRAME = 1006


class PartingProtocol(WebSocketsSansIOProtocol):
    """One WebSocket. A client that takes nothing cannot keep it, nor what was sent, to the end."""

    async def run_asgi(self) -> None:
        """Handle the connection, and drop what is not taken soon after."""
        await super().run_asgi()
        self.loop.call_later(_PARTING_SECONDS, self.transport.abort)

    def handle_parser_exception(self) -> None:
        """End a connection whose client sends what is no frame, also before its handshake ends."""
        if self.conn.close_sent is not None:
            super().handle_parser_exception()
            return
        # Frames may only follow the answer to the handshake (RFC 6455 §4.1), so there is no code.
        self.queue.put_nowait({"type": "websocket.disconnect", "code": _NO_CLOSE_FRAME})
        self.transport.abort()

    def keepalive_timeout(self) -> None:
        """End a connection whose client does not answer: closing it would wait for that client."""
        super().keepalive_timeout()
        self.transport.abort()
