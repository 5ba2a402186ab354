"""Idempotency keys: which request a key was used for, and what it was answered with."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement

from app.stores.records.scope import read_row
from app.stores.records.tables import idempotency_keys
from app.stores.records.unit_of_work import Repository

KEPT = timedelta(hours=24)
"""The time that keys are kept with their answers."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A key in use: the SHA-256 of its request, when, and the id of the answer if there is one.

    `claim_id` is that of the request which holds it, `None` if an older version has claimed it.
    """

    request_digest: str
    claimed_at: datetime
    answer_id: str | None
    claim_id: str | None


class IdempotencyRecords(Repository):
    """The idempotency keys of one project."""

    def claim(
        self, route: str, key: str, request_digest: str, now: datetime, *, claim_id: str
    ) -> Claim | None:
        """Take a key for a request; `None` if it was free, else the claim that holds it.

        `claim_id` is the request's own: it tells the claim from one that takes it over.
        """
        taken = self._scope.insert_if_absent(
            idempotency_keys,
            route=route,
            idempotency_key=key,
            request_digest=request_digest,
            claimed_at=now,
            claim_id=claim_id,
        )
        if taken:
            return None
        row = self._scope.find(idempotency_keys, route=route, idempotency_key=key)
        return read_row(Claim, row) if row else None

    def take_over(
        self,
        route: str,
        key: str,
        over: Claim,
        *,
        request_digest: str,
        now: datetime,
        claim_id: str,
    ) -> Claim | None:
        """Take a key whose claim is over; `None` if it was still that claim, else the one there is.

        One statement does both, so that of two who take over at once, one does.
        """
        taken = self._scope.set_values(
            idempotency_keys,
            *_is(route, key),
            idempotency_keys.c.claimed_at == over.claimed_at,
            idempotency_keys.c.claim_id.is_not_distinct_from(over.claim_id),
            idempotency_keys.c.answer_id.is_not_distinct_from(over.answer_id),
            request_digest=request_digest,
            claimed_at=now,
            claim_id=claim_id,
            answer_id=None,
        )
        if taken:
            return None
        # Where it has been freed meanwhile, the key is claimed as any that is free.
        return self.claim(route, key, request_digest, now, claim_id=claim_id)

    def answer(self, route: str, key: str, answer_id: str, *, claim_id: str) -> bool:
        """Note the answer of the request that holds the key; says whether it still does.

        The row is held until the transaction ends, so that nobody takes the claim over before.
        """
        noted = self._scope.set_values(
            idempotency_keys,
            *_is(route, key),
            idempotency_keys.c.claim_id == claim_id,
            answer_id=answer_id,
        )
        return noted > 0

    def abandon(self, route: str, key: str, *, claim_id: str) -> None:
        """Free a key that has no answer; one that has, or that another request has, is kept."""
        self._scope.remove(
            idempotency_keys,
            *_is(route, key),
            idempotency_keys.c.claim_id == claim_id,
            idempotency_keys.c.answer_id.is_(None),
        )

    def free_all(self, routes: Sequence[str], beginning: str) -> None:
        """Free all keys of routes that begin with these hexadecimal digits, answered or not."""
        key = idempotency_keys.c.idempotency_key
        self._scope.remove(
            idempotency_keys,
            idempotency_keys.c.route.in_(routes),
            # By an index; `startswith` reads the keys of all sessions.
            key >= beginning,
            key < f"{beginning}g",
        )

    def purge(self, claimed_before: datetime) -> int:
        """Free all keys that were taken before a moment, answered or not; says how many."""
        is_old = idempotency_keys.c.claimed_at < claimed_before
        return self._scope.remove(idempotency_keys, is_old)


def _is(route: str, key: str) -> tuple[ColumnElement[bool], ...]:
    return idempotency_keys.c.route == route, idempotency_keys.c.idempotency_key == key
