"""The pictures in docs/pictures are what the commands beside them draw."""

from pathlib import Path

import pytest

from electorate.cli.main import main

PICTURES = Path(__file__).parents[2] / "docs" / "pictures"
DRAWN = {
    "bully_as_printed": "check bully-as-printed --crashes 1 --recoveries 1",
    "invitation_path": "check invitation --graph path:3 --from boot --delay 1..1 --claim A4 "
    "--rule check=3T",
    "invitation_restart": "check invitation --nodes 2 --crashes 1 --recoveries 1 --delay 1..1 "
    "--claim A4p --rule probe=alive --rule check=3T",
}


def test_every_picture_has_a_command() -> None:
    assert {picture.stem for picture in PICTURES.glob("*.svg")} == set(DRAWN)


@pytest.mark.parametrize("name", DRAWN)
def test_golden_picture(name: str, tmp_path: Path, rewrite: bool) -> None:
    drawn = tmp_path / "drawn.svg"
    assert main([*DRAWN[name].split(), "--no-needs", "--svg", str(drawn)]) == 1
    picture = PICTURES / f"{name}.svg"
    if rewrite:
        picture.write_bytes(drawn.read_bytes())
    assert drawn.read_text() == picture.read_text()
