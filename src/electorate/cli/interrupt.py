"""Ends that come from outside: Ctrl-C, a signal, a terminal that is gone."""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType


@contextlib.contextmanager
def any_end_is_ctrl_c() -> Iterator[None]:
    """However the command ends, what it began is put back in order first."""

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    with _handled(interrupt, signal.SIGTERM, signal.SIGHUP):
        yield


@contextlib.contextmanager
def not_now() -> Iterator[None]:
    """A signal that comes meanwhile is handled afterwards."""
    if threading.current_thread() is not threading.main_thread():
        yield  # Only the main thread is ever interrupted.
        return
    heard: list[int] = []
    with _handled(
        lambda number, _: heard.append(number), signal.SIGINT, signal.SIGTERM, signal.SIGHUP
    ):
        yield
    for number in heard:
        signal.raise_signal(number)


@contextlib.contextmanager
def _handled(
    handler: Callable[[int, FrameType | None], object], *numbers: signal.Signals
) -> Iterator[None]:
    """Handle these signals, except for those that are ignored, as under nohup."""
    before = {number: signal.getsignal(number) for number in numbers}
    heeded = [number for number, was in before.items() if was not in (signal.SIG_IGN, None)]
    try:
        for number in heeded:
            signal.signal(number, handler)
        yield
    finally:
        for number in heeded:
            signal.signal(number, before[number])
