"""Delay models: one number in, one delay out."""

import math
import random
from statistics import median

import pytest

from electorate.core import Timing
from electorate.simulate.chance import Drawn, Fixed
from electorate.simulate.delay import Constant, Delay, Lognormal, Pareto, Uniform, parse_delay
from electorate.simulate.simulation import Channel, Envelope
from tests.simulate.machines import Note

TIMING = Timing(T=1000)


def sample(delay: Delay, count: int = 4000) -> list[int]:
    lots = random.Random("delays")
    return sorted(delay.of(lots.random()) for _ in range(count))


def test_a_constant_delay_is_always_the_same() -> None:
    assert set(sample(Constant(7))) == {7}


def test_a_uniform_delay_fills_its_range_evenly() -> None:
    delays = sample(Uniform(100, 199))
    assert (delays[0], delays[-1]) == (100, 199)
    assert abs(median(delays) - 150) < 5


def test_a_lognormal_delay_has_its_median_and_a_tail() -> None:
    delays = sample(Lognormal(300, 0.8))
    assert abs(median(delays) - 300) < 15
    above = sum(delay > 300 * math.exp(0.8) for delay in delays) / len(delays)
    assert abs(above - 0.159) < 0.02, "one sigma"
    assert Lognormal(300, 0.8).of(0.0) >= 0


def test_a_pareto_delay_has_a_least_value_and_a_heavy_tail() -> None:
    delays = sample(Pareto(100, 1.5))
    assert delays[0] >= 100
    above = sum(delay > 1000 for delay in delays) / len(delays)
    assert abs(above - 10**-1.5) < 0.01


@pytest.mark.parametrize(
    ("text", "delay", "longest"),
    [
        ("constant:1T", Constant(1000), 1000),
        ("constant:T", Constant(1000), 1000),
        ("uniform:0..1T", Uniform(0, 1000), 1000),
        ("uniform:0.25T..700", Uniform(250, 700), 700),
        ("lognormal:0.3T,0.8", Lognormal(300, 0.8), None),
        ("pareto:0.1T,1.5", Pareto(100, 1.5), None),
    ],
)
def test_models_are_read_from_text(text: str, delay: Delay, longest: int | None) -> None:
    assert parse_delay(text, TIMING) == delay
    assert delay.longest() == longest


NO_MODELS = """
    constant constant: constant:1,2 gauss:1T uniform:1T uniform:2T..1T
    lognormal:1T lognormal:1T,x pareto:1T,0 pareto:-1T,2 pareto:1T,nan
"""


@pytest.mark.parametrize("text", ["", *NO_MODELS.split()])
def test_what_is_no_model_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        parse_delay(text, TIMING)


def envelope(sender: int, to: int, ordinal: int) -> Envelope:
    return Envelope(Channel(sender, to), sender, to, Note(0), 0, 0, ordinal)


def test_what_is_drawn_for_a_message_depends_on_nothing_but_its_place() -> None:
    forwards = Drawn(3, Uniform(0, 1000), 0.5, 0.5)
    backwards = Drawn(3, Uniform(0, 1000), 0.5, 0.5)
    places = [(a, b, k) for a in (1, 2, 3) for b in (1, 2, 3) for k in range(20)]
    one = {place: forwards.delay(envelope(*place)) for place in places}
    for place in reversed(places):
        backwards.loses(envelope(*place))
        backwards.copy(envelope(*place))
        assert backwards.delay(envelope(*place)) == one[place]
    assert len(set(one.values())) > 150, "and differs from place to place"


def test_losses_and_copies_are_as_frequent_as_they_should_be() -> None:
    drawn = Drawn(1, Constant(5), loss=0.2, duplication=0.1)
    places = [envelope(1, 2, ordinal) for ordinal in range(3000)]
    assert abs(sum(map(drawn.loses, places)) / 3000 - 0.2) < 0.03
    copies = [copy for copy in map(drawn.copy, places) if copy is not None]
    assert abs(len(copies) / 3000 - 0.1) < 0.03
    assert set(copies) == {5}


def test_lags_and_jitters_stay_within_their_bounds() -> None:
    drawn = Drawn(1, Constant(5))
    assert {drawn.lag(1, 2, 3) for _ in range(100)} == {0, 1, 2, 3}
    assert {drawn.jitter(1, 2) for _ in range(100)} == {0, 1, 2}


def test_what_was_drawn_can_be_written_down_and_used_again() -> None:
    noted = Fixed({}, 1000, Drawn(9, Uniform(0, 1000), 0.3, 0.3))
    places = [envelope(1, 2, ordinal) for ordinal in range(50)]

    def everything(source: Fixed) -> list[object]:
        found: list[object] = [source.lag(1, 2, 9), source.lag(1, 2, 9), source.jitter(1, 9)]
        return found + [(source.loses(e), source.copy(e), source.delay(e)) for e in places]

    first = everything(noted)
    assert everything(Fixed(noted.numbers, 1000)) == first
    assert Fixed({}, 1000).delay(places[0]) == 1000
