"""What may happen when: the model of time and network that a cluster keeps to.

With bounded clocks these laws are strict, so that a run found by any other driver, an exhaustive
one above all, can be held against them. With unbounded clocks only the order of events counts.
"""

from collections.abc import Iterable

from electorate.core import NodeId, Request, text_of
from electorate.simulate.world import Envelope, Node, World
from electorate.trace import Order, Ties


class IllegalStep(Exception):
    """A step that the setting of this run does not allow."""


def may_deliver(world: World, envelope: Envelope) -> None:
    """A message is handed over in the network's order, within its bounds, to a node that reacts."""
    what = f"{envelope.sender}->{envelope.to} {type(envelope.message).__name__}"
    obstacle = world.obstacle(envelope)
    if obstacle is not None:
        raise IllegalStep(f"{what} cannot arrive: {obstacle}")
    may_take(world, world.nodes[envelope.to])
    earlier = overtaken(world, envelope)
    if earlier is not None:
        order = world.setting.order
        name = f"{earlier.sender}->{earlier.to} {type(earlier.message).__name__}"
        raise IllegalStep(f"{what} would overtake {name}, and the order is {order}")
    age = world.now - envelope.sent_at
    if world.setting.prompt and age < world.setting.delay_min:
        raise IllegalStep(f"{what} is {age} old, and takes at least {world.setting.delay_min}")


def overtaken(world: World, envelope: Envelope) -> Envelope | None:
    """The message that the network's order puts before this one."""
    if world.setting.order in (Order.BAG, Order.SET):
        return None
    if world.setting.order is Order.FIFO:
        rivals = iter(envelope.channel.waiting)
    else:
        rivals = (rival for rival in world.in_flight() if rival.to == envelope.to)
    before = (r for r in rivals if r.number < envelope.number and world.obstacle(r) is None)
    return min(before, key=lambda rival: rival.number, default=None)


def may_take(world: World, node: Node, timer: str | None = None) -> None:
    """A node takes an event if it is up, not paused, and has no ended office to notice first."""
    if node.local is None:
        raise IllegalStep(f"{node.id} is down")
    if node.paused:
        raise IllegalStep(f"{node.id} is paused")
    ended = world.ended_office(node)
    if ended is not None and ended.timer != timer:
        raise IllegalStep(f"{node.id} {ended.timer} has ended its office and must fire first")


def not_offered(node: NodeId, offered: Iterable[Request], asked: str) -> IllegalStep:
    """A node is asked for something that is not open now."""
    may = ", ".join(map(text_of, offered)) or "nothing"
    return IllegalStep(f"{node} may be asked for {may} now, not {asked}")


def may_fire(world: World, node: Node, timer: str) -> None:
    """A timer fires when its time has come, after the messages whose bound is used up."""
    may_take(world, node, timer)
    armed = node.timers.get(timer)
    if armed is None:
        raise IllegalStep(f"{node.id} {timer} is not armed")
    if not world.setting.timed:
        return
    if world.now < armed.earliest:
        left = armed.earliest - world.now
        raise IllegalStep(f"{node.id} {timer} has {left} left")
    # The end of an office waits for nothing: it comes before any other event of its node. And
    # after a pause all that is due is handled in any order.
    assert node.local is not None
    is_first = timer in node.local.offices or node.woken
    closed = world.setting.prompt and world.setting.ties is Ties.MESSAGES_FIRST
    if closed and not is_first:
        for envelope in world.in_flight():
            is_due = envelope.sent_at + world.delay_max <= world.now
            if is_due and world.is_awaited(envelope) and not world.nodes[envelope.to].woken:
                what = f"{envelope.sender}->{envelope.to} {type(envelope.message).__name__}"
                raise IllegalStep(f"{node.id} {timer} cannot fire before {what}, which is due")


def may_tick(world: World, by: int) -> None:
    """Time does not pass over anything that is due at a node that reacts."""
    if by < 1:
        raise IllegalStep(f"time passes by at least 1, not {by}")
    if not world.setting.timed:
        return
    then = world.now + by
    for envelope in world.in_flight() if world.setting.prompt else ():
        if envelope.sent_at + world.delay_max < then and world.is_awaited(envelope):
            when = _in(envelope.sent_at + world.delay_max - world.now)
            what = f"{envelope.sender}->{envelope.to} {type(envelope.message).__name__}"
            raise IllegalStep(f"time cannot pass by {by}: {what} is due {when}")
    for node in world.nodes.values():
        if node.local is not None and node.reacts:
            if node.local.owes:
                owed = " or ".join(map(text_of, node.local.owes))
                raise IllegalStep(f"time cannot pass: {node.id} owes {owed}")
            for armed in node.timers.values():
                if armed.latest < then:
                    when = _in(armed.latest - world.now)
                    what = f"{node.id} {armed.timer}"
                    raise IllegalStep(f"time cannot pass by {by}: {what} is due {when}")


def may_see(world: World, node: Node, alive: frozenset[NodeId]) -> None:
    """A detector speaks of members, of its own node too, and only to machines that listen."""
    if not world.machine.uses_views:
        raise IllegalStep(f"{type(world.machine).__name__} uses no views")
    strangers = sorted(alive - world.everybody)
    if strangers:
        raise IllegalStep(f"{strangers[0]} is not a member")
    if node.id not in alive:
        raise IllegalStep(f"{node.id} must be in its own view")
    may_take(world, node)


def _in(time: int) -> str:
    return "now" if time <= 0 else f"in {time}"
