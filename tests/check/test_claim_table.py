"""Which claims the sound forms keep: the table in docs/claims.md, measured.

Three nodes, one crash and one recovery, every delay T. Claims about groups are for protocols that
have groups, those about views for one that shows its views.
"""

from pathlib import Path

import pytest

from electorate.check import Result
from electorate.claims import CLAIMS, Kind
from tests.check.network import judged

PAGE = Path(__file__).parents[2] / "docs" / "claims.md"
ELECTION = ("A1", "A2", "S1", "S2", "S3", "L0", "L1")
GROUPS = ("A3", "A4", "A4p", "S4")
VIEWS = ("P1", "P2")
ABOUT = {
    "bully": ELECTION,
    "bully-rpc": ELECTION,
    "bully-textbook": ELECTION,
    "chang-roberts": ELECTION,
    "ring-list": ELECTION,
    "ring-attribute": ELECTION,
    "park": (*ELECTION, *VIEWS),
    "invitation": (*ELECTION, *GROUPS),
}


def rows() -> dict[str, dict[str, str]]:
    """The table of the page: what it says of each protocol and claim."""
    lines = [line.strip("| ").split(" | ") for line in PAGE.read_text().splitlines()]
    head = next(line for line in lines if line[0] == "protocol")
    found = (line for line in lines if line[0].strip("`") in ABOUT and len(line) == len(head))
    return {line[0].strip("`"): dict(zip(head[1:], line[1:], strict=True)) for line in found}


def test_the_page_lists_every_claim_with_its_kind() -> None:
    lines = [line.strip("| ").split(" | ") for line in PAGE.read_text().splitlines()]
    listed = {line[0]: line[1] for line in lines if len(line) == 4 and line[1] in list(Kind)}
    assert {name.replace("A4'", "A4p"): kind for name, kind in listed.items()} == {
        name: claim.kind for name, claim in CLAIMS.items()
    }


@pytest.mark.parametrize("name", ABOUT)
def test_the_page_says_which_claims_a_protocol_keeps(name: str) -> None:
    written = rows()[name]
    verdict = judged(name, *ABOUT[name], crashes=1, recoveries=1, delay_min=1)
    assert not verdict.cuts
    lengths = {violation.claim: violation.length for violation in verdict.violations}
    measured = {
        claim: "keeps" if result is Result.HOLDS else f"breaks in {lengths[claim]}"
        for claim, result in verdict.claims.items()
    }
    said = {claim.replace("A4'", "A4p"): text for claim, text in written.items()}
    assert {claim: text for claim, text in said.items() if text != "-"} == measured
