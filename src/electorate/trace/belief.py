"""What a node believes about the leadership, and how that changes, in words."""

from collections.abc import Iterator, Mapping

from electorate.core import Choice, Decision, NodeId, Stage, Standing, Status, text_of
from electorate.trace.word import listed, nodes_text


def first_belief(me: NodeId, new: Standing) -> str:
    """The words for a node that has just booted."""
    if isinstance(new, Decision):
        return _stage(me, new, single=True)
    decides = "".join(f" and {text}" for text in _decides(None, new))
    if new.status is Status.ELECTION:
        return "enters an election" + decides
    return _stand(me, new, single=True) + _token(None, new) + _office(me, new) + decides


def change_of(
    me: NodeId, old: Standing, new: Standing, named: NodeId | None = None
) -> Iterator[str]:
    """What a node believes now and did not before; `named` is the node just spoken of."""
    if isinstance(new, Decision) and isinstance(old, Decision):
        yield from _progress(me, old, new)
        return
    if (old.status, old.leader) == (new.status, new.leader):
        yield from _small_change(me, old, new)
    else:
        yield from _large_change(me, old, new, named)
    yield from _decides(old, new)


def _large_change(me: NodeId, old: Standing, new: Standing, named: NodeId | None) -> Iterator[str]:
    """How a node comes to follow another one, or goes into an election."""
    follows_other = Status.NORMAL is old.status is new.status and me not in (old.leader, new.leader)
    instead = ""
    if old.leader is not None and old.leader != new.leader:
        if old.leader == me:
            yield "gives up the lead"
        elif follows_other and new.leader is not None:
            instead = f" instead of node {old.leader}"
        else:
            yield f"gives {'it up' if old.leader == named else f'up node {old.leader}'} as leader"
    if new.status is Status.ELECTION:
        if old.status is not new.status:
            yield "enters an election"
        if new.leader is not None and new.leader != old.leader:
            yield f"takes {'itself' if new.leader == me else f'node {new.leader}'} for the leader"
    else:
        known = _group(old, new) + _token(old, new)
        yield _arrival(me, old, new) + instead + known + _office(me, new)


def _decides(old: Standing | None, new: Standing) -> Iterator[str]:
    """What a node has just decided."""
    before = [] if old is None else _decided(old)
    for value in _decided(new):
        if value not in before:
            yield f"decides on {value}" if old else f"has decided on {value}"


def _decided(standing: Standing) -> list[int]:
    """The value that a node has decided on, if it has."""
    if isinstance(standing, Choice) and standing.decided is not None:
        return [standing.decided]
    return []


STAGES = {
    Stage.WORKING: ("has", "have", "not voted"),
    Stage.UNCERTAIN: ("is", "are", "uncertain"),
    Stage.COMMITTABLE: ("is", "are", "ready to commit"),
    Stage.ABORTABLE: ("is", "are", "ready to abort"),
    Stage.COMMITTED: ("has", "have", "committed"),
    Stage.ABORTED: ("has", "have", "aborted"),
}
ARRIVALS = {
    Stage.WORKING: "forgets",
    Stage.UNCERTAIN: "becomes uncertain",
    Stage.COMMITTABLE: "gets ready to commit",
    Stage.ABORTABLE: "gets ready to abort",
    Stage.COMMITTED: "commits",
    Stage.ABORTED: "aborts",
}


def _stage(me: NodeId | None, view: Decision, *, single: bool) -> str:
    """How far one node or several have come; `me` is None if none of them leads."""
    one, many, what = STAGES[view.state]
    if view.has_forgotten:
        what = "forgotten the transaction"
    elif view.coordinates and view.state is Stage.WORKING:
        what = "not begun"
    s = "s" if single else ""
    led = f" and follow{s} node {view.leader}" if view.leader is not None else ""
    leads = view.leader is not None and view.leader == me
    return f"{one if single else many} {what}" + (" and leads" if leads else led)


