"""Idempotency keys: the request of each key, and the id of the record that it created."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import bindparam

from app.stores.records.scope import read_row
from app.stores.records.statements import is_among, scoped_delete, scoped_select, scoped_update
from app.stores.records.tables import idempotency_keys
from app.stores.records.unit_of_work import Repository

KEPT = timedelta(hours=24)
"""The time for which keys are stored."""

_COLUMNS = idempotency_keys.c
_KEY = ("route", "idempotency_key")
_FIND = scoped_select(idempotency_keys, by=_KEY)
_UPDATE = scoped_update(idempotency_keys, by={"route": "of_route", "idempotency_key": "of_key"})
_TAKE_OVER = _UPDATE.where(
    _COLUMNS.claimed_at == bindparam("was_claimed_at"),
    _COLUMNS.claim_id.is_not_distinct_from(bindparam("was_claim_id")),
    _COLUMNS.answer_id.is_not_distinct_from(bindparam("was_answer_id")),
)
_ANSWER = _UPDATE.where(_COLUMNS.claim_id == bindparam("of_claim"))
_ABANDON = scoped_delete(idempotency_keys, by=[*_KEY, "claim_id"]).where(
    _COLUMNS.answer_id.is_(None)
)
# A range, for which the databases use the index; `startswith` would read all keys.
_FREE = scoped_delete(idempotency_keys).where(
    is_among(_COLUMNS.route, "routes"),
    _COLUMNS.idempotency_key >= bindparam("first"),
    _COLUMNS.idempotency_key < bindparam("end"),
)
_PURGE = scoped_delete(idempotency_keys).where(_COLUMNS.claimed_at < bindparam("before"))


@dataclass(frozen=True, slots=True)
class Claim:
    """A claimed key: the SHA-256 of its request, the time, and the id of the created record.

    `answer_id` is `None` while the request runs. `claim_id` identifies the request that has claimed
    the key; `None` if an older version did.
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
        """Claim a key for a request; return `None` if it was free, else the existing claim.

        `claim_id` is unique to the request, and distinguishes the claim from later ones.
        """
        is_claimed = self._scope.insert_if_absent(
            idempotency_keys,
            route=route,
            idempotency_key=key,
            request_digest=request_digest,
            claimed_at=now,
            claim_id=claim_id,
        )
        if is_claimed:
            return None
        row = self._scope.first(_FIND, route=route, idempotency_key=key)
        return read_row(Claim, row) if row else None

    def take_over(
        self,
        route: str,
        key: str,
        expired: Claim,
        *,
        request_digest: str,
        now: datetime,
        claim_id: str,
    ) -> Claim | None:
        """Claim a key whose previous claim has expired.

        One statement compares and replaces the claim, so only one of several requests succeeds.

        Returns:
            `None`, or the claim of another request that has replaced `expired` before.
        """
        is_claimed = self._scope.run(
            _TAKE_OVER,
            of_route=route,
            of_key=key,
            was_claimed_at=expired.claimed_at,
            was_claim_id=expired.claim_id,
            was_answer_id=expired.answer_id,
            request_digest=request_digest,
            claimed_at=now,
            claim_id=claim_id,
            answer_id=None,
        )
        if is_claimed:
            return None
        # The key may have been released.
        return self.claim(route, key, request_digest, now, claim_id=claim_id)

    def answer(self, route: str, key: str, answer_id: str, *, claim_id: str) -> bool:
        """Store the id of the created record; return whether the request still has the key.

        The row is locked until the transaction ends, so the claim cannot be taken over before.
        """
        stored = self._scope.run(
            _ANSWER, of_route=route, of_key=key, of_claim=claim_id, answer_id=answer_id
        )
        return stored > 0

    def abandon(self, route: str, key: str, *, claim_id: str) -> None:
        """Release a key that the request has claimed, if no record was created."""
        self._scope.run(_ABANDON, route=route, idempotency_key=key, claim_id=claim_id)

    def free_all(self, routes: Sequence[str], beginning: str) -> None:
        """Release all keys of routes that begin with the hexadecimal digits `beginning`."""
        self._scope.run(_FREE, routes=routes, first=beginning, end=f"{beginning}g")

    def purge(self, claimed_before: datetime) -> int:
        """Remove all keys that were claimed before a time; return their number."""
        return self._scope.run(_PURGE, before=claimed_before)
