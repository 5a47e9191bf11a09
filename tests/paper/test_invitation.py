"""What it costs to merge groups, every delay being exactly T, and what is said about groups.

P. F. Souto, "Elections", 2021, slides "The Invitation Algorithm"; the Carnegie Mellon lecture notes
"Coordinator Election", section "The Invitation Algorithm" ("the notes" below).
"""

from collections import Counter

import pytest

from electorate.core import NodeId, Send
from electorate.protocols.invitation import Group, Invitation, InvitationState
from electorate.simulate import Cluster, settle
from electorate.trace import Delivered, Fired, Setting, Start, Step
from tests.check.folded import Forgetful
from tests.paper.connectivity import run_until

SOUND = {"AreYouLeader", "Leading", "Invite", "Accept", "Ready"}
PRINTED = SOUND | {"Ack"}
FORMS = [("sound", SOUND, 6), ("printed", PRINTED, 7)]
SIZES = range(2, 9)

Groups = tuple[tuple[int, ...], ...]
EXAMPLE: Groups = ((3, 2), (4, 5, 6))


def cluster_of(groups: Groups, form: str, *rules: str) -> Cluster:
    """The first of each group leads it; the leader of the first group is about to check.

    Periods are long, and nobody else checks while groups merge.
    """
    ids = tuple(sorted({1, *(node for group in groups for node in group)}))
    setting = Setting("invitation", ids, ("check=60T", *rules), start=Start.DOWN)
    cluster = Cluster(setting, setting.machine(Invitation, form))
    apart = [(a, b) for a in ids for b in ids if a != b and not linked(groups, a, b)]
    for a, b in apart:
        cluster.cut(a, b)
    cluster.recover(groups[0][0])
    run_until(cluster, 15)
    for group in groups[1:]:
        cluster.recover(group[0])
    run_until(cluster, 30)
    for group in groups:
        for node in group[1:]:
            cluster.recover(node)
    run_until(cluster, 60 + 59)
    for a, b in apart:
        cluster.heal(a, b)
    cluster.tick(1)
    cluster.steps.clear()
    return cluster


def linked(groups: Groups, a: int, b: int) -> bool:
    return any({a, b} <= set(group) for group in groups)


def sent(cluster: Cluster) -> Counter[str]:
    effects = (effect for step in cluster.steps for turn in step.turns for effect in turn.effects)
    return Counter(type(effect.message).__name__ for effect in effects if isinstance(effect, Send))


def last_delivery(cluster: Cluster) -> int:
    times = [step.at for step in cluster.steps if isinstance(step.happening, Delivered)]
    return times[-1] - cluster.steps[0].at


def led(cluster: Cluster) -> dict[int, int | None]:
    standings = ((node.id, cluster.standing(node)) for node in cluster.nodes.values())
    return {node: view.leader for node, view in standings if view is not None}


@pytest.mark.parametrize(("form", "kinds", "time"), FORMS)
@pytest.mark.parametrize("n", SIZES)
def test_one_candidate_merges_singletons(n: int, form: str, kinds: set[str], time: int) -> None:
    cluster = cluster_of(tuple((node,) for node in range(1, n + 1)), form)
    cluster.fire(1, "check")
    settle(cluster)
    assert set(led(cluster).values()) == {1}
    assert sent(cluster) == Counter(dict.fromkeys(kinds, n - 1))
    assert sent(cluster).total() == len(kinds) * (n - 1)
    assert last_delivery(cluster) == time


@pytest.mark.parametrize(("form", "kinds", "time"), FORMS)
def test_groups_of_two_and_three_merge(form: str, kinds: set[str], time: int) -> None:
    """Slide "The Invitation Algorithm: Example": 16 messages from INVITATION to ACK."""
    cluster = cluster_of(EXAMPLE, form, "outranked=delay")
    assert led(cluster) == {2: 3, 3: 3, 4: 4, 5: 4, 6: 4}
    cluster.fire(3, "check")
    settle(cluster)
    assert set(led(cluster).values()) == {3}
    merging = kinds - {"AreYouLeader", "Leading"}
    assert sent(cluster) == Counter(dict.fromkeys(merging, 4) | {"AreYouLeader": 5, "Leading": 1})
    assert sum(sent(cluster)[kind] for kind in merging) == (16 if form == "printed" else 12)
    assert last_delivery(cluster) == time


