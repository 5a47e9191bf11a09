"""Claims by name: ours by their short names, others as `path.py:NAME` or `module:NAME`.

A claim from a file is called by that whole name everywhere, so it is never taken for one of ours,
and a script that names it finds it again. Its code is watched: code that fails is told apart from a
claim that is broken.
"""

import difflib
import inspect
import traceback
from collections.abc import Callable, Iterable
from typing import Any

from electorate.claims import CLAIMS, Claim, Fold, Kind, Premise, Row, Sight, Witness
from electorate.core import Machine, ProtocolError, Topic
from electorate.trace.source import SourceError, loaded


class UnknownClaim(ValueError):
    """A claim that cannot be found, or that means nothing for the machine."""


class ClaimError(ProtocolError):
    """A claim from a file does what no claim may do."""


def claims_of(machine: Machine[Any], names: Iterable[str] = ()) -> tuple[Claim, ...]:
    """The named claims, or those that the machine promises if none is named; all fit it."""
    wanted = tuple(dict.fromkeys(names)) or machine.promises
    claims = tuple(map(claim_named, wanted))
    for claim in claims:
        misfit = claim.misfit(machine)
        if misfit is not None:
            fitting = [name for name, each in CLAIMS.items() if each.misfit(machine) is None]
            raise UnknownClaim(f"{misfit}; the claims that fit are: {', '.join(fitting)}")
    return claims


def claim_named(name: str) -> Claim:
    """The claim of that name."""
    if name in CLAIMS:
        return CLAIMS[name]
    source, colon, attribute = name.rpartition(":")
    if not colon:
        near = difflib.get_close_matches(name.upper(), CLAIMS, 1)
        hint = f"did you mean {near[0]}?" if near else f"the claims are: {', '.join(CLAIMS)}"
        raise UnknownClaim(f"unknown claim {name!r}; {hint} (or give path.py:NAME)")
    if name.split() != [name]:
        raise UnknownClaim(f"{name!r}: scripts cannot name a claim with a blank in its path")
    try:
        module = loaded(source, "claim")
    except SourceError as error:
        raise UnknownClaim(str(error)) from error
    if not hasattr(module, attribute):
        known = sorted(each for each, value in vars(module).items() if isinstance(value, Claim))
        listed = f"; its claims are: {', '.join(known)}" if known else ""
        raise UnknownClaim(f"{source} has no {attribute!r}{listed}")
    found = getattr(module, attribute)
    wrong = _flaw(found)
    if wrong is not None:
        raise UnknownClaim(f"{name} {wrong}")
    return _watched(name, found)


def _flaw(found: object) -> str | None:
    """Why an object cannot be used as a claim; None if it can."""
    if not isinstance(found, Claim):
        return f"is a {type(found).__name__}, not an electorate.claims.Claim"
    if found.kind is Kind.STEP and found.fold is not None:
        return "is about a step and remembers: a claim with a fold is of the kind always or goal"
    kinds = {"kind": Kind, "fold": Fold | None, "premise": Premise | None}
    for field, kind in kinds.items():
        value: Any = getattr(found, field)
        if not isinstance(value, kind):
            return f"has the {field} {value!r}, which is not a {field.capitalize()}"
    for field, member in {"sights": Sight, "about": Topic, "misreads": Topic}.items():
        values: Any = getattr(found, field)
        if not (isinstance(values, frozenset) and all(isinstance(v, member) for v in values)):
            return f"has the {field} {values!r}, which is not a frozenset of {member.__name__}"
    if found.fold is not None:
        try:
            hash(found.fold.first)
        except TypeError as error:
            return f"remembers {found.fold.first!r} at first: {error}"
    return _misfitting_judge(found)


def _misfitting_judge(claim: Claim) -> str | None:
    given = ["row"]
    if claim.kind is Kind.STEP:
        given = ["row before", "row after"]
    elif claim.fold is not None:
        given = ["row", "memory"]
    try:
        inspect.signature(claim.judge).bind(*given)
    except TypeError as error:
        return f"has a judge that cannot be given ({', '.join(given)}): {error}"
    return None


def _watched(name: str, claim: Claim) -> Claim:
    """The claim under its whole name: it sees what it asks for, and its failures are reported."""

    def seen(row: Row) -> Row:
        return row.only(claim.sights)

    def called(part: str, function: Callable[..., Any], *given: Any) -> Any:
        try:
            return function(*given)
        except (Exception, SystemExit) as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            problem = f"its {part} raises {type(error).__name__}: {error}"
            raise ClaimError(name, f"{where.filename}:{where.lineno}", problem) from error

    def judge(*given: Any) -> Witness | None:
        shown = [seen(each) if isinstance(each, Row) else each for each in given]
        found, again = (called("judge", claim.judge, *shown) for _ in range(2))
        if not (found is None or isinstance(found, Witness)):
            raise ClaimError(name, "judge", f"returned {found!r} instead of None or a Witness")
        if (found is None) is not (again is None):
            raise ClaimError(name, "judge", "judges the same row in two ways")
        return found

    def then(memory: Any, row: Row) -> Any:
        assert claim.fold is not None
        after = called("fold", claim.fold.then, memory, seen(row))
        called("fold", hash, after)
        if called("fold", claim.fold.then, after, seen(row)) != after:
            problem = f"the same row twice in a row makes {after!r} something else"
            raise ClaimError(name, "fold", problem)
        return after

    def is_met(row: Row) -> bool:
        assert claim.premise is not None
        return bool(called("premise", claim.premise.is_met, seen(row)))

    return claim._replace(
        name=name,
        judge=judge,
        fold=claim.fold and Fold(claim.fold.first, then),
        premise=claim.premise and Premise(claim.premise.text, is_met),
    )
