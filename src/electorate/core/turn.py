"""The driver's port: verified, memoised turns of one machine.

Every driver takes its turns here. What a machine returns is checked once per (state, event),
so that a faulty protocol file is told apart from a broken claim: it raises, forgets, mutates,
rolls dice or writes to strangers, and the error names the protocol, the state and the event.
"""

from collections.abc import Callable, Hashable
from functools import partial
from typing import Any, TypeVar, cast

from electorate.core.contract import Breach, Contract, HiddenMemory, hashable, same_kinds
from electorate.core.event import Effect, Event, Viewed
from electorate.core.machine import Machine
from electorate.core.standing import Standing
from electorate.core.value import NodeId, Request, Stable, State, Value, text_of

TURNS_MAX = 1_000_000
"""A memo that has grown this large is emptied: it saves time, nothing depends on it."""

R = TypeVar("R")


class ProtocolError(Exception):
    """A protocol file broke the contract."""

    def __init__(self, machine: Machine[Any] | str, where: str, problem: str) -> None:
        # Only texts are kept: the error must survive the way out of a worker process.
        name = machine if isinstance(machine, str) else type(machine).__name__
        super().__init__(name, where, problem)

    def __str__(self) -> str:
        name, where, problem = self.args
        return f"{name}: {' '.join(problem.split())} ({where})"


class Turn(Value):
    """The result of one event: the new state, and the effects in the order to carry them out."""

    state: State
    effects: tuple[Effect, ...]


class Turns:
    """The turns of one machine, each computed and verified once."""

    def __init__(self, machine: Machine[Any], turns_max: int = TURNS_MAX) -> None:
        self.machine = machine
        self._turns_max = turns_max
        self.calls = 0
        self._steps: dict[tuple[State, Event], Turn] = {}
        self._views: dict[State, Standing] = {}
        self._tasks: dict[State, Hashable] = {}
        self._asked: dict[tuple[str, Standing], tuple[Request, ...]] = {}
        self._shows_offices = type(machine).offices is Machine.offices
        self._shows_offers = type(machine).offers is Machine.offers
        try:
            self._contract = Contract(machine)
        except Breach as breach:
            raise ProtocolError(machine, "its declarations", str(breach)) from breach
        self._memory = HiddenMemory(machine)

    def boot(self, me: NodeId, stable: Stable | None) -> Turn:
        """The first turn of a life."""
        self.calls += 1
        where = "boot of node {} with stable {}"
        return self._handled(where, (me, stable), self.machine.boot, lambda r: self._turn(me, r))

    def step(self, state: State, event: Event) -> Turn:
        """The turn that `event` leads to in `state`."""
        known = self._steps.get((state, event))
        if known is None:
            self.calls += 1
            where, me = "state {}, event {}", state.me
            known = self._handled(
                where, (state, event), self.machine.step, lambda r: self._turn(me, r)
            )
            if len(self._steps) >= self._turns_max:
                self._steps.clear()
            self._steps[state, event] = known
        return known

    def view(self, state: State) -> Standing:
        """What the application sees in `state`."""
        known = self._views.get(state)
        if known is None:
            known = self._handled(
                "state {}, view", (state,), self.machine.view, self._contract.standing
            )
            if len(self._views) >= self._turns_max:
                self._views.clear()
            self._views[state] = known
        return known

    def task(self, state: State) -> Hashable:
        """How far a node in `state` knows the work to be."""
        if state not in self._tasks:
            found = self._handled("state {}, task", (state,), self.machine.task, hashable)
            if len(self._tasks) >= self._turns_max:
                self._tasks.clear()
            self._tasks[state] = found
        return self._tasks[state]

    def may_ask(self, view: Standing) -> tuple[Request, ...]:
        """What the application may ask for when it sees `view`."""
        return self._requests("may_ask", self.machine.may_ask, view)

    def offices(self, state: State) -> tuple[str, ...]:
        """The timers that end offices of a node in `state`."""
        view = self.view(state)
        if self._shows_offices:
            return () if view.until is None else (view.until,)
        run = partial(self.machine.offices, view=view)
        return self._handled("state {}, offices", (state,), run, self._contract.offices)

    def offers(self, state: State, view: Standing) -> tuple[Request, ...]:
        """What the application may ask for of a node in `state` when it sees `view`."""
        if self._shows_offers:
            return self.may_ask(view)
        run = partial(self.machine.offers, view=view)
        verified = partial(self._contract.requests, name="offers")
        return self._handled("state {}, offers", (state,), run, verified)

    def must_ask(self, view: Standing) -> tuple[Request, ...]:
        """What the application owes when it sees `view`."""
        return self._requests("must_ask", self.machine.must_ask, view)

    def offered(self, state: State) -> tuple[Request, ...]:
        """Everything that the application may ask for of a node in `state`."""
        view = self.view(state)
        return (*self.must_ask(view), *self.offers(state, view))

    def _requests(
        self, name: str, run: Callable[[Standing], object], view: Standing
    ) -> tuple[Request, ...]:
        """What is offered or owed: if a view is the same, the answer must be the same."""

        def verified(result: object) -> tuple[Request, ...]:
            requests = self._contract.requests(result, name)
            if self._asked.setdefault((name, view), requests) != requests:
                raise Breach(
                    f"{name} depends on more than the view: it answered "
                    f"{text_of(self._asked[name, view])} before, and now {text_of(requests)}"
                )
            return requests

        if len(self._asked) >= self._turns_max:
            self._asked.clear()
        return self._handled(f"view {{}}, {name}", (view,), run, verified)

    def life(self, me: NodeId, stable: Stable | None, alive: frozenset[NodeId]) -> list[Turn]:
        """A boot and, if the machine uses views, the view that follows it."""
        booted = self.boot(me, stable)
        if not self.machine.uses_views:
            return [booted]
        return [booted, self.step(booted.state, Viewed(alive))]

    def _turn(self, me: NodeId, result: object) -> Turn:
        return Turn(*self._contract.turn(me, result))

    def _handled(
        self,
        where: str,
        given: tuple[object, ...],
        run: Callable[..., object],
        verified: Callable[[object], R],
    ) -> R:
        """The result of a handler; a ProtocolError says how it breaks the contract."""
        try:
            return self._result(given, run, verified)
        except Breach as breach:
            place = where.format(*map(text_of, given))
            raise ProtocolError(self.machine, place, str(breach)) from breach

    def _result(
        self, given: tuple[object, ...], run: Callable[..., object], verified: Callable[[object], R]
    ) -> R:
        """Run a handler twice and compare both results with the contract."""
        before = repr(given)
        first = _result_of(run, given)
        result = verified(first)
        again = _result_of(run, given)
        # What is the same all through needs no second look of that length.
        is_same = type(again) is type(first) and again == first and same_kinds(again, first)
        differs = not is_same and verified(again) != result
        if repr(given) != before:
            raise Breach(f"the handler changed its input, which was {before}")
        if self._memory.has_changed():
            raise Breach("the handler changed the machine, which all nodes share")
        if differs:
            raise Breach("called twice, the handler answered differently")
        return result


