"""What proof and encryption cost is compared with plain, and measured at all three kinds."""

from pathlib import Path

import pytest

from benchmarks.security import KINDS, Turn, prepare, summary, take_turn


def test_each_kind_is_compared_with_plain() -> None:
    turns = [
        Turn("plain", 100.0, 10, [500.0]),
        Turn("plain", 140.0, 10, [700.0, 600.0]),
        Turn("secret", 126.0, 10, [550.0]),
        Turn("tls", 132.0, 30, []),
    ]
    plain, secret, tls = summary(turns, 2.0)
    assert (plain["cpu_ms_per_s"], plain["failover_ms"], plain["failover_max_ms"]) == (60, 600, 700)
    assert (secret["more_percent"], tls["more_percent"]) == (5.0, 10.0)
    assert (tls["turns"], tls["kills"], tls["failover_ms"]) == (1, 0, None)


def test_what_each_kind_needs_is_written(tmp_path: Path) -> None:
    for kind in KINDS:
        (tmp_path / kind).mkdir()
        prepare(kind, tmp_path / kind)
    written = {kind: len(list((tmp_path / kind).iterdir())) for kind in KINDS}
    assert written == {"plain": 0, "secret": 1, "tls": 11}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_five_nodes_of_each_kind_rest_and_fail_over(kind: str) -> None:
    turn = take_turn(kind, seconds=1.0, kills=1)
    assert turn.cpu_ms > 0
    assert len(turn.failover_ms) == 1
