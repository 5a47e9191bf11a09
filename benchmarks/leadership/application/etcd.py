"""An application of etcd: a lease, kept alive, and etcd's own election service on top of it.

It speaks to the server of its own node, by the JSON form of etcd's interface.

python -m benchmarks.leadership.application.etcd a http://127.0.0.1:2379 2
"""

import base64
import json
import sys
import threading
import time
import urllib.request
from typing import Any

from benchmarks.leadership.application.voice import obey, say

ELECTION = base64.b64encode(b"job").decode()
AGAIN_S = 0.05


class Application:
    """Campaigns, leads until its lease is gone or it is told to resign, and begins again."""

    def __init__(self, me: str, url: str, ttl_s: int) -> None:
        self._me = base64.b64encode(me.encode()).decode()
        self._url = url
        self._ttl_s = ttl_s
        self._resigning = threading.Event()

    def run(self) -> None:
        """One lease after the other."""
        obey(lambda _: self._resigning.set())
        lease = self._lease()
        say("ready")
        while True:
            lost = threading.Event()
            # A campaign does not end by itself when its lease is gone: it is left behind.
            for act in (self._keep_alive, self._campaign):
                threading.Thread(target=act, args=(lease, lost), daemon=True).start()
            lost.wait()
            lease = self._lease()

    def _lease(self) -> str:
        while True:
            try:
                return str(self._ask("lease/grant", {"TTL": self._ttl_s}, self._ttl_s + 5.0)["ID"])
            except (OSError, ValueError):
                time.sleep(AGAIN_S)

    def _keep_alive(self, lease: str, lost: threading.Event) -> None:
        """Renew three times per lifetime, as etcd's own client does; count from the asking."""
        until = time.monotonic() + self._ttl_s
        while time.monotonic() < until:
            asked = time.monotonic()
            try:
                answer = self._ask("lease/keepalive", {"ID": lease}, self._ttl_s / 3)
                ttl_s = int(answer["result"].get("TTL", 0))
                if ttl_s == 0:
                    break
                until = asked + ttl_s
            except (OSError, ValueError):
                time.sleep(AGAIN_S)
                continue
            time.sleep(self._ttl_s / 3)
        lost.set()

    def _campaign(self, lease: str, lost: threading.Event) -> None:
        wish = {"name": ELECTION, "lease": lease, "value": self._me}
        while not lost.is_set():
            try:
                leader = self._ask("election/campaign", wish, 3600.0)["leader"]
            except (OSError, ValueError):
                time.sleep(AGAIN_S)
                continue
            if lost.is_set():
                return
            self._resigning.clear()
            say("held", int(leader["rev"]))
            while not lost.is_set():
                if self._resigning.wait(0.001):
                    self._ask("election/resign", {"leader": leader}, 5.0)
                    break
            say("over", int(leader["rev"]))

    def _ask(self, what: str, body: dict[str, Any], patience_s: float) -> dict[str, Any]:
        data = json.dumps(body).encode()
        request = urllib.request.Request(f"{self._url}/v3/{what}", data, method="POST")
        with urllib.request.urlopen(request, timeout=patience_s) as answer:
            found: dict[str, Any] = json.loads(answer.readline())
        if "error" in found:
            raise ValueError(found["error"])
        return found


if __name__ == "__main__":
    _, me, url, ttl_s = sys.argv
    Application(me, url, int(ttl_s)).run()
