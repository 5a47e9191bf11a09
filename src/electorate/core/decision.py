"""What an application may see of a transaction, and what it answers: a Decision for commits.

A machine that commits is one transaction. The driver looks at `wants`, has the application do it,
and says so: `Vote` once it has prepared or refused, `Applied` once it has committed or undone. A
vote is asked for only after the work is prepared, so that what was promised survives a crash: the
application prepares first, then the machine's `stable` is saved, then the others hear of it.
After a crash the machine wants again what it cannot know to be done; doing it twice must be the
same as doing it once. What was prepared and has no vote in the machine's `stable` is to be undone.
"""

from enum import StrEnum

from electorate.core.standing import Standing
from electorate.core.value import Request


class Stage(StrEnum):
    """How far a node has come with a transaction."""

    WORKING = "working"  # has not voted; the coordinator: has not begun
    UNCERTAIN = "uncertain"  # has voted yes and awaits the decision; the coordinator: has begun
    COMMITTABLE = "committable"  # knows that all have voted yes
    ABORTABLE = "abortable"  # has agreed to abort
    COMMITTED = "committed"
    ABORTED = "aborted"

    @property
    def is_final(self) -> bool:
        """Whether it has decided."""
        return self in (Stage.COMMITTED, Stage.ABORTED)

    @property
    def is_in_doubt(self) -> bool:
        """Whether it must neither commit nor abort of its own accord."""
        return not self.is_final and self is not Stage.WORKING


class Wants(StrEnum):
    """What the application is to do now."""

    PREPARE = "prepare"  # make the work safe, and vote
    COMMIT = "commit"  # make the work visible
    ABORT = "abort"  # undo the work
    NOTHING = "nothing"


class Decision(Standing):
    """What a node knows of its transaction; its standing is that of the election underneath."""

    state: Stage = Stage.WORKING
    wants: Wants = Wants.NOTHING
    coordinates: bool = False
    """Whether this is the original coordinator, which takes no part itself."""
    over: bool = False
    """Everybody has applied the decision: nobody will ask for it any more."""


class Begin(Request):
    """To the coordinator: decide this transaction."""


class Vote(Request):
    """The work is prepared, whatever happens now (yes); or it is not going to be (no)."""

    yes: bool


class Applied(Request):
    """What was decided is done."""