@pytest.mark.parametrize(
    "groups", [((1,), (2, 3)), ((1, 2), (3, 4)), ((1, 2, 3), (4, 5), (6,)), ((1,), (2, 3, 4, 5))]
)
def test_a_merge_that_brings_in_m_nodes_takes_four_m_messages_and_the_probe(
    groups: Groups,
) -> None:
    cluster = cluster_of(groups, "printed")
    n, m = len(led(cluster)), len(led(cluster)) - 1
    cluster.fire(1, "check")
    settle(cluster)
    assert set(led(cluster).values()) == {1}
    probe = (n - 1) + (len(groups) - 1)
    assert sent(cluster).total() == 4 * m + probe


@pytest.mark.parametrize("n", SIZES)
def test_a_group_at_rest_takes_three_messages_for_each_follower_and_period(n: int) -> None:
    cluster = cluster_of((tuple(range(1, n + 1)),), "sound")
    run_until(cluster, cluster.now + 59)
    kinds = ("AreYouLeader", "AreYouThere", "Here")
    assert sent(cluster) == Counter(dict.fromkeys(kinds, n - 1))


def test_three_T_are_enough_to_collect_acceptances_and_less_is_not() -> None:
    """Slide "The Invitation Algorithm (2/2)", step 5: enough(?)."""
    for accepts, together in (("3T", {2, 3, 4, 5, 6}), ("3T-1", {2, 3, 4}), ("2T", {2, 3, 4})):
        cluster = cluster_of(EXAMPLE, "printed", f"accepts={accepts}")
        cluster.fire(3, "check")
        settle(cluster)
        assert {node for node, leader in led(cluster).items() if leader == 3} == together


def test_work_rests_from_the_invitation_until_the_group_is_ready() -> None:
    """Slide "The Invitation Algorithm: Concurrency"; the notes: processing should be halted."""
    cluster = cluster_of(EXAMPLE, "printed")
    cluster.fire(3, "check")
    settle(cluster)
    changes: dict[NodeId, list[str]] = {}
    for step in cluster.steps:
        for turn in step.turns:
            before, after = cluster.machine.view(turn.before), cluster.machine.view(turn.after)
            if before.status is not after.status:
                changes.setdefault(turn.node, []).append(f"{cause(step)} {after.status}")
    assert changes.pop(3) == ["answers election", "accepts normal"]
    assert set(changes) == {2, 4, 5, 6}
    assert all(change == ["Invite election", "Ready normal"] for change in changes.values())


def cause(step: Step) -> str:
    """The message or the timer that brought a step about."""
    match step.happening:
        case Delivered(_, _, message):
            return type(message).__name__
        case Fired(_, timer):
            return timer
    raise AssertionError(step)


@pytest.mark.parametrize(("kind", "is_reused"), [(Invitation, False), (Forgetful, True)])
def test_the_number_of_a_group_is_never_reused(kind: type[Invitation], is_reused: bool) -> None:
    """The notes: the group number is unique among all groups and is never reused."""
    setting = Setting("invitation", (1, 2, 3), start=Start.BOOT)
    cluster = Cluster(setting, setting.machine(kind, "sound"))
    cluster.boot()
    for time, node in ((3, 1), (9, 2), (20, 1), (33, 3), (50, 1), (52, 2)):
        run_until(cluster, time)
        cluster.crash(node)
        cluster.recover(node)
    run_until(cluster, 80)
    formed = groups_formed(cluster)
    assert len(formed) > 12
    assert (len(set(formed)) < len(formed)) is is_reused


def groups_formed(cluster: Cluster) -> list[Group]:
    """The number of every group that was formed, by its leader, in the order of time."""
    formed: list[Group] = []
    for step in cluster.steps:
        for turn in step.turns:
            before, after = turn.before, turn.after
            assert isinstance(after, InvitationState)
            known = before.group if isinstance(before, InvitationState) else None
            if after.leads and after.group != known:
                formed.append(after.group)
    return formed
