"""Broken drivers of the network (see broken.py), in each of the ways in which it is used.

A few can be broken so in one use only; it is said at each why.
"""

from typing import Any

import pytest
from msgspec.structs import replace

from electorate.core import CancelTimer, Event, NodeId, Stable, State, TimedOut, Turn, Viewed
from electorate.leadership.election import PREFIX as OFFICE
from electorate.leadership.election import QuorumElection
from electorate.runtime.connection import Link
from electorate.runtime.frame import Frame, Letter
from electorate.runtime.host import GroupCommit, Host
from electorate.runtime.instance import Instance, Owner
from electorate.runtime.node import INSTANCE
from electorate.runtime.recorder import InstanceRecorder
from electorate.runtime.store import Store
from electorate.transactions import host as transactions
from electorate.transactions.instance import TransactionInstance
from electorate.transactions.letter import PREFIX as TRANSACTION
from tests.conformance import clock_rule, record_rule, rule
from tests.conformance.broken import Ways
from tests.conformance.driver import USES
from tests.conformance.lodging import PROBE, ProbeTransaction
from tests.conformance.probe import Probe

NODES = Ways(*USES)


def is_probe(instance: Instance) -> bool:
    """Whether it is the instance that is looked at; what else a node hosts has to go on working."""
    return isinstance(instance.machine, Probe)


def host_of(instance: Instance) -> Host:
    assert isinstance(instance._port, Host)
    return instance._port


@NODES.noticed_by(rule.durable_before_the_first_effect, "speech")
def a_node_that_sends_before_it_saves(patch: pytest.MonkeyPatch) -> None:
    whole = GroupCommit._carry_out

    def carry_out(self: GroupCommit) -> None:
        records, self._records = self._records, {}
        whole(self)
        if records:
            self._store.save(records)

    patch.setattr(GroupCommit, "_carry_out", carry_out)


@NODES.noticed_by(rule.a_crash_leaves_what_was_saved_and_nothing_else, "speech")
def a_node_that_never_looks_at_its_store(patch: pytest.MonkeyPatch) -> None:
    whole = Store.load

    def load(self: Store, instance: str) -> bytes | None:
        is_the_probe = instance in (INSTANCE, OFFICE + PROBE, TRANSACTION + PROBE)
        return None if is_the_probe else whole(self, instance)

    patch.setattr(Store, "load", load)
    patch.setattr(transactions, "records", lambda store: {})


@NODES.noticed_by(rule.durable_before_the_first_effect, "office")
def a_node_that_keeps_nothing(patch: pytest.MonkeyPatch) -> None:
    for owner in (Owner, QuorumElection, ProbeTransaction):
        patch.setattr(owner, "packed", lambda self, stable: None)


# Only elections know a member by another number than the network does.
@NODES.noticed_by(rule.messages_are_genuine, "speech", only=("leadership",))
def a_node_that_once_takes_a_member_for_its_name(patch: pytest.MonkeyPatch) -> None:
    whole = QuorumElection.hear
    strangers: list[NodeId] = []

    def hear(self: QuorumElection, sender: NodeId, *given: Any) -> None:
        line = (host_of(self._instance).admission.routes or {})[sender]
        if line != sender and not strangers:
            strangers.append(sender)
            sender = line
        whole(self, sender, *given)

    patch.setattr(QuorumElection, "hear", hear)


# Only instances of transactions are removed while their host goes on.
@NODES.noticed_by(clock_rule.a_timer_fires_once_per_setting, "clock", only=("transactions",))
def a_node_that_goes_on_with_what_was_removed(patch: pytest.MonkeyPatch) -> None:
    def remove(self: Host, instance: Instance) -> None:
        if instance.record is not None:
            instance.record.ended(over=True)
        del self.instances[instance.name]

    patch.setattr(Host, "remove", remove)


# Only transactions wrap what their machines say.
@NODES.noticed_by(rule.messages_are_genuine, "speech", only=("transactions",))
def a_node_that_wraps_what_it_said_last(patch: pytest.MonkeyPatch) -> None:
    whole, last = TransactionInstance.wrapped, [b""]

    def wrapped(self: TransactionInstance, body: bytes) -> bytes:
        last[0] = last[0] or body
        return whole(self, last[0])

    patch.setattr(TransactionInstance, "wrapped", wrapped)


