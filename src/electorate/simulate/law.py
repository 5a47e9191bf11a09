"""What may happen when: the model of time and network that a simulation keeps to.

With bounded clocks these laws are strict, so that the runs of any other driver, above all of an
exhaustive one, can be checked against them. With unbounded clocks only the order of events counts.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from electorate.core import NodeId, Request, text_of
from electorate.trace import Order, Ties

if TYPE_CHECKING:
    from electorate.simulate.simulation import Envelope, SimulatedNode, Simulation


class IllegalStep(Exception):
    """A step that the setting of this run does not allow."""


def may_deliver(run: "Simulation", envelope: "Envelope") -> None:
    """A message is handed over in the network's order, within its bounds, to a node that reacts."""
    what = f"{envelope.sender}->{envelope.to} {type(envelope.message).__name__}"
    obstacle = run.obstacle(envelope)
    if obstacle is not None:
        raise IllegalStep(f"{what} cannot arrive: {obstacle}")
    may_take(run, run.nodes[envelope.to])
    earlier = overtaken(run, envelope)
    if earlier is not None:
        order = run.setting.order
        name = f"{earlier.sender}->{earlier.to} {type(earlier.message).__name__}"
        raise IllegalStep(f"{what} would overtake {name}, and the order is {order}")
    age = run.now - envelope.sent_at
    if run.setting.prompt and age < run.setting.delay_min:
        raise IllegalStep(f"{what} is {age} old, and takes at least {run.setting.delay_min}")


def overtaken(run: "Simulation", envelope: "Envelope") -> "Envelope | None":
    """The message that must come before this one in the network's order."""
    if run.setting.order in (Order.BAG, Order.SET):
        return None
    if run.setting.order is Order.FIFO:
        rivals = iter(envelope.channel.waiting)
    else:
        rivals = (rival for rival in run.in_flight() if rival.to == envelope.to)
    before = (r for r in rivals if r.number < envelope.number and run.obstacle(r) is None)
    return min(before, key=lambda rival: rival.number, default=None)


def may_take(run: "Simulation", node: "SimulatedNode", timer: str | None = None) -> None:
    """A node takes an event if it is up, not paused, and has no ended office to notice first."""
    if node.local is None:
        raise IllegalStep(f"{node.id} is down")
    if node.paused:
        raise IllegalStep(f"{node.id} is paused")
    ended = run.ended_office(node)
    if ended is not None and ended.timer != timer:
        raise IllegalStep(f"{node.id} {ended.timer} has ended its office and must fire first")


def not_offered(node: NodeId, offered: Iterable[Request], asked: str) -> IllegalStep:
    """A node is asked for something that is not open now."""
    may = ", ".join(map(text_of, offered)) or "nothing"
    return IllegalStep(f"{node} may be asked for {may} now, not {asked}")


def may_fire(run: "Simulation", node: "SimulatedNode", timer: str) -> None:
    """A timer fires when its time has come, after the messages whose bound is used up."""
    may_take(run, node, timer)
    armed = node.timers.get(timer)
    if armed is None:
        raise IllegalStep(f"{node.id} {timer} is not armed")
    if not run.setting.timed:
        return
    if run.now < armed.earliest:
        left = armed.earliest - run.now
        raise IllegalStep(f"{node.id} {timer} has {left} left")
    # The end of an office waits for nothing: it comes before any other event of its node. And
    # after a pause all that is due is handled in any order.
    assert node.local is not None
    is_first = timer in node.local.offices or node.woken
    closed = run.setting.prompt and run.setting.ties is Ties.MESSAGES_FIRST
    if closed and not is_first:
        for envelope in run.in_flight():
            is_due = envelope.sent_at + run.delay_max <= run.now
            if is_due and run.is_awaited(envelope) and not run.nodes[envelope.to].woken:
                what = f"{envelope.sender}->{envelope.to} {type(envelope.message).__name__}"
                raise IllegalStep(f"{node.id} {timer} cannot fire before {what}, which is due")


def may_tick(run: "Simulation", by: int) -> None:
    """Time does not pass over anything that is due at a node that reacts."""
    if by < 1:
        raise IllegalStep(f"time passes by at least 1, not {by}")
    if not run.setting.timed:
        return
    then = run.now + by
    for envelope in run.in_flight() if run.setting.prompt else ():
        if envelope.sent_at + run.delay_max < then and run.is_awaited(envelope):
            when = _in(envelope.sent_at + run.delay_max - run.now)
            what = f"{envelope.sender}->{envelope.to} {type(envelope.message).__name__}"
            raise IllegalStep(f"time cannot pass by {by}: {what} is due {when}")
    for node in run.nodes.values():
        if node.local is not None and node.reacts:
            if node.local.owes:
                owed = " or ".join(map(text_of, node.local.owes))
                raise IllegalStep(f"time cannot pass: {node.id} owes {owed}")
            for armed in node.timers.values():
                if armed.latest < then:
                    when = _in(armed.latest - run.now)
                    what = f"{node.id} {armed.timer}"
                    raise IllegalStep(f"time cannot pass by {by}: {what} is due {when}")


def may_see(run: "Simulation", node: "SimulatedNode", alive: frozenset[NodeId]) -> None:
    """A detector speaks of members, its own node too, and only to machines that use views."""
    if not run.machine.uses_views:
        raise IllegalStep(f"{type(run.machine).__name__} uses no views")
    strangers = sorted(alive - run.everybody)
    if strangers:
        raise IllegalStep(f"{strangers[0]} is not a member")
    if node.id not in alive:
        raise IllegalStep(f"{node.id} must be in its own view")
    may_take(run, node)


def _in(time: int) -> str:
    return "now" if time <= 0 else f"in {time}"
