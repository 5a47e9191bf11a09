"""Who may have a database do what, and how much: for its owner to say.

    access = Access(
        operations={"move": "update account set balance = balance + ? where owner = ?"},
        allow={"atm": ["move"], "audit": "sql"},
        seconds=5,
    )
    database = electorate.Sqlite("savings.db", access=access)

An operation is a statement whose values are bound, or a function `(execute, *values)` that carries
out several. It is called by its name: `await tx.on("savings").call("move", -100, "Ada")`. Whoever
may run SQL may run any statement, with all that the user of the database may do there.

If `allow` does not say, every member may call the operations, and may run SQL if both this member
and that one are on this machine alone, on loopback; from other hosts nobody may.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Any, Literal

import msgspec

from electorate.errors import Refused
from electorate.transactions.resource import Answer

Operation = str | Callable[..., Any]
"""A statement, or a function that carries out several."""
Allowance = Literal["sql"] | Collection[str] | None
"""Any statement; the operations of these names; or nothing."""
Allow = Literal["sql"] | Mapping[str, Allowance] | Callable[[str], Allowance] | None
"""That for all members, by their names, or as a function of the name."""


class Access(msgspec.Struct, frozen=True, kw_only=True):
    """What other members may have a database do; what goes beyond that is refused at once."""

    operations: Mapping[str, Operation] = {}
    allow: Allow = None
    seconds: float = 30.0
    """How long a statement may take. It is stopped then, and the transaction aborted."""
    rows: int = 100_000
    """How many rows a statement may give."""
    size: int = 900_000
    """How many bytes it may give, about; more than 1,000,000 do not fit into an answer."""
    changes: int = 1_000_000
    """How many changes of rows a transaction may make in SQLite, which keeps a note of each."""

    def __post_init__(self) -> None:
        for name in ("seconds", "rows", "size", "changes"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
                raise ValueError(f"{name} is a number above 0, not {value!r}")
        if isinstance(self.allow, str) and self.allow != "sql":
            raise ValueError(f"allow is 'sql', or says it for each member, not {self.allow!r}")
        if isinstance(self.allow, Mapping):
            for member, allowed in self.allow.items():
                self._expect_allowance(member, allowed)

    def _expect_allowance(self, member: str, allowed: Allowance) -> None:
        if allowed is None or allowed == "sql":
            return
        if isinstance(allowed, str):
            raise ValueError(f"{member} is allowed 'sql' or a list of operations, not {allowed!r}")
        unknown = sorted(set(allowed) - self.operations.keys())
        if unknown:
            raise ValueError(f"{member} is allowed {unknown[0]!r}, which is no operation here")

    def permitted(self, sender: str, statement: Any, *, named: bool, is_near: bool) -> Any:
        """What is to be done for a member: its statement, or the operation of that name."""
        allowed = self._allowance(sender, is_near=is_near)
        may_all = isinstance(allowed, str)
        if not named:
            if may_all:
                return statement
            raise Refused(
                f"{sender} may not run SQL here: the member that has this database says with "
                "allow=... who may, or declares operations"
            )
        if statement not in self.operations:
            told = ", ".join(sorted(self.operations)) or "there are none"
            raise Refused(f"no operation is called {statement!r} here; those known: {told}")
        if may_all or statement in (allowed or ()):
            return self.operations[statement]
        raise Refused(f"{sender} may not call {statement!r} here")

    def _allowance(self, sender: str, *, is_near: bool) -> Allowance:
        allow = self.allow
        if allow is None:
            return "sql" if is_near else tuple(self.operations)
        if isinstance(allow, str):
            return allow
        return allow.get(sender) if isinstance(allow, Mapping) else allow(sender)


class ResultSize:
    """Counts what a statement gives, while it gives it; Refused once it is too much."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._rows = 0
        self._size = 0

    def add(self, row: tuple[Any, ...]) -> tuple[Any, ...]:
        """One more row."""
        self._rows += 1
        self._size += sum(len(v) if isinstance(v, str | bytes) else 9 for v in row)
        if self._rows > self._access.rows:
            raise Refused(f"the result has more than {self._access.rows:,} rows: ask for fewer")
        if self._size > self._access.size:
            raise Refused(f"the result has more than {self._access.size:,} bytes: ask for less")
        return row


Execute = Callable[[str, Any, tuple[Any, ...]], Answer]


def carried_out(execute: Execute, tx: str, act: Any, values: tuple[Any, ...]) -> Answer:
    """The result of a statement, or of a function that carries out several."""
    if not callable(act):
        return execute(tx, act, values)

    def run(statement: Any, *bound: Any) -> Answer:
        return execute(tx, statement, bound)

    given = act(run, *values)
    if given is None:
        return Answer()
    if not isinstance(given, Answer):
        raise Refused(f"an operation returns what execute() gave, or None, not {given!r}")
    return given
