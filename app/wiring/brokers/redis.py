"""Notifications over Redis, by PUBLISH and SUBSCRIBE; needs the extra `redis`."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from time import monotonic

from redis.asyncio import Redis
from redis.asyncio.client import PubSub
from redis.asyncio.connection import parse_url
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from app.wiring.brokers.notifications import CHANNEL, REPLY_SECONDS, Receive, Send


class RedisChannel:
    """A channel over Redis; see `NotificationChannel`.

    Args:
        url: The URL of the server, such as `redis://host:6379`.

    Raises:
        ValueError: The URL is invalid.
    """

    errors = (RedisError, OSError)
    advice = (
        "events of other processes come up to a second late; look whether the server of "
        "PAGEFAULT_EVENTS__REDIS_URL runs and can be reached"
    )

    def __init__(self, url: str) -> None:
        self._url = url
        # The databases of a Redis server share their channels, so the name contains the database.
        database = parse_url(url).get("db", 0)
        self._channel_name = f"{CHANNEL}:{database}"

    @asynccontextmanager
    async def sender(self) -> AsyncIterator[Send]:
        """See NotificationChannel."""
        async with self._client() as client:
            yield partial(client.publish, self._channel_name)

    @asynccontextmanager
    async def receiver(self) -> AsyncIterator[Receive]:
        """See NotificationChannel."""
        async with self._client() as client, client.pubsub() as subscription:
            await subscription.subscribe(self._channel_name)
            yield partial(_receive, subscription)

    def _client(self) -> Redis:
        # Without retries, because the broker connects again, and then wakes its listener.
        return Redis.from_url(
            self._url,
            decode_responses=True,
            retry=Retry(NoBackoff(), 0),
            socket_connect_timeout=REPLY_SECONDS,
        )


async def _receive(subscription: PubSub, seconds: float) -> AsyncIterator[str]:
    end = monotonic() + seconds
    while (timeout := end - monotonic()) > 0:
        message = await subscription.get_message(ignore_subscribe_messages=True, timeout=timeout)
        if message is not None:
            yield message["data"]
