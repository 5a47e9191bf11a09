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
from electorate.simulate.cluster import Cluster
from electorate.simulate.law import IllegalStep
from electorate.simulate.named import claims_of
from electorate.simulate.reaction import Torn
from electorate.simulate.settle import run_until, settle
from electorate.trace import Placed, lines_of

Words = list[str]


def run_command(cluster: Cluster, line: str) -> list[str]:
    """Obey one line; what it has to say. Raises IllegalStep or ValueError with what is wrong."""
    verb, *words = line.split()
    if verb == "quietly":
        if not words:
            raise ValueError("quietly what?")
        run_command(cluster, " ".join(words))
        return []
    known = COMMANDS.get(verb)
    if known is None:
        raise ValueError(f"unknown command {verb!r}; the commands are: {', '.join(COMMANDS)}")
    command, usage = known
    before = len(cluster.steps)
    try:
        said = list(command(cluster, words) or ())
    except (_Misused, IndexError):
        raise ValueError(f"write: {usage}") from None
    timing = cluster.setting.timing
    return [text for step in cluster.steps[before:] for text in lines_of(step, timing)] + said


class _Misused(Exception):
    """The words after a verb do not fit it."""


# --- reading words ---


def _end(words: Words) -> None:
    if words:
        raise _Misused


def _id(word: str) -> NodeId:
    if not word.isdecimal():
        raise _Misused
    return int(word)


def _only_id(words: Words) -> NodeId:
    _end(words[1:])
    return _id(words[0])


def _untorn(words: Words) -> tuple[Words, Torn | None]:
    """The words before `torn`, and what is said after it."""
    if "torn" not in words:
        return words, None
    at = words.index("torn")
    before, after = words[:at], words[at + 1 :]
    numbered = [word for word in after[:1] if word.startswith("#")]
    sent: dict[NodeId, int] = {}
    for word in after[len(numbered) :]:
        to, colon, count = word.partition(":")
        if not (colon and to.isdecimal() and count.isdecimal()):
            raise ValueError(f"after torn comes node:count, not {word!r}")
        sent[int(to)] = int(count)
    return before, Torn(sent, _place(numbered))


def _place(words: Words) -> int:
    if not words:
        return 0
    _end(words[1:])
    if not re.fullmatch(r"#\d+", words[0]):
        raise _Misused
    return int(words[0][1:])


def _link(word: str) -> tuple[NodeId, NodeId]:
    sender, arrow, to = word.partition("->")
    if not arrow:
        raise _Misused
    return _id(sender), _id(to)


def _message(cluster: Cluster, words: Words) -> tuple[NodeId, NodeId, int]:
    sender, to = _link(words[0])
    cluster.node(sender)
    cluster.node(to)
    return sender, to, _place(words[1:])


def _links(words: Words) -> list[tuple[NodeId, NodeId]]:
    """`1->2` is one way, `1 2` both."""
    if len(words) == 1:
        return [_link(words[0])]
    _end(words[2:])
    one, other = _id(words[0]), _id(words[1])
    return [(one, other), (other, one)]


# --- the commands ---


def _deliver(cluster: Cluster, words: Words) -> None:
    words, torn = _untorn(words)
    cluster.deliver(*_message(cluster, words), torn)


def _double(cluster: Cluster, words: Words) -> None:
    words, torn = _untorn(words)
    cluster.double(*_message(cluster, words), torn)


def _lose(cluster: Cluster, words: Words) -> None:
    cluster.lose(*_message(cluster, words))


def _fire(cluster: Cluster, words: Words) -> None:
    words, torn = _untorn(words)
    _end(words[2:])
    cluster.fire(_id(words[0]), words[1], torn)


def _view(cluster: Cluster, words: Words) -> None:
    words, torn = _untorn(words)
    cluster.view(_id(words[0]), map(_id, words[1:]), torn)


def _suspect(cluster: Cluster, words: Words) -> None:
    """A view without the nodes that are named, or without the present leader."""
    words, torn = _untorn(words)
    node, suspects = _id(words[0]), [_id(word) for word in words[1:]]
    here = cluster.node(node)
    if not suspects:
        leader = here.local.standing.leader if here.local else None
        if leader is None or leader == node:
            raise IllegalStep(f"{node} follows nobody that it could suspect")
        suspects = [leader]
    cluster.view(node, here.view - set(suspects), torn)


def _ask(cluster: Cluster, words: Words) -> None:
    words, torn = _untorn(words)
    node, text = _id(words[0]), " ".join(words[1:])
    local = cluster.node(node).local
    offered = cluster.locals.turns.offered(local.state) if local else ()
    request = next((request for request in offered if text_of(request) == text), None)
    cluster.ask(node, request or _Unoffered(text), torn)


