"""What a node believes about the leadership, and how that changes, in words."""

from collections.abc import Iterator, Mapping

from electorate.core import NodeId, Standing, Status, text_of
from electorate.trace.word import nodes_text


def first_belief(me: NodeId, new: Standing) -> str:
    """How a node stands that has just booted."""
    if new.status is Status.ELECTION:
        return "enters an election"
    return _stand(me, new, single=True) + _token(None, new) + _office(me, new)


def change_of(
    me: NodeId, old: Standing, new: Standing, named: NodeId | None = None
) -> Iterator[str]:
    """What a node believes now and did not believe before; `named` is who was just spoken of."""
    if (old.status, old.leader) == (new.status, new.leader):
        yield from _small_change(me, old, new)
        return
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


def _small_change(me: NodeId, old: Standing, new: Standing) -> Iterator[str]:
    if new.group is not None and new.group != old.group:
        yield f"is{_group(old, new)} now"
    if new.token is not None and new.token != old.token:
        yield f"goes by token {new.token}"
    if new.leader == me and new.until is not None and new.until != old.until:
        yield f"holds office{_office(me, new)}"


def _arrival(me: NodeId, old: Standing, new: Standing) -> str:
    """The new belief of a node that is not in an election any more, or never was."""
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


def opening_of(start: Mapping[NodeId, Standing]) -> str:
    """How the nodes stand before anything happens."""
    groups: dict[tuple[Status, NodeId | None, bool], list[NodeId]] = {}
    for node, standing in sorted(start.items()):
        key = (standing.status, standing.leader, standing.leader == node)
        groups.setdefault(key, []).append(node)
    clauses = [
        f"{nodes_text(nodes)} "
        + _stand(nodes[0] if leads else None, Standing(status, leader), single=len(nodes) == 1)
        for (status, leader, leads), nodes in groups.items()
    ]
    if not clauses:
        return "At first no node is up."
    *most, last = clauses
    return f"At first {', '.join(most)}, and {last}." if most else f"At first {last}."