class Sample:
    """Which of many are looked at: the first ones, and later one in a fixed number."""

    def __init__(self, first: int = 100, every: int = 1000) -> None:
        self._first = first
        self._every = every
        self._count = 0

    def draw(self) -> bool:
        """Whether the next one is looked at."""
        self._count += 1
        return self._count <= self._first or self._count % self._every == 0


class TrustedTurns(Turns):
    """Turns that are taken once and trusted: for the thousandth arrangement of the same nodes.

    A driver may use them for a machine whose turns it verifies in other arrangements.
    """

    def _turn(self, me: NodeId, result: object) -> Turn:
        match result:
            case (State() as state, list() | tuple() as effects):
                return Turn(state, tuple(effects))
        raise Breach(f"returned {result!r} instead of (state, effects)")

    def _result(
        self, given: tuple[object, ...], run: Callable[..., object], verified: Callable[[object], R]
    ) -> R:
        return verified(_result_of(run, given))


class SampledTurns(Turns):
    """Turns of which the first ones are verified, and later one of many: for nodes in operation.

    Verifying takes many times as long as the turn itself, and a node that leads a thousand
    elections takes many thousands of turns a second. All its machines share one sample; every boot
    is in it.
    """

    def __init__(self, machine: Machine[Any], turns_max: int, sample: Sample) -> None:
        super().__init__(machine, turns_max)
        self._sample = sample

    def _result(
        self, given: tuple[object, ...], run: Callable[..., object], verified: Callable[[object], R]
    ) -> R:
        if run == self.machine.boot or self._sample.draw():
            return super()._result(given, run, verified)
        believed: Any = _result_of(run, given)
        match believed:
            case (State() as after, list() | tuple() as effects):
                believed = Turn(after, tuple(effects))
            case Standing():
                pass
            case _:
                return verified(believed)
        return cast(R, believed)


def _result_of(run: Callable[..., object], given: tuple[object, ...]) -> object:
    try:
        return run(*given)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # A SystemExit too: it would end the run as if all was well.
        told = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise Breach(f"the handler raised {told}{_location(run, error)}") from error


def _location(run: Callable[..., object], error: BaseException) -> str:
    """The line of the protocol that has raised this, or has called the code that did."""
    handlers = getattr(run, "__self__", run)
    packages = {kind.__module__.partition(".")[0] for kind in type(handlers).__mro__}
    place, traceback = "", error.__traceback__
    while traceback is not None:
        module = str(traceback.tb_frame.f_globals.get("__name__"))
        if module.partition(".")[0] in packages and not module.startswith("electorate.core"):
            place = f", at line {traceback.tb_lineno} of {traceback.tb_frame.f_code.co_filename}"
        traceback = traceback.tb_next
    return place
