"""Every protocol that comes with electorate, by name, written out.

What runs over another protocol is named here over `ToldLeader`, which stands for any election.
"""

from typing import Any, NamedTuple

from electorate.core import Machine
from electorate.protocols.bully import Bully
from electorate.protocols.bully_rpc import BullyRpc
from electorate.protocols.bully_textbook import BullyTextbook
from electorate.protocols.chang_roberts import ChangRoberts
from electorate.protocols.commit.three_phase import ThreePhase
from electorate.protocols.commit.three_phase_ballots import ThreePhaseBallots
from electorate.protocols.commit.two_phase import TwoPhase
from electorate.protocols.consensus import Consensus
from electorate.protocols.invitation import Invitation, RankedInvitation
from electorate.protocols.leadership import FirstStart, Leadership, Register
from electorate.protocols.mandate import Mandate
from electorate.protocols.mandate.admission import Admission, Replacement
from electorate.protocols.mandate.founding import Founding
from electorate.protocols.park import Park
from electorate.protocols.park_printed import ParkPrinted
from electorate.protocols.paxos import Paxos
from electorate.protocols.ring_attribute import RingAttribute
from electorate.protocols.ring_list import RingList
from electorate.protocols.strongest_alive import StrongestAlive
from electorate.protocols.token_mutex import TokenMutex
from electorate.protocols.told_leader import ToldLeader


class Entry(NamedTuple):
    """A protocol and the form in which a name means it."""

    machine: type[Machine[Any]]
    form: str = "sound"


REGISTRY: dict[str, Entry] = {
    "bully": Entry(Bully),
    "bully-as-printed": Entry(Bully, form="printed"),
    "chang-roberts": Entry(ChangRoberts),
    "chang-roberts-slide": Entry(ChangRoberts, form="slide"),
    "chang-roberts-code": Entry(ChangRoberts, form="code"),
    "ring-attribute": Entry(RingAttribute),
    "ring-attribute-as-printed": Entry(RingAttribute, form="printed"),
    "ring-attribute-to-the-letter": Entry(RingAttribute, form="letter"),
    "ring-list": Entry(RingList),
    "ring-list-as-printed": Entry(RingList, form="printed"),
    "park": Entry(Park),
    "park-as-printed": Entry(ParkPrinted, form="printed"),
    "park-literal": Entry(ParkPrinted, form="literal"),
    "bully-rpc": Entry(BullyRpc),
    "bully-rpc-as-printed": Entry(BullyRpc, form="printed"),
    "bully-textbook": Entry(BullyTextbook),
    "bully-textbook-as-printed": Entry(BullyTextbook, form="printed"),
    "bully-textbook-to-the-letter": Entry(BullyTextbook, form="letter"),
    "invitation": Entry(Invitation),
    "invitation-as-printed": Entry(Invitation, form="printed"),
    "ranked-invitation": Entry(RankedInvitation),
    "two-phase": Entry(TwoPhase.over(ToldLeader)),
    "three-phase": Entry(ThreePhase.over(ToldLeader)),
    "three-phase-as-printed": Entry(ThreePhase.over(ToldLeader), form="printed"),
    "three-phase-ballots": Entry(ThreePhaseBallots.over(ToldLeader)),
    "mandate": Entry(Mandate.over(ToldLeader)),
    "leadership": Entry(Leadership),
    "membership": Entry(Register),
    "admission": Entry(Admission),
    "replacement": Entry(Replacement),
    "founding": Entry(Founding),
    "first-start": Entry(FirstStart),
    "consensus": Entry(Consensus.over(ToldLeader)),
    "paxos": Entry(Paxos.over(ToldLeader)),
    "token-mutex": Entry(TokenMutex),
}

INSIDE: dict[str, type[Machine[Any]]] = {
    "strongest-alive": StrongestAlive,
    "told-leader": ToldLeader,
}
"""Elections that are good for nothing but to be run over, as in `mandate-over-strongest-alive`."""
