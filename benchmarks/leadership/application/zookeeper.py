"""An application of ZooKeeper: the election recipe of kazoo.

It speaks to the server of its own node.

python -m benchmarks.leadership.application.zookeeper a 127.0.0.1:2181 10
"""

import logging
import sys
import threading
import time

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException
from kazoo.protocol.states import KazooState

from benchmarks.leadership.application.voice import obey, say

AGAIN_S = 0.05


class Application:
    """Runs for election again and again; leads until its connection is in doubt."""

    def __init__(self, me: str, server: str, session_s: float) -> None:
        retry = {"max_tries": -1, "delay": 0.02, "backoff": 1.5, "max_delay": 0.5}
        self._client = KazooClient(server, timeout=session_s, connection_retry=retry)
        self._me = me
        self._ending = threading.Event()

    def run(self) -> None:
        """Stand for ever."""
        obey(lambda _: self._ending.set())
        self._client.add_listener(self._changed)
        self._client.start(timeout=120)
        say("ready")
        while True:
            try:
                self._client.Election("/job", self._me).run(self._lead)
            except KazooException:
                time.sleep(AGAIN_S)

    def _lead(self) -> None:
        self._ending.clear()
        token = self._client.last_zxid
        say("held", token)
        self._ending.wait()
        say("over", token)

    def _changed(self, state: str) -> None:
        # The recipe leaves it to the application to stop when it is not certain any more.
        if state != KazooState.CONNECTED:
            self._ending.set()


if __name__ == "__main__":
    logging.disable()
    _, me, server, session_s = sys.argv
    Application(me, server, float(session_s)).run()