class _Unoffered(Request):
    """A request that is not open now; the cluster will say which ones are."""

    text: str


def _crash(cluster: Cluster, words: Words) -> None:
    cluster.crash(_only_id(words))


def _recover(cluster: Cluster, words: Words) -> None:
    words, torn = _untorn(words)
    cluster.recover(_only_id(words), torn)


def _pause(cluster: Cluster, words: Words) -> None:
    cluster.pause(_only_id(words))


def _resume(cluster: Cluster, words: Words) -> None:
    cluster.resume(_only_id(words))


def _cut(cluster: Cluster, words: Words) -> None:
    (sender, to), *back = _links(words)
    cluster.cut(sender, to, both=bool(back))


def _heal(cluster: Cluster, words: Words) -> None:
    (sender, to), *back = _links(words)
    cluster.heal(sender, to, both=bool(back))


def _tick(cluster: Cluster, words: Words) -> None:
    _end(words[1:])
    cluster.tick(_span(cluster, words[0]) if words else 1)


def _phase(cluster: Cluster, words: Words) -> None:
    _end(words[3:])
    cluster.phase(_id(words[0]), words[1], _span(cluster, words[2]))


def _place_node(cluster: Cluster, words: Words) -> None:
    node, state, json, *rest = words
    if state not in ("up", "down"):
        raise _Misused
    alive: frozenset[NodeId] = frozenset()
    timers: list[tuple[str, int, int]] = []
    sent: list[tuple[NodeId, int, str]] = []
    for word in rest:
        name, _, text = word.partition("=")
        if name.startswith("->"):
            to, _, age = name.removeprefix("->").partition("@")
            sent.append((_id(to), _id(age or "0"), text))
        elif state == "down":
            raise _Misused
        elif name == "view":
            alive = frozenset(_id(each) for each in text.split(",") if each)
        else:
            soonest, _, latest = text.partition("..")
            timers.append((name, _id(soonest), _id(latest)))
    cluster.place(Placed(_id(node), json, state == "up", alive, tuple(timers), tuple(sent)))


def _span(cluster: Cluster, word: str) -> int:
    return Span.parse(word).of(cluster.setting.timing)


def _run(cluster: Cluster, words: Words) -> None:
    _end(words[1:])
    run_until(cluster, cluster.now + _span(cluster, words[0]))


def _settle(cluster: Cluster, words: Words) -> None:
    _end(words)
    settle(cluster)


def _standings(cluster: Cluster, words: Words) -> Iterator[str]:
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


def _claims(cluster: Cluster, words: Words) -> Iterator[str]:
    for claim in claims_of(cluster.machine, words):
        following = Following(claim)
        for row in cluster.past[:-1]:
            following.judge(row)
        witness = following.judge(cluster.row())
        yield f"{claim.name} " + ("holds" if witness is None else f"violated: {witness.text}")


COMMANDS: dict[str, tuple[Callable[[Cluster, Words], Iterable[str] | None], str]] = {
    "crash": (_crash, "crash NODE"),
    "recover": (_recover, "recover NODE [torn …]"),
    "view": (_view, "view NODE ALIVE… [torn …]"),
    "suspect": (_suspect, "suspect NODE [SUSPECT…] [torn …]"),
    "ask": (_ask, "ask NODE REQUEST [torn …]"),
    "deliver": (_deliver, "deliver FROM->TO [#PLACE] [torn …]"),
    "lose": (_lose, "lose FROM->TO [#PLACE]"),
    "double": (_double, "double FROM->TO [#PLACE] [torn …]"),
    "fire": (_fire, "fire NODE TIMER [torn …]"),
    "tick": (_tick, "tick [TIME]"),
    "pause": (_pause, "pause NODE"),
    "resume": (_resume, "resume NODE"),
    "cut": (_cut, "cut FROM->TO, or cut NODE NODE for both ways"),
    "heal": (_heal, "heal FROM->TO, or heal NODE NODE for both ways"),
    "phase": (_phase, "phase NODE TIMER LEFT"),
    "place": (
        _place_node,
        "place NODE up|down JSON [view=NODES] [TIMER=SOONEST..LATEST …] [->TO[@AGE]=JSON …]",
    ),
    "run": (_run, "run TIME"),
    "settle": (_settle, "settle"),
    "standings": (_standings, "standings"),
    "claims": (_claims, "claims [NAME…]"),
}
