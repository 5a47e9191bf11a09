"""The claims about transactions: atomic, valid, stable, and not blocked.

After the specification of atomic commitment in P. A. Bernstein, V. Hadzilacos and N. Goodman,
"Concurrency Control and Recovery in Database Systems", 1987, section 7.3: AC1 and AC4 are C1, AC2
is C3, AC3 is C2 and C6, and AC5 is C4. A node that is down is judged by its log.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import combinations

from electorate.claims.claim import Claim, Fold, Kind, Premise, Row, Sight, Witness, companies
from electorate.core import Decision, NodeId, Stage, Topic, Wants


def stages(row: Row) -> Iterator[tuple[NodeId, Stage]]:
    """How far every node has come that has not forgotten; if it is down, how far by its log.

    All had applied the decision before one forgets (C7). If such a node refuses when it is asked
    once more, it has done nothing; that it does not commit once more, C3 says.
    """
    logs = row.stables or (None,) * len(row.standings)
    for node, view, log in zip(row.members.ids, row.standings, logs, strict=True):
        if isinstance(view, Decision) and not view.over:
            yield node, view.state
        elif view is None and not getattr(log, "forgotten", False):
            yield node, getattr(log, "stage", Stage.WORKING)


def nobody_commits_while_another_aborts(row: Row) -> Witness | None:
    """C1: all nodes that decide decide alike."""
    decided = ((node, stage) for node, stage in stages(row) if stage.is_final)
    for (i, at_i), (j, at_j) in combinations(decided, 2):
        if at_i is not at_j:
            return Witness((i, j), f"{i} has {at_i}, but {j} has {at_j}")
    return None


def whoever_commits_has_the_votes_of_all(row: Row) -> Witness | None:
    """C2: if one has committed, no node is left that has not voted yes."""
    all_stages = list(stages(row))
    committed = [node for node, stage in all_stages if stage is Stage.COMMITTED]
    idle = [node for node, stage in all_stages if stage is Stage.WORKING]
    if committed and idle:
        text = f"{committed[0]} has committed, but {idle[0]} has not voted"
        return Witness((committed[0], idle[0]), text)
    return None


def a_decision_never_changes(before: Row, after: Row) -> Witness | None:
    """C3: a node that has decided stays with it, also over a crash, and never commits again."""
    now = dict(stages(after))
    for node, old in stages(before):
        if old.is_final and (new := now.get(node, old)) is not old:
            return Witness((node,), f"{node} had {old}, and now is {new}")
    for node, view in after.live():
        if isinstance(view, Decision) and view.over and view.state is Stage.COMMITTED:
            return Witness((node,), f"{node} had forgotten it, and now commits it again")
    return None


def whoever_has_a_leader_decides(row: Row) -> Witness | None:
    """C4: if all that reach each other follow one of them, nobody is in doubt."""
    return _doubt(row, 0)


def a_majority_with_a_leader_decides(row: Row) -> Witness | None:
    """C5: the same, if they are a majority of all voters."""
    return _doubt(row, _majority(row))


def _majority(row: Row) -> int:
    """How many voters make a majority."""
    voters = len(row.members.ids) - 1
    return voters // 2 + 1


def _doubt(row: Row, least: int) -> Witness | None:
    for company in companies(row, Decision):
        voters = [view.state for view in company.values() if not view.coordinates]
        doubts = tuple(node for node, view in company.items() if view.state.is_in_doubt)
        if doubts and len(voters) >= least:
            count = Counter(voters)
            told = ", ".join(f"{count[stage]} {stage}" for stage in Stage if count[stage])
            also = "" if len(voters) == len(company) else ", with the coordinator"
            all_voters = len(row.members.ids) - 1
            return Witness(doubts, f"{told} of {all_voters} voters{also} stay in doubt")
    return None


def first_abort(memory: frozenset[NodeId] | bool, row: Row) -> frozenset[NodeId] | bool:
    """The nodes that have been in doubt; once one has aborted, whether the first had been."""
    if isinstance(memory, bool):
        return memory
    now = list(stages(row))
    aborted = [node for node, stage in now if stage is Stage.ABORTED]
    if aborted:
        return any(node in memory for node in aborted)
    return memory | {node for node, stage in now if stage.is_in_doubt}


def nobody_aborts_unless_somebody_refuses(
    row: Row, memory: frozenset[NodeId] | bool
) -> Witness | None:
    """C6: the first to abort is a node that votes no."""
    if memory is True:
        aborted = tuple(node for node, stage in stages(row) if stage is Stage.ABORTED)
        # Whoever did so may have forgotten it in a crash, where logs do not keep their word.
        who = f"{aborted[0]} has" if aborted else "somebody had"
        return Witness(aborted, f"{who} aborted, but nobody had refused")
    return None


def who_has_applied(memory: frozenset[NodeId], row: Row) -> frozenset[NodeId]:
    """The nodes that have applied the decision, or may have before they went down."""
    decided = {node for node, stage in stages(row) if stage.is_final}
    wanting = {
        node
        for node, view in row.live()
        if isinstance(view, Decision) and view.wants is not Wants.NOTHING
    }
    return memory | (decided - wanting)


def nobody_forgets_too_early(row: Row, memory: frozenset[NodeId]) -> Witness | None:
    """C7: if one takes the transaction to be over, all have applied the decision."""
    done = [node for node, view in row.live() if isinstance(view, Decision) and view.over]
    busy = [node for node in row.members.ids if node not in memory]
    if done and busy:
        return Witness((done[0], busy[0]), f"{done[0]} forgets what {busy[0]} has not applied")
    return None


def _many_have_decided(row: Row, least: int) -> bool:
    return sum(stage.is_final for _, stage in stages(row)) >= least


def _somebody_has_committed(row: Row) -> bool:
    return any(stage is Stage.COMMITTED for _, stage in stages(row))


def _is_led(row: Row, least: int) -> bool:
    """Whether this many voters and their leader have more to do than to wait for a beginning."""
    for company in companies(row, Decision):
        voters = sum(not view.coordinates for view in company.values())
        begun = any(view.state is not Stage.WORKING for view in company.values())
        if begun and voters >= least:
            return True
    return False


def _somebody_is_done(row: Row) -> bool:
    return any(isinstance(view, Decision) and view.over for _, view in row.live())


TWO_DECIDED = Premise("not once had two nodes decided", lambda row: _many_have_decided(row, 2))
DECIDED = Premise("not once had anybody decided", lambda row: _many_have_decided(row, 1))
COMMITTED = Premise("not once had anybody committed", _somebody_has_committed)
COMPANY = Premise(
    "once the transaction had begun, all that reach each other never followed one of them",
    lambda row: _is_led(row, 0),
)
MAJORITY = Premise(
    "once the transaction had begun, no majority that reaches each other followed one of them",
    lambda row: _is_led(row, _majority(row)),
)
OVER = Premise("not once did anybody take the transaction to be over", _somebody_is_done)

LOGS = frozenset({Sight.STABLES})
DECISIONS = frozenset({Topic.DECISIONS})

CLAIMS: dict[str, Claim] = {
    claim.name: claim
    for claim in (
        Claim(
            "C1",
            Kind.ALWAYS,
            "nobody commits while another aborts",
            nobody_commits_while_another_aborts,
            sights=LOGS,
            premise=TWO_DECIDED,
            about=DECISIONS,
        ),
        Claim(
            "C2",
            Kind.ALWAYS,
            "somebody commits only if all have voted yes",
            whoever_commits_has_the_votes_of_all,
            sights=LOGS,
            premise=COMMITTED,
            about=DECISIONS,
        ),
        Claim(
            "C3",
            Kind.STEP,
            "a decision never changes",
            a_decision_never_changes,
            sights=LOGS,
            premise=DECIDED,
            about=DECISIONS,
        ),
        Claim(
            "C4",
            Kind.GOAL,
            "once nothing fails any more, all that reach each other and follow one of them decide",
            whoever_has_a_leader_decides,
            premise=COMPANY,
            about=DECISIONS,
        ),
        Claim(
            "C5",
            Kind.GOAL,
            "once nothing fails any more, a majority that reaches each other and follows one of "
            "them decides",
            a_majority_with_a_leader_decides,
            premise=MAJORITY,
            about=DECISIONS,
        ),
        Claim(
            "C6",
            Kind.ALWAYS,
            "if nothing fails, nobody aborts unless somebody votes no",
            nobody_aborts_unless_somebody_refuses,
            Fold(frozenset(), first_abort),
            LOGS,
            DECIDED,
            DECISIONS,
        ),
        Claim(
            "C7",
            Kind.ALWAYS,
            "nobody forgets before all have applied the decision",
            nobody_forgets_too_early,
            Fold(frozenset(), who_has_applied),
            LOGS,
            OVER,
            DECISIONS,
        ),
    )
}
