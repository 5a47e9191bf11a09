"""For how long a node is bound by what it has promised in its last life."""

import logging

import msgspec

from electorate.pace import Pace
from electorate.runtime.store import Store

RECORD = "pace"
SLOWER = "%s had a slower pace: it takes part once what it promised then has run out, in %d ms"

log = logging.getLogger("electorate")


class Pledge:
    """What was promised at a slower pace binds for as long as it did when it was promised."""

    def __init__(self, me: str, pace: Pace, store: Store, now_ms: float) -> None:
        self._granted_ms = pace.granted_ms
        self._store = store
        stored = store.load(RECORD)
        before_ms = 0 if stored is None else msgspec.msgpack.decode(stored, type=int)
        is_longer = before_ms > pace.granted_ms
        self.until_ms = now_ms + before_ms if is_longer else now_ms
        """When that has run out."""
        if is_longer:
            log.warning(SLOWER, me, before_ms)

    def renew(self) -> None:
        """From now on promises are made at the present pace."""
        self._store.save({RECORD: msgspec.msgpack.encode(self._granted_ms)})
