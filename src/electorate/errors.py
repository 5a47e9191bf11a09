"""Every exception that an application can get from electorate: one root, one place.

`except ElectorateError` catches them all. Wrong calls raise a ValueError, a TypeError or a
RuntimeError, and whatever takes longer than `timeout` raises a TimeoutError, as in all Python.
"""


class ElectorateError(Exception):
    """Something that was asked of electorate could not be done."""


# --- a node, whatever runs on it ---


class NodeStopped(ElectorateError):
    """The node is not running: it was stopped, has failed, or was never entered."""


class StoreError(ElectorateError):
    """The store cannot be relied on; a node must stop rather than guess."""


class IdTaken(ElectorateError):
    """Another node is live under this node's id."""


class CredentialsError(ElectorateError):
    """A certificate, its key or a CA cannot be used; the text says which, and why."""


class Removed(ElectorateError):
    """The other members go on without this node."""


class MembersUnchanged(ElectorateError):
    """The members are unchanged, or it is not known whether they are; the text says why."""


# --- leadership ---


class LeadershipLost(ElectorateError):
    """The term is over: somebody else may lead by now."""

    def __init__(self, election: str, token: int) -> None:
        super().__init__(election, token)
        self.election = election
        self.token = token

    def __str__(self) -> str:
        return f"term {self.token} of {self.election} is over"


class StaleToken(ElectorateError):
    """A fence has refused a write: it has seen a larger token. Nothing was written."""

    def __init__(self, fence: str, token: int, seen: int) -> None:
        super().__init__(fence, token, seen)
        self.fence = fence
        self.token = token
        self.seen = seen

    def __str__(self) -> str:
        return f"token {self.token} is refused: {self.fence} has seen token {self.seen}"


class TransferFailed(ElectorateError):
    """The office was not handed over; the text says why."""


# --- transactions ---


class Aborted(ElectorateError):
    """The transaction was aborted: none of its work is anywhere."""

    def __init__(self, tx: str, reason: str) -> None:
        super().__init__(tx, reason)
        self.tx = tx
        self.reason = reason

    def __str__(self) -> str:
        return f"transaction {self.tx} was aborted: {self.reason}"


class OutcomeUnknown(ElectorateError):
    """The node ended before it was known how the transaction was decided.

    It is decided, and done, once the node is back.
    """

    def __init__(self, tx: str) -> None:
        super().__init__(tx)
        self.tx = tx

    def __str__(self) -> str:
        return f"the node ended before the outcome of transaction {self.tx} was known"


class Refused(ElectorateError):
    """A database could not do the work, or could not prepare it: the transaction must abort."""


class Damaged(ElectorateError):
    """What was promised cannot be done, because it is lost; nobody may guess."""
