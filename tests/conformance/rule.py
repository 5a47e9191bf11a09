"""The driver's contract as judgements of a run.

Each goes through the cases in which its rule was put to the test, and yields None where the rule
was kept, or says how it was broken. The rules about time are in clock_rule.py.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import NamedTuple

from electorate.core import Asked, NodeId, Received, Viewed
from tests.conformance.probe import Echo, Kept, Note, Speak, echoes_of, notes_of
from tests.conformance.story import Life, Moment, Run

Cases = Iterator[str | None]
Rule = Callable[[Run], Cases]


class Heard(NamedTuple):
    """A note from another node, and who took it when."""

    life: Life
    moment: Moment
    sender: NodeId
    note: Note


class Sent(NamedTuple):
    """The notes of one turn to one node."""

    life: Life
    moment: Moment
    to: NodeId
    notes: list[Note]


def heard_in(run: Run) -> list[Heard]:
    """Every note that was heard, in the order of hearing."""
    found = [
        Heard(life, moment, moment.event.sender, moment.event.message)
        for life in run.lives
        for moment in life.moments
        if isinstance(moment.event, Received) and isinstance(moment.event.message, Note)
    ]
    return sorted(found, key=lambda heard: heard.moment.order)


def sent_in(run: Run) -> Iterator[Sent]:
    """What each turn had to say to each other node."""
    for life in run.lives:
        for moment in life.moments:
            for to in run.setting.ids:
                notes = notes_of(moment.effects, to)
                if notes:
                    yield Sent(life, moment, to, notes)


def one_event_at_a_time(run: Run) -> Cases:
    """Each turn begins with the state that the last one led to, and leads where it should."""
    for life in run.lives:
        boot = life.moments[0]
        yield _unless(boot.before is None and boot.state == boot.due, f"{life} boots wrongly")
        for last, moment in pairwise(life.moments):
            kept = moment.before == last.state and moment.state == moment.due
            yield _unless(kept, f"{life}: {moment.event} is not taken where the last turn ended")


def durable_before_the_first_effect(run: Run) -> Cases:
    """Whatever a node has let others hear, it remembers in all its later lives."""
    for heard in heard_in(run):
        for life in run.lives_of(heard.sender):
            if life.moments[0].order > heard.moment.order:
                kept = life.kept is not None and heard.note.promise <= life.kept.promise
                yield _unless(kept, f"{life} has forgotten that node {heard.life.node} heard more")
    for sender, note, durable in run.departures:
        kept = durable is not None and note.promise <= durable.promise
        yield _unless(kept, f"{note} left node {sender} when only {durable} was durable")


def effects_in_order(run: Run) -> Cases:
    """What a turn says to a node, itself included, is heard in that order."""
    heard: dict[tuple[int, int], list[Note]] = {}
    for each in heard_in(run):
        heard.setdefault((id(each.life), each.sender), []).append(each.note)
    for sent in sent_in(run):
        for life in run.lives_of(sent.to):
            arrived = [n for n in heard.get((id(life), sent.life.node), []) if n in sent.notes]
            if len(arrived) > 1:
                kept = arrived == sorted(arrived, key=sent.notes.index)
                yield _unless(kept, f"{life} hears {arrived} in the wrong order")
    for life in run.lives:
        echoes = [_echo(moment) for moment in life.moments]
        for moment in life.moments:
            wanted = echoes_of(moment.effects)
            if len(wanted) > 1:
                found = [echo for echo in echoes if echo in wanted]
                yield _unless(found == wanted[: len(found)], f"{life} hears itself say {found}")


def messages_are_genuine(run: Run) -> Cases:
    """Every note that is heard was sent so, earlier, and is heard once."""
    sent = {
        (each.life.node, each.to, note): each.moment.order
        for each in reversed(list(sent_in(run)))
        for note in each.notes
    }
    seen: set[tuple[NodeId, NodeId, Note]] = set()
    for heard in heard_in(run):
        name = (heard.sender, heard.life.node, heard.note)
        where = f"{heard.life} hears {heard.note} of node {heard.sender}"
        if name not in sent or sent[name] > heard.moment.order:
            yield f"{where}, which has not been sent"
        else:
            yield _unless(name not in seen or run.mishaps, f"{where} twice")
        seen.add(name)


def channels_keep_their_order(run: Run) -> Cases:
    """On each channel notes arrive in the order of sending, across the sender's lives too."""
    last: dict[tuple[NodeId, NodeId], tuple[int, int]] = {}
    for heard in heard_in(run):
        channel = (heard.sender, heard.life.node)
        present = (heard.note.life, heard.note.number)
        late = last.get(channel, (0, 0))
        kept = late < present or (run.mishaps and late == present)
        yield _unless(kept, f"{heard.life} hears {heard.note} of {heard.sender} after {late}")
        last[channel] = present


