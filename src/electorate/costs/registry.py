"""The cost cases of every protocol, by its machine; and those that fit any election."""

import sys
from collections.abc import Mapping
from typing import Any

import msgspec

from electorate.core import Machine, Over
from electorate.costs import (
    admission,
    bully,
    bully_rpc,
    bully_textbook,
    chang_roberts,
    consensus,
    invitation,
    leadership,
    mandate,
    park,
    paxos,
    ranked_invitation,
    ring_attribute,
    ring_list,
    three_phase,
    three_phase_ballots,
    token_mutex,
    two_phase,
)
from electorate.costs.case import Case
from electorate.protocols.bully import Bully
from electorate.protocols.bully_rpc import BullyRpc
from electorate.protocols.bully_textbook import BullyTextbook
from electorate.protocols.chang_roberts import ChangRoberts
from electorate.protocols.commit.three_phase import ThreePhase
from electorate.protocols.commit.three_phase_ballots import ThreePhaseBallots
from electorate.protocols.commit.two_phase import TwoPhase
from electorate.protocols.consensus import Consensus
from electorate.protocols.invitation import Invitation, RankedInvitation
from electorate.protocols.leadership import Leadership, Register
from electorate.protocols.mandate import Mandate
from electorate.protocols.mandate.admission import Admission, Replacement
from electorate.protocols.park import Park
from electorate.protocols.park_printed import ParkPrinted
from electorate.protocols.paxos import Paxos
from electorate.protocols.ring_attribute import RingAttribute
from electorate.protocols.ring_list import RingList
from electorate.protocols.token_mutex import TokenMutex
from electorate.protocols.told_leader import ToldLeader
from electorate.trace import Start

CASES: Mapping[type[Machine[Any]], tuple[Case, ...]] = {
    Admission: admission.CASES,
    Bully: bully.CASES,
    BullyRpc: bully_rpc.CASES,
    BullyTextbook: bully_textbook.CASES,
    ChangRoberts: chang_roberts.CASES,
    Consensus: consensus.CASES,
    Invitation: invitation.CASES,
    Leadership: leadership.CASES,
    Mandate: mandate.CASES,
    Register: leadership.MEMBERS,
    Park: park.CASES,
    ParkPrinted: park.PRINTED,
    Paxos: paxos.CASES,
    RankedInvitation: ranked_invitation.CASES,
    Replacement: admission.REPLACEMENT,
    RingAttribute: ring_attribute.CASES,
    RingList: ring_list.CASES,
    ThreePhase: three_phase.CASES,
    ThreePhaseBallots: three_phase_ballots.CASES,
    TokenMutex: token_mutex.CASES,
    TwoPhase: two_phase.CASES,
}

OVER: Mapping[type[Over[Any]], tuple[Case, ...]] = {
    Consensus: consensus.OVER,
    Mandate: mandate.OVER,
    Paxos: paxos.OVER,
}
"""The cases of a protocol over another election than the one that its own cases are played over."""

GENERIC = (
    Case("the first election, from boot", "agree", start=Start.BOOT, nodes_min=1),
    Case("the leader crashes and all notice", "crash leader; notice; agree", nodes_min=2),
    Case(
        "the old leader recovers and all notice",
        "crash leader; notice; agree; count; recover down; notice; agree",
        nodes_min=2,
    ),
)
"""Measured only: the protocol itself has to say what these cost."""


DECLARED = "COSTS"
"""The name under which a protocol file declares cases: a list, or one for each class by name."""


def cases_of(kind: type[Machine[Any]]) -> tuple[Case, ...]:
    """The cases that its own file declares, or that are known of it, or that fit any election.

    A machine that is made from another one is expected to cost the same.
    """
    declared = getattr(sys.modules.get(kind.__module__), DECLARED, None)
    if isinstance(declared, Mapping):
        declared = declared.get(kind.__name__)
    if declared is not None:
        return tuple(_read(kind, each) for each in declared)
    for parent, cases in OVER.items():
        if issubclass(kind, parent) and kind.inner_kind is not ToldLeader:
            return cases
    return next((CASES[parent] for parent in kind.__mro__ if parent in CASES), GENERIC)


def _read(kind: type[Machine[Any]], declared: object) -> Case:
    try:
        return declared if isinstance(declared, Case) else msgspec.convert(declared, Case)
    except ValueError as error:
        raise ValueError(f"{DECLARED} of {kind.__name__}: {error}") from None
