"""The rules of the driver's contract about timers, as judgements of a run (see rule.py)."""

from collections.abc import Iterator
from typing import NamedTuple

from electorate.core import CancelTimer, Effect, Received, SetTimer, TimedOut
from tests.conformance.probe import LEASE, Echo
from tests.conformance.rule import Cases
from tests.conformance.story import Life, Moment, Run


class Setting(NamedTuple):
    """One setting of a timer."""

    moment: Moment
    after: int
    jitter: int

    @property
    def earliest(self) -> float:
        """The soonest that it may fire."""
        return self.moment.at + self.after

    @property
    def saves(self) -> bool:
        """Whether its turn had something to save."""
        before = self.moment.before
        return before is None or before.stable != self.moment.state.stable


class Firing(NamedTuple):
    """A timer that fired; `setting` is None if it was not armed."""

    timer: str
    moment: Moment
    setting: Setting | None


def turns_of(life: Life) -> Iterator[tuple[Moment, dict[str, Setting]]]:
    """Each turn with the timers that are armed when it begins."""
    armed: dict[str, Setting] = {}
    for moment in life.moments:
        yield moment, dict(armed)
        if isinstance(moment.event, TimedOut):
            armed.pop(moment.event.timer, None)
        for effect in moment.effects:
            match effect:
                case SetTimer(timer, after, jitter):
                    armed[timer] = Setting(moment, after, jitter)
                case CancelTimer(timer):
                    armed.pop(timer, None)


def firings_of(life: Life) -> Iterator[Firing]:
    """Every firing with the setting that it belongs to."""
    for moment, armed in turns_of(life):
        if isinstance(moment.event, TimedOut):
            timer = moment.event.timer
            yield Firing(timer, moment, armed.get(timer))


def a_timer_fires_once_per_setting(run: Run) -> Cases:
    """A timer fires only while it is armed: not again, not after a cancel, not after a crash."""
    for life in run.lives:
        for timer, _, setting in firings_of(life):
            yield f"{life}: {timer} fires and is not armed" if setting is None else None


def a_timer_is_never_early(run: Run) -> Cases:
    """A timer fires no sooner than its last setting says."""
    if not run.timed:
        return
    for life in run.lives:
        for timer, moment, setting in firings_of(life):
            if setting is not None:
                early = setting.earliest - moment.at
                yield f"{life}: {timer} fires {early} early" if early > 0 else None


def the_last_order_to_a_timer_counts(run: Run) -> Cases:
    """Where a turn sets or cancels a timer several times, the last word is obeyed."""
    for life in run.lives:
        for timer, moment, setting in firings_of(life):
            orders = [] if setting is None else _orders(setting.moment.effects, timer)
            if setting is not None and len(orders) > 1 and run.timed:
                late = moment.at - setting.earliest
                excused = not run.stepped or _was_paused(run, life, setting.moment, moment)
                obeyed = late >= 0 and (late <= setting.jitter or excused)
                yield None if obeyed else f"{life}: {timer} is off by {late}"
        for moment in life.moments:
            for timer in {e.timer for e in moment.effects if isinstance(e, CancelTimer)}:
                last = _orders(moment.effects, timer)[-1]
                fires = isinstance(moment.event, TimedOut) and moment.event.timer == timer
                if isinstance(last, CancelTimer) and not fires:
                    yield from _silence(life, moment, timer)


def _was_paused(run: Run, life: Life, since: Moment, until: Moment) -> bool:
    pauses = (pause for pause in run.pauses if pause.node == life.node)
    return any(pause.at <= until.at and pause.at_end >= since.at for pause in pauses)


def _orders(effects: tuple[Effect, ...], timer: str) -> list[Effect]:
    return [e for e in effects if isinstance(e, SetTimer | CancelTimer) and e.timer == timer]


def _silence(life: Life, cancelled: Moment, timer: str) -> Cases:
    """A cancelled timer is silent until it is set again."""
    for moment in life.moments[life.moments.index(cancelled) + 1 :]:
        if moment.event == TimedOut(timer):
            yield f"{life}: {timer} fires after it was cancelled"
            return
        if _orders(moment.effects, timer):
            break
    yield None


def an_office_that_has_run_out_ends_first(run: Run) -> Cases:
    """No event is handed to a node whose office has run out, but the timer that ends it."""
    if not run.timed:
        return
    for life in run.lives:
        for moment, armed in turns_of(life):
            lease = armed.get(LEASE)
            reigned = moment.before is not None and moment.before.reigns
            if lease is None or not reigned or moment.at < lease.earliest + run.grain:
                continue
            first = moment.event == TimedOut(LEASE) or _is_echo(moment)
            yield None if first else f"{life} takes {moment.event} although its office is over"


def _is_echo(moment: Moment) -> bool:
    """Words to oneself belong to the turn that said them, which was in time."""
    return isinstance(moment.event, Received) and isinstance(moment.event.message, Echo)


def a_paused_node_takes_nothing(run: Run) -> Cases:
    """While a node stands still nothing is handed to it."""
    for pause in run.pauses:
        taken = (
            f"{life} takes {moment.event} while it stands still"
            for life in run.lives_of(pause.node)
            for moment in life.moments
            if pause.order < moment.order < pause.order_end
        )
        yield next(taken, None)


def timers_count_from_when_the_event_was_taken_up(run: Run) -> Cases:
    """A timer of a turn that saves is not put off by the time that saving takes."""
    if not run.timed:
        return
    late = [
        moment.at - setting.earliest - setting.jitter
        for life in run.lives
        for _, moment, setting in firings_of(life)
        if setting is not None
        and setting.saves
        and not _was_paused(run, life, setting.moment, moment)
    ]
    if len(late) > 2:
        # Any firing may be late for some other reason, but hardly every one.
        least = min(late)
        yield None if least <= 0.9 * run.saving else f"every timer is {least} or more late"
