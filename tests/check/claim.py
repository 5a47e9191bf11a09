"""Goals and claims for probes."""

from collections.abc import Callable

from electorate.claims import Claim, Kind, Row, Witness


def everybody_follows(leader: int | None) -> Claim:
    """The goal that every live node follows this leader."""

    def judge(row: Row) -> Witness | None:
        lost = tuple(node for node, view in row.live() if view.leader != leader)
        return Witness(lost, f"not all follow {leader}") if lost else None

    return Claim(f"follow-{leader}", Kind.GOAL, f"in the end all follow {leader}", judge)


def nobody_follows(leader: int) -> Claim:
    """The claim that no live node ever follows this leader."""

    def judge(row: Row) -> Witness | None:
        found = tuple(node for node, view in row.live() if view.leader == leader)
        return Witness(found, f"{found} follow {leader}") if found else None

    return Claim(f"never-{leader}", Kind.ALWAYS, f"nobody ever follows {leader}", judge)


def claim_that(holds: Callable[[Row], bool], kind: Kind = Kind.ALWAYS) -> Claim:
    return Claim("that", kind, "a row is so", lambda row: None if holds(row) else Witness((), "no"))
