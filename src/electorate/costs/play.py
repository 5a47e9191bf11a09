"""Playing the script of a case on a cluster of the simulator, and counting what is sent.

The commands are those of golden scripts (simulate/command.py), separated by semicolons or lines.
Numbers may be formulas in N and the letters of the case, and these are added:

    for i in 2..N: suspect i     the command for each number of a range, or of a set
    view 2 1..N                  a range, or a set, as a list
    crash leader · recover down  the node that all live nodes follow; the node that is down
    notice                       every detector is right from now on
    agree                        run on until all live nodes follow one of them, and come to rest
    count                        what came before does not count

Every delay is exactly T.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from electorate.claims.claim import belief
from electorate.core import NodeId, Send, Standing, Status
from electorate.costs.case import MEASURES
from electorate.costs.formula import Numbers
from electorate.costs.variant import Variant, span_of, whole
from electorate.simulate import IllegalStep, Simulation, settle
from electorate.simulate.command import run_command
from electorate.simulate.settle import REASONS_MAX, SETTLE_MAX, fault_free
from electorate.trace import Delivered, Step
from electorate.trace.word import kind_of

LOOP = re.compile(r"for ([a-z]) in (\S+): (.+)")


class Tally(NamedTuple):
    """What a run took."""

    kinds: Counter[str]
    """How many messages of each kind were sent to other nodes, also to those that were down."""
    multicasts: int
    """How many there would be if the same message to several nodes counted once."""
    memories: int
    """How many messages were sent to oneself."""
    rounds: int
    """At how many instants anything was sent or arrived."""
    time: int
    """When the last message arrived, in T."""
    writes: int = 0
    """In how many turns a node changed what must survive a crash."""

    def figures(self) -> dict[str, int]:
        """All but the kinds, by name."""
        said = self.kinds.total()
        numbers = (said, self.multicasts, self.memories, self.rounds, self.time, self.writes)
        return dict(zip(MEASURES, numbers, strict=True))


class Play:
    """One run of a case."""

    def __init__(self, cluster: Simulation, boots: Iterable[Step], variant: Variant) -> None:
        self.cluster = cluster
        cluster.keeps_past = False  # Only the claims of a script look back.
        self._boots = list(boots)
        self._variant = variant
        self._begun = cluster.now

    def run(self, script: str) -> Tally:
        """Run every command; returns what was sent since the last `count`."""
        for line in re.split(r"[;\n]", script):
            if line.strip():
                self._obey(line.strip(), self._variant.numbers)
        return tally_of([*self._boots, *self.cluster.steps], self._begun, self.cluster)

    def strays(self, leader: str) -> Iterator[str]:
        """The live nodes that do not follow this one, and what they do."""
        wanted = whole(leader, self._variant.numbers)
        for node, standing in self._live():
            if standing.status is not Status.NORMAL or standing.leader != wanted:
                followed = "nobody" if standing.leader is None else standing.leader
                yield f"{node} is {standing.status} and follows {followed}, not {wanted}"

    def _obey(self, line: str, numbers: Numbers) -> None:
        loop = LOOP.fullmatch(line)
        if loop:
            letter, span, command = loop.groups()
            for value in self._variant.sets.get(span) or span_of(span, numbers):
                self._obey(command, {**numbers, letter: value})
            return
        words = [self._word(word, numbers) for word in line.split()]
        match words:
            case ["count"]:
                self._boots.clear()
                self.cluster.steps.clear()
                self._begun = self.cluster.now
            case ["settle"]:
                settle(self.cluster)
            case ["agree"]:
                self._agree()
            case ["notice"]:
                self._notice()
            case _:
                run_command(self.cluster, " ".join(words))

    def _word(self, word: str, numbers: Numbers) -> str:
        """A word of a command, with its numbers filled in."""
        if "->" in word:
            return "->".join(self._word(end, numbers) for end in word.split("->"))
        if ":" in word:
            return ":".join(self._word(end, numbers) for end in word.split(":"))
        if word == "leader":
            return str(self._leader())
        if word == "down":
            return " ".join(str(n.id) for n in self.cluster.nodes.values() if n.local is None)
        if word in self._variant.sets:
            return " ".join(map(str, self._variant.sets[word]))
        if not re.fullmatch(rf"(?:[-+·/().\d]|{'|'.join(numbers)})+", word):
            return word
        return " ".join(map(str, span_of(word, numbers)))

    def _live(self) -> Iterator[tuple[NodeId, Standing]]:
        return self.cluster.row(frozenset()).live()

    def _leader(self) -> NodeId:
        leaders = {standing.leader for _, standing in self._live()}
        if len(leaders) != 1 or None in leaders:
            raise IllegalStep(f"the nodes do not all follow the same one: {self._beliefs()}")
        [leader] = leaders
        assert leader is not None
        return leader

    def _agree(self) -> None:
        limit = self.cluster.now + SETTLE_MAX * self.cluster.delay_max
        for time in fault_free(self.cluster):
            if self._agreed() or time > limit:
                break
        if not self._agreed():
            told = f"the nodes do not agree within {SETTLE_MAX}T: {self._beliefs()}"
            raise IllegalStep(told)
        settle(self.cluster)

    def _beliefs(self) -> str:
        """What the first nodes believe."""
        return "; ".join(belief(*each) for each in islice(self._live(), REASONS_MAX))

    def _agreed(self) -> bool:
        live = dict(self._live())
        leaders = {standing.leader for standing in live.values()}
        normal = all(standing.status is Status.NORMAL for standing in live.values())
        return normal and len(leaders) == 1 and leaders <= live.keys()

    def _notice(self) -> None:
        nodes = self.cluster.nodes
        alive = frozenset(node.id for node in nodes.values() if node.local is not None)
        for node in sorted(alive) if self.cluster.machine.uses_views else ():
            if nodes[node].view != alive:
                self.cluster.view(node, alive)


def tally_of(steps: Iterable[Step], begun: int, cluster: Simulation) -> Tally:
    """Count the messages of these steps."""
    kinds: Counter[str] = Counter()
    writes = multicasts = memories = 0
    busy: set[int] = set()
    last = begun
    for step in steps:
        if isinstance(step.happening, Delivered):
            busy.add(step.at)
            last = step.at
        for turn in step.turns:
            writes += turn.before is not None and turn.before.stable != turn.after.stable
            said = [send for send, left in turn.mail() if left]
            kinds.update(kind_of(send.message) for send in said)
            multicasts += len({send.message for send in said})
            memories += sum(isinstance(e, Send) and e.to == turn.node for e in turn.effects)
            if said:
                busy.add(step.at)
    time = (last - begun) // cluster.setting.timing.T
    return Tally(kinds, multicasts, memories, len(busy), time, writes)