@NODES.noticed_by(rule.effects_in_order, "speech")
def a_node_that_carries_out_the_last_effect_first(patch: pytest.MonkeyPatch) -> None:
    whole = Instance._carry_out

    def carry_out(self: Instance, turn: Turn, *given: Any) -> None:
        effects = turn.effects[::-1] if is_probe(self) else turn.effects
        whole(self, Turn(turn.state, effects), *given)

    patch.setattr(Instance, "_carry_out", carry_out)


@NODES.noticed_by(rule.channels_keep_their_order, "speech")
def a_node_whose_letters_overtake_one_another(patch: pytest.MonkeyPatch) -> None:
    whole = Link.send

    def send(self: Link, frame: Frame) -> None:
        if isinstance(frame, Letter):
            frame = replace(frame, said=frame.said[::-1])
        whole(self, frame)

    patch.setattr(Link, "send", send)


@NODES.noticed_by(rule.one_event_at_a_time, "speech")
def a_node_that_forgets_a_turn(patch: pytest.MonkeyPatch) -> None:
    whole = Instance._take

    def take(self: Instance, event: Event, letterhead: Any = None, **given: Any) -> None:
        before = self.state
        whole(self, event, letterhead, **given)
        if isinstance(event, Viewed) and is_probe(self):
            self.state = before

    patch.setattr(Instance, "_take", take)


@NODES.noticed_by(rule.self_sends_are_handled_next, "speech")
def a_node_that_hears_itself_backwards(patch: pytest.MonkeyPatch) -> None:
    whole = Instance._settle

    def settle(self: Instance) -> None:
        if is_probe(self):
            self._said.reverse()
        whole(self)

    patch.setattr(Instance, "_settle", settle)


@NODES.noticed_by(rule.the_first_event_is_a_view, "speech")
def a_node_that_hears_itself_before_it_looks_around(patch: pytest.MonkeyPatch) -> None:
    whole = Instance._take

    def take(self: Instance, event: Event, letterhead: Any = None, **given: Any) -> None:
        if isinstance(event, Viewed) and is_probe(self):
            self._settle()
        whole(self, event, letterhead, **given)

    patch.setattr(Instance, "_take", take)


@NODES.noticed_by(clock_rule.the_last_order_to_a_timer_counts, "clock")
def a_node_that_ignores_cancels(patch: pytest.MonkeyPatch) -> None:
    whole = Instance._carry_out

    def carry_out(self: Instance, turn: Turn, *given: Any) -> None:
        kept = (e for e in turn.effects if not (isinstance(e, CancelTimer) and is_probe(self)))
        whole(self, Turn(turn.state, tuple(kept)), *given)

    patch.setattr(Instance, "_carry_out", carry_out)


# Elections and transactions go on where the life of their host ends; `removed` is their like.
@NODES.noticed_by(clock_rule.a_timer_fires_once_per_setting, "clock", only=("network",))
def a_node_whose_timers_survive_a_life(patch: pytest.MonkeyPatch) -> None:
    def halt(self: Instance) -> None:
        self.state = None
        self._said.clear()

    patch.setattr(Instance, "halt", halt)


@NODES.noticed_by(clock_rule.timers_count_from_when_the_event_was_taken_up, "clock")
def a_node_whose_timers_wait_for_the_store(patch: pytest.MonkeyPatch) -> None:
    whole = Instance._carry_out

    def carry_out(self: Instance, turn: Turn, saved: Stable | None, taken: float) -> None:
        if not is_probe(self):
            whole(self, turn, saved, taken)
            return
        if turn.state.stable != saved:
            self._save(turn.state.stable)
            record = self.owner.packed(turn.state.stable)
            host_of(self).save({self.name: record})
        now = self._port.now_ms()
        whole(self, turn, turn.state.stable, now)

    patch.setattr(Instance, "_carry_out", carry_out)


@NODES.noticed_by(clock_rule.an_office_that_has_run_out_ends_first, "office")
def a_node_that_does_not_look_at_its_office(patch: pytest.MonkeyPatch) -> None:
    whole = Instance._office_over
    patch.setattr(Instance, "_office_over", lambda self: None if is_probe(self) else whole(self))


@NODES.noticed_by(record_rule.a_record_can_be_run_again, "office")
def a_node_that_does_not_write_down_its_timers(patch: pytest.MonkeyPatch) -> None:
    whole = InstanceRecorder.took

    def took(
        self: InstanceRecorder,
        event: Event,
        state: State,
        letterhead: Any = None,
        source: str | None = None,
    ) -> None:
        if not isinstance(event, TimedOut):
            whole(self, event, state, letterhead)

    patch.setattr(InstanceRecorder, "took", took)