def nothing_of_an_old_connection_arrives(run: Run) -> Cases:
    """Where connections die, a life hears only what was sent to it, and by a life that is not over.

    A life is over for a receiver when it has heard the next, or, as far as such things have an
    order at all, when the next has begun.
    """
    if not run.dies:
        return
    sent_at = {
        (each.life.node, each.to, note): each.moment.order
        for each in sent_in(run)
        for note in each.notes
    }
    newest: dict[tuple[NodeId, NodeId], int] = {}
    for heard in heard_in(run):
        channel = (heard.sender, heard.life.node)
        fresh = sent_at.get((*channel, heard.note), -1.0) >= heard.life.opened
        current = heard.note.life >= newest.get(channel, 0)
        if run.stepped:
            begun = [
                each for each in run.lives_of(heard.sender) if each.opened < heard.moment.order
            ]
            current &= heard.note.life >= begun[-1].number
        where = f"{heard.life} hears {heard.note} of node {heard.sender}"
        yield _unless(fresh and current, f"{where} on an old connection")
        newest[channel] = max(heard.note.life, newest.get(channel, 0))


def a_crash_leaves_what_was_saved_and_nothing_else(run: Run) -> Cases:
    """A node boots with what its last life saved, and knows nothing else of that life."""
    for node in run.setting.ids:
        lives = run.lives_of(node)
        if lives:
            yield _unless(lives[0].kept is None, f"{lives[0]} is the first, but was given a past")
        for last, life in pairwise(lives):
            saved: list[Kept | None] = [last.moments[-1].state.stable]
            if last.unsaved:
                before = last.moments[-last.unsaved].before
                saved.append(before.stable if before is not None else last.kept)
            yield _unless(life.kept in saved, f"{life} booted with {life.kept}, not {saved}")
            yield _unless(life.moments[0].state == life.moments[0].due, f"{life} is not new")


def a_torn_turn_sends_a_prefix_on_each_channel(run: Run) -> Cases:
    """Of the notes of a turn in a life that ended in a crash, each node hears the first few."""
    if run.mishaps:
        return
    heard = heard_in(run)
    for sent in sent_in(run):
        for life in run.lives_of(sent.to):
            if sent.life.crashed and life.opened < sent.moment.order:
                found = _heard_by(life, sent, heard)
                kept = found == sent.notes[: len(found)]
                yield _unless(kept, f"{life} hears {found} of {sent.notes}")


def _heard_by(life: Life, sent: Sent, heard: list[Heard]) -> list[Note]:
    ours = [each for each in heard if each.life is life and each.sender == sent.life.node]
    return [each.note for each in ours if each.note in sent.notes]


def heard_of_the_last_speech(run: Run) -> Iterator[tuple[int, ...]]:
    """How much each other node heard of what a node said last before it crashed."""
    heard = heard_in(run)
    for life in run.lives:
        speeches = [s for s in sent_in(run) if s.life is life and s.moment.event == Asked(Speak())]
        if life.crashed and speeches:
            last = [sent for sent in speeches if sent.moment is speeches[-1].moment]
            found = [[_heard_by(each, s, heard) for each in run.lives_of(s.to)] for s in last]
            yield tuple(sum(map(len, notes)) for notes in found)


def the_first_event_is_a_view(run: Run) -> Cases:
    """Before any message or timer, a node is told whom its failure detector sees."""
    for life in run.lives:
        for moment in life.moments[1:2]:
            yield _unless(isinstance(moment.event, Viewed), f"{life} begins with {moment.event}")


def self_sends_are_handled_next(run: Run) -> Cases:
    """What a node says to itself is handled before anything else, and never after a crash."""
    for life in run.lives:
        pending: list[Echo] = []
        for moment in life.moments:
            echo = _echo(moment)
            if echo is not None:
                yield _unless(pending[:1] == [echo], f"{life} hears {echo}, not {pending}")
                del pending[:1]
            elif moment is not life.moments[1 if len(life.moments) > 1 else 0]:
                # The first view goes before everything else.
                yield _unless(not pending, f"{life} takes {moment.event} before {pending}")
            pending += echoes_of(moment.effects)


def _echo(moment: Moment) -> Echo | None:
    event = moment.event
    if isinstance(event, Received) and isinstance(event.message, Echo):
        return event.message
    return None


def _unless(kept: bool, breach: str) -> str | None:
    return None if kept else breach
