"""The commands of a script: what each word does to a cluster.

    crash 1 · recover 1 · view 3 2 3 · suspect 3 · ask 2 Resign · deliver 1->2 #1 · lose 1->2
    double 1->2 · fire 2 probe · tick 2T · pause 1 · resume 1 · cut 1->2 · cut 1 2 · heal 1 2
    phase 2 check 3 · place 1 down null · run 3T · settle · standings · claims A1

Whatever brings an event to a node may end in `torn 2:1 3:0`: the node crashes in the middle of
that turn, after one message to 2 and none to 3 have left (`torn #1 …` in the step's second turn).
`quietly` before a command keeps it from being shown.
"""

import re
from collections.abc import Callable, Iterable, Iterator

from electorate.claims import Following
from electorate.core import (
    Choice,
    Decision,
    GroupStanding,
    NodeId,
    Request,
    Span,
    Standing,
    Status,
    Wants,
    text_of,
)
from electorate.simulate import law
from electorate.simulate.law import IllegalStep
from electorate.simulate.named import claims_of
from electorate.simulate.settle import run_until, settle
from electorate.simulate.simulation import Simulation, TornTurn
from electorate.trace import KINDS, Happening, Placed, Requested, Saw, lines_of
from electorate.trace.happening import Misread

Words = list[str]


def run_command(cluster: Simulation, line: str) -> list[str]:
    """Run one line; returns its outcome. IllegalStep or ValueError says what is wrong."""
    verb, *words = line.split()
    if verb == "quietly":
        if not words:
            raise ValueError("quietly what?")
        run_command(cluster, " ".join(words))
        return []
    known = KINDS.get(verb)
    if known is None and verb not in COMMANDS:
        verbs = ", ".join([*KINDS, *COMMANDS])
        raise ValueError(f"unknown command {verb!r}; the commands are: {verbs}")
    before = len(cluster.steps)
    try:
        if known is None:
            said = list(COMMANDS[verb][0](cluster, words) or ())
        else:
            said = []
            _happen(cluster, known, words)
    except (Misread, IndexError):
        usage = COMMANDS[verb][1] if known is None else known.usage()
        raise ValueError(f"write: {usage}") from None
    timing = cluster.setting.timing
    return [text for step in cluster.steps[before:] for text in lines_of(step, timing)] + said


def _happen(cluster: Simulation, kind: type[Happening], words: list[str]) -> None:
    """Call the method of the simulation that is named like the verb."""
    words, torn = _untorn(words) if kind.tears else (words, None)
    fields = kind.read(words, cluster.setting.timing)
    if kind is Placed:
        cluster.place(Placed(**fields))
        return
    if kind is Requested:
        fields["request"] = _request(cluster, fields["node"], fields["request"])
    if torn is not None:
        fields["torn"] = torn
    getattr(cluster, kind.verb)(**fields)


def _untorn(words: list[str]) -> tuple[list[str], TornTurn | None]:
    """The words before `torn`, and what the words after it mean."""
    if "torn" not in words:
        return words, None
    at = words.index("torn")
    before, after = words[:at], words[at + 1 :]
    numbered = [word[1:] for word in after[:1] if re.fullmatch(r"#\d+", word)]
    sent: dict[NodeId, int] = {}
    for word in after[len(numbered) :]:
        to, colon, count = word.partition(":")
        if not (colon and to.isdecimal() and count.isdecimal()):
            raise ValueError(f"after torn comes node:count, not {word!r}")
        sent[int(to)] = int(count)
    return before, TornTurn(sent, int(numbered[0]) if numbered else 0)


def _request(cluster: Simulation, node: NodeId, text: str) -> Request:
    """The open request with that text."""
    offered = cluster.offered(node)
    for request in offered:
        if text_of(request) == text:
            return request
    raise law.not_offered(node, offered, text)


# --- commands that are no happenings ---


def _suspect(cluster: Simulation, words: Words) -> None:
    """A view without the nodes that are named, or without the present leader."""
    left, torn = _untorn(words)
    fields = Saw.read(left, cluster.setting.timing)
    node, suspects = fields["node"], fields["alive"]
    here = cluster.node(node)
    if not suspects:
        leader = here.local.standing.leader if here.local else None
        if leader is None or leader == node:
            raise IllegalStep(f"{node} follows nobody that it could suspect")
        suspects = {leader}
    cluster.view(node, here.view - suspects, torn)


def _end(words: Words) -> None:
    if words:
        raise Misread


def _run(cluster: Simulation, words: Words) -> None:
    _end(words[1:])
    time = Span.parse(words[0]).of(cluster.setting.timing)
    run_until(cluster, cluster.now + time)


def _settle(cluster: Simulation, words: Words) -> None:
    _end(words)
    settle(cluster)


def _standings(cluster: Simulation, words: Words) -> Iterator[str]:
    _end(words)
    return (
        f"{n.id} {standing_text(cluster.standing(n), n.paused)}" for n in cluster.nodes.values()
    )


def standing_text(standing: Standing | None, paused: bool = False) -> str:
    """A standing as people read it."""
    if standing is None:
        return "down"
    if isinstance(standing, Decision):
        text = _decision_text(standing)
        return text + (", paused" if paused else "")
    text = str(standing.status)
    if standing.group is not None:
        text += f" in group {text_of(standing.group)}"
    if standing.leader is not None or standing.status is Status.NORMAL:
        text += f", follows {'nobody' if standing.leader is None else standing.leader}"
    if standing.token is not None:
        text += f" with token {standing.token}"
    if isinstance(standing, Choice) and standing.decided is not None:
        text += f", has decided on {standing.decided}"
    if isinstance(standing, GroupStanding) and standing.owed:
        text += f", is to deal with {text_of(standing.owed)}"
    return text + (", paused" if paused else "")


def _decision_text(decision: Decision) -> str:
    text = "forgotten" if decision.has_forgotten else str(decision.state)
    if decision.wants is not Wants.NOTHING:
        text += f", wants {decision.wants}"
    if decision.leader is not None:
        text += f", follows {decision.leader}"
    return text + (", after forgetting" if decision.over and not decision.has_forgotten else "")


def _claims(cluster: Simulation, words: Words) -> Iterator[str]:
    for claim in claims_of(cluster.machine, words):
        following = Following(claim)
        for row in cluster.past[:-1]:
            following.judge(row)
        witness = following.judge(cluster.row())
        yield f"{claim.name} " + ("holds" if witness is None else f"violated: {witness.text}")


COMMANDS: dict[str, tuple[Callable[[Simulation, Words], Iterable[str] | None], str]] = {
    "suspect": (_suspect, "suspect NODE [SUSPECT…] [torn …]"),
    "run": (_run, "run TIME"),
    "settle": (_settle, "settle"),
    "standings": (_standings, "standings"),
    "claims": (_claims, "claims [NAME…]"),
}
"""The commands besides those for each kind of happening."""
