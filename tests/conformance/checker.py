"""The checker as a driver of probes: every transition of small models is on one of its runs."""

from collections.abc import Iterator, Mapping

from electorate.check import Budget, Model
from electorate.check.column import Row
from electorate.check.compiler import Move
from electorate.check.effort import Limits
from electorate.check.explain import trace_of
from electorate.check.plain import Plain, plain_search
from electorate.check.search import Search
from electorate.claims import Claim, Kind
from electorate.trace import Setting
from tests.conformance.probe import find
from tests.conformance.rule import Rule
from tests.conformance.story import Run, told

NOTHING = Claim("nothing", Kind.ALWAYS, "nothing is claimed", lambda row: None)
STATES_MAX = 30_000

RESTART = Budget(crashes=1, recoveries=1, asks=1)
MODELS = {
    "speech": (
        ("1 2 connections=die rule:wishes=speak rule:burst=1", RESTART),
        ("1 2 connections=outlive rule:wishes=speak rule:greets=0", RESTART),
        ("1 2 3 clock=unbounded rule:wishes=speak rule:greets=0", Budget(crashes=1, asks=1)),
    ),
    "clock": (
        ("1 T=2 rule:wishes=wind", Budget(asks=2)),
        ("1 T=2 rule:wishes=wind", Budget(asks=1, pauses=1)),
        ("1 T=2 rule:wishes=wind", Budget(crashes=1, recoveries=1, asks=2)),
    ),
    "office": (
        ("1 2 rule:wishes=reign+speak rule:greets=0 rule:burst=1", Budget(asks=2, pauses=1)),
    ),
}


class Checker:
    """Explores every run of probes within small budgets."""

    name = "checker"
    tears = 8  # of two notes to each of two nodes, any prefixes but all
    exempt: Mapping[Rule, str] = {}

    def runs(self, scene: str) -> Iterator[Run]:
        """For every transition of some models, a shortest run that ends with it."""
        for words, budget in MODELS[scene]:
            setting = Setting.parse(f"cluster probe {words} start=boot")
            search = plain_search(
                setting.machine(*find("probe")),
                Model(setting, budget),
                [NOTHING],
                Limits(STATES_MAX),
            )
            search.run(lambda progress: None)
            assert not search.space.cuts
            for path in _paths(search):
                yield told(trace_of(search.moves, path))


def _paths(search: Search[Plain]) -> Iterator[list[tuple[Row, Move]]]:
    """A shortest way to the end of each transition, unless it goes on on another such way."""
    passed = {parent[0] for parent in search.engine.parents if parent is not None}
    places = {row: place for place, row in enumerate(search.engine.rows)}
    for place, row in enumerate(search.engine.rows):
        path = search.path(place)
        if place not in passed:
            yield path
        for move, after in search.moves.successors(row):
            if search.engine.parents[places[after]] != (place, move):
                yield [*path, (row, move)]
