"""How an application speaks with the benchmark: lines of JSON out, plain words in."""

import json
import os
import sys
import threading
import time
from collections.abc import Callable


def say(what: str, about: object = None) -> None:
    """What has happened, and when: by the one clock that all processes of a machine share."""
    at_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    sys.stdout.write(json.dumps([what, about, at_ns]) + "\n")
    sys.stdout.flush()


def obey(order: Callable[[str], None]) -> None:
    """Carry out every line that comes in; end when the benchmark is gone."""

    def read() -> None:
        for line in sys.stdin:
            order(line.strip())
        os._exit(0)

    threading.Thread(target=read, daemon=True).start()
