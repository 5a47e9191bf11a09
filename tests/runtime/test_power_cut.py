"""A power cut at every single write and sync: nothing that was saved is ever forgotten."""

import random
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple

import pytest

from electorate.core import Asked, Members, Message, NodeId, Timing, Turns
from electorate.core.codec import Codec
from electorate.errors import StoreError
from electorate.runtime.instance import Instance
from electorate.runtime.store import Store
from tests.runtime.disk import Survival, Volume, opener
from tests.runtime.puppet import Do, Promise, Puppet, Say

SAVES = 12


class Kept(NamedTuple):
    """What a store has promised to remember."""

    identity: str | None = None
    incarnation: int = 0
    number: int = 0


class Life:
    """Saves one number after the other, until the power goes."""

    def __init__(self) -> None:
        self.kept = Kept()

    def run(self, store: Store) -> None:
        self.kept = self.kept._replace(identity=store.identity)
        self.kept = self.kept._replace(incarnation=store.begin_life())
        for number in range(1, SAVES + 1):
            data = str(number).encode().rjust(700)
            store.save({"one": data, "other": data})
            self.kept = self.kept._replace(number=number)
            store.meet(2, "s", number)


def cuts(folder: Path, syncing: str = "extra") -> Iterator[tuple[Life, Volume]]:
    """The same life with the power cut at each step, and all that can be left of its disk."""
    whole = Volume()
    with closing(Store(folder, 1, opener(whole, syncing=syncing))) as store:
        Life().run(store)
    for step in range(whole.steps + 1):
        for survival in Survival:
            volume, life = Volume(), Life()
            volume.cut_at = step
            with (
                suppress(StoreError),
                closing(Store(folder, 1, opener(volume, syncing=syncing))) as store,
            ):
                life.run(store)
            yield life, volume.after_a_cut(survival, random.Random(step))


def verify(folder: Path, kept: Kept, found: Volume) -> None:
    """What is found must be what was promised, or what was being saved when the power went."""
    with closing(Store(folder, 1, opener(found))) as store:
        one, other = store.load("one"), store.load("other")
        assert one == other, "half a transaction"
        number = 0 if one is None else int(one)
        assert number in (kept.number, kept.number + 1), (number, kept)
        if kept.identity is not None:
            assert store.identity == kept.identity
            assert not store.first_start
        assert store.incarnation in (kept.incarnation, kept.incarnation + 1)
        known = store.last_seen(2)
        assert (0 if known is None else known[1]) in (number, number - 1)


def test_what_was_saved_survives_a_cut_at_every_write_and_sync(tmp_path: Path) -> None:
    tried = 0
    for life, found in cuts(tmp_path):
        verify(tmp_path, life.kept, found)
        tried += 1
    assert tried > 300, "the test should have met many writes"


@pytest.mark.parametrize("syncing", ["off", "normal", "full"])
def test_a_store_that_syncs_less_would_be_found_out(tmp_path: Path, syncing: str) -> None:
    def is_sound(life: Life, found: Volume) -> bool:
        try:
            verify(tmp_path, life.kept, found)
        except (AssertionError, StoreError):
            return False
        return True

    results = [is_sound(life, found) for life, found in cuts(tmp_path, syncing)]
    assert results.count(False) > 20


class KeepingPort:
    """A port that saves on a disk, and remembers which promises have left the node."""

    def __init__(self, store: Store) -> None:
        self.sent: list[int] = []
        self._store = store

    def now_ms(self) -> float:
        return 0.0

    def keep(self, name: str, record: bytes) -> None:
        self._store.save({name: record})

    def send(self, instance: Instance, to: NodeId, message: Message) -> None:
        assert isinstance(message, Say)
        self.sent.append(int(message.text))

    def schedule(self, instance: Instance) -> None: ...

    def jitter(self, up_to: int) -> float:
        return 0.0


def promises(store: Store, sent: list[int], count: int) -> None:
    """A life of a machine that says what it has promised, and goes on from its last promise."""
    port = KeepingPort(store)
    port.sent = sent
    instance = Instance("election", Turns(Puppet(Members.of([1, 2]), Timing(1))), 1, port)
    store.begin_life()
    data = store.load("election")
    stable = None if data is None else Codec(Puppet).stable(data)
    instance.boot(stable, frozenset({1, 2}))
    first = stable.number if isinstance(stable, Promise) else 0
    for number in range(first + 1, first + count + 1):
        instance.take(Asked(Do((f"send 2 {number}", f"promise {number}"))))


def test_no_promise_that_has_left_a_node_is_ever_given_again(tmp_path: Path) -> None:
    """Three lives one after the other, the first two cut short after so many writes and syncs."""
    chance = random.Random(1)
    for step in range(150):
        sent: list[int] = []
        volume = Volume()
        for _ in range(2):
            volume.cut_at = volume.steps + step
            with pytest.raises(StoreError), closing(Store(tmp_path, 1, opener(volume))) as store:
                promises(store, sent, 100)
            volume = volume.after_a_cut(chance.choice(list(Survival)), chance)
        with closing(Store(tmp_path, 1, opener(volume))) as store:
            promises(store, sent, 3)
        assert sent == sorted(set(sent)), "a promise was given twice"