def _progress(me: NodeId, old: Decision, new: Decision) -> Iterator[str]:
    """How a node goes on with a transaction, and which leader it follows now."""
    if new.over and not old.over:
        yield "forgets"
    elif new.state is not old.state:
        begins = new.coordinates and old.state is Stage.WORKING
        yield "begins" if begins else ARRIVALS[new.state]
    if new.leader != old.leader:
        if new.leader is None:
            yield "follows nobody any more"
        else:
            yield "leads" if new.leader == me else f"follows node {new.leader}"


def _small_change(me: NodeId, old: Standing, new: Standing) -> Iterator[str]:
    if new.group is not None and new.group != old.group:
        yield f"is{_group(old, new)} now"
    if new.token is not None and new.token != old.token:
        yield f"goes by token {new.token}"
    if new.leader == me and new.until is not None and new.until != old.until:
        yield f"holds office{_office(me, new)}"


def _arrival(me: NodeId, old: Standing, new: Standing) -> str:
    """The new belief of a node that has left an election, or never was in one."""
    if new.status is Status.NORMAL and new.leader is not None and new.leader == old.leader:
        return "goes to work " + (
            "as the leader" if new.leader == me else f"under node {new.leader}"
        )
    if new.status is Status.NORMAL and new.leader == me:
        return "becomes the leader"
    return _stand(me, new, single=True)


def _stand(me: NodeId | None, standing: Standing, *, single: bool) -> str:
    """The present belief of one node or of several; `me` is None if none of them leads."""
    s = "s" if single else ""
    match standing.status, standing.leader:
        case Status.ELECTION, _:
            return "is in an election" if single else "are in an election"
        case Status.NORMAL, None:
            return f"work{s} without a leader"
        case Status.NORMAL, leader:
            return "leads" if leader == me else f"follow{s} node {leader}"
        case _, None:
            return f"reorganize{s} without a leader"
        case _, leader:
            return f"reorganize{s} " + ("as the leader" if leader == me else f"under node {leader}")


def _group(old: Standing, new: Standing) -> str:
    changed = new.group is not None and new.group != old.group
    return f" in group {text_of(new.group)}" if changed else ""


def _token(old: Standing | None, new: Standing) -> str:
    changed = new.token is not None and (old is None or new.token != old.token)
    return f" with token {new.token}" if changed else ""


def _office(me: NodeId, new: Standing) -> str:
    ends = new.leader == me and new.until is not None
    return f" until its timer {new.until} runs out" if ends else ""


def _opening_of(start: Mapping[NodeId, Decision]) -> str:
    groups: dict[tuple[Decision, bool], list[NodeId]] = {}
    for node, view in start.items():
        groups.setdefault((view, view.leader == node), []).append(node)
    clauses = [
        f"{nodes_text(nodes)} " + _stage(nodes[0] if leads else None, view, single=len(nodes) == 1)
        for (view, leads), nodes in groups.items()
    ]
    return f"At first {listed(clauses)}."


def opening_of(start: Mapping[NodeId, Standing]) -> str:
    """The standings of the nodes before anything happens."""
    decisions = {n: view for n, view in sorted(start.items()) if isinstance(view, Decision)}
    if decisions:
        return _opening_of(decisions)
    groups: dict[tuple[Status, NodeId | None, bool, str], list[NodeId]] = {}
    for node, standing in sorted(start.items()):
        decided = "".join(f" and has decided on {value}" for value in _decided(standing))
        key = (standing.status, standing.leader, standing.leader == node, decided)
        groups.setdefault(key, []).append(node)
    clauses = [
        f"{nodes_text(nodes)} "
        + _stand(nodes[0] if leads else None, Standing(status, leader), single=len(nodes) == 1)
        + (decided if len(nodes) == 1 else decided.replace(" has ", " have "))
        for (status, leader, leads, decided), nodes in groups.items()
    ]
    if not clauses:
        return "At first no node is up."
    *most, last = clauses
    return f"At first {', '.join(most)}, and {last}." if most else f"At first {last}."
