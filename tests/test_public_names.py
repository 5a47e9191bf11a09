"""What a protocol file may import is promised: a change here is a change for everybody."""

import pytest

import electorate
import electorate.core
from electorate import claims, trace

CORE = """
Anyone Applied Asked Assumption Begin CancelTimer Choice Decision Effect Event Foremost Lift Machine
Members Message Name NodeId Ordinal Over OverRules P ProtocolError Received Request Result Rules
Send Serial SetTimer Span Stable Stage Standing State Status Strongest T TimedOut Timer Timing
Topic Turn Turns Value Viewed Vote Wants text_of
"""


def test_the_contract_has_these_names_and_no_others() -> None:
    assert electorate.core.__all__ == CORE.split()


APPLICATION = """
Aborted Cluster ClusterMismatch Damaged IdTaken Leader LeadershipLost MembersUnchanged Node
NodeStopped OutcomeUnknown Pace Postgres Refused Removed Sqlite StoreError Term TransferFailed
Triple sync transaction
"""


def test_an_application_has_these_names_and_no_others() -> None:
    assert electorate.__all__ == APPLICATION.split()
    with pytest.raises(AttributeError, match="electorate has no 'manager'"):
        electorate.manager  # noqa: B018


def test_every_public_name_leads_somewhere() -> None:
    for package in (electorate, electorate.core, claims, trace):
        assert [name for name in package.__all__ if not hasattr(package, name)] == []
        assert len(set(package.__all__)) == len(package.__all__)
