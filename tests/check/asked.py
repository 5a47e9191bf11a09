"""A verdict on what somebody might type: `two-phase --nodes 3 --crashes 1 --claim C4`."""

import argparse
import shlex

from electorate.check import Verdict
from electorate.check import check as judged
from electorate.cli import check
from electorate.cli.model import model_of
from electorate.cli.protocol import find


def asked(line: str, engine: str = "numba", states_max: int = 20_000_000) -> Verdict:
    """What `electorate check` finds for these words."""
    parser = argparse.ArgumentParser()
    check.add_arguments(parser)
    options = parser.parse_args(shlex.split(line))
    protocol = find(options.protocol, options.form)
    model = model_of(options, protocol)
    machine = protocol.machine(model.setting)
    claims = check._claims(options.claim, protocol, machine, model)
    return judged(machine, model, claims, states_max, engine=engine, tidy=False)
