"""What faults need of the machine: a network, small disks, the shim. Not every machine has it."""

from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from benchmarks.faults.disk import SmallDisks, remove_leftover_disks, why_no_disks
from benchmarks.faults.network import RelayedNetwork, relayed, why_no_network
from benchmarks.faults.plan import CUT, MOUNTED, NETWORK, SHIMMED
from benchmarks.faults.shim import compiled, why_no_shim


class Ground(NamedTuple):
    """What there is for the nodes of one run."""

    network: RelayedNetwork | None = None
    disks: SmallDisks | None = None
    library: Path | None = None


def lacking(kinds: Collection[str]) -> dict[str, str]:
    """Which of these kinds cannot be had here, and why."""
    found: dict[str, str] = {}
    for needing, why in (
        (NETWORK | CUT, why_no_network),
        (MOUNTED, why_no_disks),
        (SHIMMED, why_no_shim),
    ):
        wanted = [kind for kind in kinds if kind in needing]
        reason = why() if wanted else None
        if reason is not None:
            found |= dict.fromkeys(wanted, reason)
    return found


@contextmanager
def grounds(
    folder: Path, kinds: Collection[str], size: int, seed: int = 0, twin: int | None = None
) -> Iterator[Ground]:
    """Make what faults of these kinds need, and remove it in the end."""
    remove_leftover_disks()
    with ExitStack() as stack:
        network = disks = library = None
        if not NETWORK.isdisjoint(kinds):
            network = stack.enter_context(relayed(size, seed, twin))
        if not SHIMMED.isdisjoint(kinds):
            library = compiled(folder)
        if not MOUNTED.isdisjoint(kinds):
            disks = SmallDisks()
            stack.callback(disks.remove)
        yield Ground(network, disks, library)
