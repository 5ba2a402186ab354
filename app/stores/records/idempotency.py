"""Idempotency keys: which request a key was used for, and what it was answered with."""

from dataclasses import dataclass
from datetime import datetime

from app.stores.records.scope import ProjectScope
from app.stores.records.tables import idempotency_keys


@dataclass(frozen=True, slots=True)
class Claim:
    """A key in use: the SHA-256 of its request, when, and the id of the answer if there is one."""

    request_digest: str
    claimed_at: datetime
    answer_id: str | None


class IdempotencyRecords:
    """The idempotency keys of one project."""

    def __init__(self, scope: ProjectScope) -> None:
        self._scope = scope

    async def claim(self, route: str, key: str, request_digest: str, now: datetime) -> Claim | None:
        """Take a key for a request; `None` if it was free, else the claim that holds it."""
        taken = await self._scope.insert_if_absent(
            idempotency_keys,
            route=route,
            idempotency_key=key,
            request_digest=request_digest,
            claimed_at=now,
        )
        if taken:
            return None
        row = await self._scope.first(
            self._scope.select(idempotency_keys).where(
                idempotency_keys.c.route == route, idempotency_keys.c.idempotency_key == key
            )
        )
        return Claim(row.request_digest, row.claimed_at, row.answer_id) if row else None

    async def answer(self, route: str, key: str, answer_id: str) -> None:
        """Note the answer of the request that holds the key."""
        await self._scope.run(
            self._scope.update(idempotency_keys)
            .where(idempotency_keys.c.route == route, idempotency_keys.c.idempotency_key == key)
            .values(answer_id=answer_id)
        )

    async def abandon(self, route: str, key: str) -> None:
        """Free a key that has no answer; one that has keeps it."""
        await self._scope.run(
            self._scope.delete(idempotency_keys).where(
                idempotency_keys.c.route == route,
                idempotency_keys.c.idempotency_key == key,
                idempotency_keys.c.answer_id.is_(None),
            )
        )

    async def purge(self, claimed_before: datetime) -> int:
        """Free all keys that were taken before a moment, answered or not; says how many."""
        return await self._scope.run(
            self._scope.delete(idempotency_keys).where(
                idempotency_keys.c.claimed_at < claimed_before
            )
        )

    async def release(self, route: str, key: str) -> None:
        """Free a key, whether answered or not."""
        await self._scope.run(
            self._scope.delete(idempotency_keys).where(
                idempotency_keys.c.route == route, idempotency_keys.c.idempotency_key == key
            )
        )
