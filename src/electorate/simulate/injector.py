"""Carries out the faults of a plan: begins each, ends it in time, tells the nodes that notice."""

import random
from collections import Counter

from electorate.core import NodeId, Request
from electorate.simulate import fault
from electorate.simulate.detector import SimulatedDetectors
from electorate.simulate.fault import Fault
from electorate.simulate.local import EventOutcome
from electorate.simulate.simulation import SimulatedNode, Simulation, TornTurn
from electorate.simulate.traffic import FAULT, TIMER, Agenda, Traffic


class FaultEnd(Fault):
    """The end of a fault that lasts for a while."""

    of: Fault


class EndOfFaults(Fault):
    """From here on nothing fails; a node that is down stays down."""


class FaultInjector:
    """Does to a simulation what the plan says."""

    def __init__(
        self,
        cluster: Simulation,
        agenda: Agenda,
        traffic: Traffic,
        detectors: SimulatedDetectors | None,
    ) -> None:
        self._cluster = cluster
        self._agenda = agenda
        self._traffic = traffic
        self._detectors = detectors
        self._cuts: Counter[tuple[NodeId, NodeId]] = Counter()
        self._pauses: Counter[NodeId] = Counter()
        self.tears: dict[NodeId, int] = {}
        """Nodes that will crash in the middle of their next turn, each with the lot that decides
        how."""
        self.last = 0
        """When something last went wrong or right again."""
        self.happened: Counter[str] = Counter()
        """How many faults of each kind found something to do."""

    def begin(self, what: Fault) -> None:
        """Let a fault happen."""
        cluster = self._cluster
        match what:
            case fault.Crash(_, node) if cluster.nodes[node].local is not None:
                cluster.crash(node)
                self.note_crash(cluster.nodes[node])
            case fault.Tear(_, node, draw):
                self.tears[node] = draw
            case fault.Recover(_, node) if cluster.nodes[node].local is None:
                self._recover(cluster.nodes[node])
            case fault.Pause(_, until, node) if cluster.nodes[node].local is not None:
                self._pause(node)
                self._agenda.push(until, FAULT, FaultEnd(until, what))
            case fault.CutLink(_, until) | fault.Partition(_, until):
                for sender, to in self._links(what):
                    self._cut(sender, to)
                    self.happened["cuts" if isinstance(what, fault.CutLink) else "partitions"] += 1
                self._agenda.push(until, FAULT, FaultEnd(until, what))
            case fault.ResetConnection(_, sender, to):
                self._reset(sender, to)
            case fault.Lie(_, node, about):
                self._lie(node, about)
            case fault.Ask(_, node, draw):
                self._ask(cluster.nodes[node], draw)
            case FaultEnd(_, of):
                self._end(of)
            case EndOfFaults():
                self._end_faults()

    def _end(self, what: Fault) -> None:
        """Let a fault end."""
        match what:
            case fault.Pause(_, _, node):
                self._resume(node)
            case fault.CutLink() | fault.Partition():
                for sender, to in self._links(what):
                    self._heal(sender, to)

    def _end_faults(self) -> None:
        """End every fault; a node that is down stays down."""
        self.tears.clear()
        for node in [node for node, count in self._pauses.items() if count]:
            self._pauses[node] = 1
            self._resume(node)
        for link in [link for link, count in self._cuts.items() if count]:
            self._cuts[link] = 1
            self._heal(*link)
        self._traffic.end_faults()

    def _links(self, what: fault.CutLink | fault.Partition) -> list[tuple[NodeId, NodeId]]:
        """The directions that it is about, of those that exist."""
        if isinstance(what, fault.CutLink):
            ways = [(what.sender, what.to)]
        else:
            ids = self._cluster.members.ids
            rest = [node for node in ids if node not in what.side]
            ways = [(one, other) for one in what.side for other in rest]
            ways += [(other, one) for one, other in ways]
        return [way for way in ways if self._cluster.setting.linked(*way)]

    def _reset(self, sender: NodeId, to: NodeId) -> None:
        ways = [self._cluster.channels.get(way) for way in ((sender, to), (to, sender))]
        if any(channel is not None and channel.waiting for channel in ways):
            self._cluster.reset(sender, to, both=True)
            self.last = self._cluster.now
            self.happened["resets"] += 1

    def note_crash(self, node: SimulatedNode) -> None:
        """A node has gone down, in the middle of a turn or not."""
        self.last = self._cluster.now
        self.happened["crashes"] += 1
        self.tears.pop(node.id, None)
        self._pauses[node.id] = 0
        for other in self._cluster.members.others(node.id):
            self._traffic.threaten(other, node.id)
        if self._detectors:
            self._detectors.note_crash(node.id)

    def _recover(self, node: SimulatedNode) -> None:
        self.last = self._cluster.now
        self.happened["recoveries"] += 1
        outcome = self._cluster.first_turns(node)[0]
        torn = self.torn(node, outcome)
        self._cluster.recover(node.id, torn)
        if torn is not None:
            self.note_crash(node)
            return
        self._traffic.release(node.id)
        if self._detectors:
            self._detectors.note_recovery(node.id)

    def torn(self, node: SimulatedNode, outcome: EventOutcome) -> TornTurn | None:
        """How the node's next turn is torn, if it is to crash and the turn sends anything."""
        if node.id not in self.tears or not outcome.sends:
            return None
        lots = random.Random(self.tears.pop(node.id))
        wanted = Counter(to for to, _ in outcome.sends)
        sent = {to: lots.randint(0, count) for to, count in sorted(wanted.items())}
        if sent == wanted:
            sent[lots.choice(sorted(sent))] -= 1
        return TornTurn(sent)

    def _pause(self, node: NodeId) -> None:
        self.last = self._cluster.now
        self.happened["pauses"] += 1
        if not self._pauses[node]:
            self._cluster.pause(node)
        self._pauses[node] += 1

    def _resume(self, node: NodeId) -> None:
        if not self._pauses[node]:
            return  # It crashed in its pause.
        self._pauses[node] -= 1
        if self._pauses[node]:
            return
        here = self._cluster.nodes[node]
        self.last = self._cluster.now
        self._cluster.resume(node)
        self._traffic.release(node)
        for armed in here.timers.values():
            if armed.earliest <= self._cluster.now:
                self._agenda.push(self._cluster.now, TIMER, armed, here)
        if self._detectors:
            for other in self._cluster.members.ids:
                self._detectors.note(node, other)

    def _cut(self, sender: NodeId, to: NodeId) -> None:
        self.last = self._cluster.now
        if not self._cuts[sender, to]:
            self._cluster.cut(sender, to)
            self._traffic.threaten(sender, to)
            self._note_link(sender, to)
        self._cuts[sender, to] += 1

    def _heal(self, sender: NodeId, to: NodeId) -> None:
        if not self._cuts[sender, to]:
            return
        self._cuts[sender, to] -= 1
        if not self._cuts[sender, to]:
            self.last = self._cluster.now
            self._cluster.heal(sender, to)
            self._traffic.release(to)
            self._note_link(sender, to)

    def _note_link(self, sender: NodeId, to: NodeId) -> None:
        if self._detectors:
            self._detectors.note(sender, to)
            self._detectors.note(to, sender)

    def _lie(self, node: NodeId, about: NodeId) -> None:
        here = self._cluster.nodes[node]
        detectors = self._detectors
        if detectors is None or not here.reacts or detectors.is_wrong(node, about):
            return
        self.last = self._cluster.now
        self.happened["lies"] += 1
        assert here.local is not None
        alive = here.view ^ {about}
        torn = self.torn(here, self._cluster.locals.viewed(here.local, alive))
        self._cluster.view(node, alive, torn)
        if torn is not None:
            self.note_crash(here)
        detectors.note(node, about)

    def _ask(self, node: SimulatedNode, draw: int) -> None:
        opened = self._opening() if not self._cluster.numbered else []
        if opened:
            node, request = opened[draw % len(opened)]
        elif node.reacts and node.local is not None:
            offered = self._cluster.locals.turns.offers(node.local.state, node.local.standing)
            if not offered:
                return
            request = offered[draw % len(offered)]
        else:
            return
        assert node.local is not None
        self.happened["asks"] += 1
        torn = self.torn(node, self._cluster.locals.asked(node.local, request))
        self._cluster.ask(node.id, request, torn)
        if torn is not None:
            self.note_crash(node)

    def _opening(self) -> list[tuple[SimulatedNode, Request]]:
        """Requests that begin something, if nothing begins by itself.

        As long as nothing was asked, an application asks for one of these, wherever it is open: a
        run in which it asks elsewhere, or for something else, would show nothing.
        """
        locals_, begins_by = self._cluster.locals, self._cluster.machine.begins_by
        found = []
        for node in self._cluster.nodes.values() if begins_by else ():
            if node.reacts and node.local is not None:
                for request in locals_.turns.offers(node.local.state, node.local.standing):
                    outcome = locals_.asked(node.local, request)
                    if isinstance(request, begins_by) and (outcome.sends or outcome.timers):
                        found.append((node, request))
        return found
