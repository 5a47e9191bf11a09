"""A network of its own: every packet between the nodes passes through this process.

    python -m benchmarks.faults.relay NAMESPACE=HOST …

Every node lives in a network namespace whose only way out is a device of this process (TUN). It
takes on its standard input, as a line of JSON, what becomes of packets from now on, and answers
with the number of the order once that is so:

    {"order": 7, "lost": [[0, 1]], "shaped": [[0, 2, {"delay": 0.05, "jitter": 0.1, "loss": 0.2,
     "reset": 0.1, "bandwidth": 20000}]]}

It ends when its standard input does. What is left to chance is drawn by a seed (FAULTS_SEED).
"""

import ctypes
import fcntl
import heapq
import json
import os
import selectors
import struct
import sys
import time
from collections import defaultdict
from contextlib import suppress
from itertools import count
from random import Random
from typing import Any, NamedTuple

NAMESPACES = "/run/netns"
DEVICE = "tun0"
NEW_NETWORK = 0x40000000  # CLONE_NEWNET
TUN_SET = 0x400454CA  # TUNSETIFF
TUN_PLAIN = 0x1001  # IFF_TUN | IFF_NO_PI
QUEUE_S = 1.0
"""What would have to wait for longer than that at a narrow place is lost."""
RESET, ACK = 0x04, 0x10
TCP = 6


class Shape(NamedTuple):
    """What becomes of packets on one way."""

    delay: float = 0.0
    jitter: float = 0.0
    """Up to so much more, drawn for every packet: packets overtake each other."""
    loss: float = 0.0
    reset: float = 0.0
    """The part of packets that end their connection instead of arriving."""
    bandwidth: float = 0.0
    """Bytes per second; 0 for any."""


class Relay:
    """The devices, and what is on its way between them."""

    def __init__(self, namespaces: list[str], hosts: list[str], seed: int) -> None:
        self._devices = [device(each) for each in namespaces]
        self._at: dict[bytes, list[int]] = defaultdict(list)
        """Who has an address: several, where a node was copied."""
        for number, host in enumerate(hosts):
            self._at[bytes(map(int, host.split(".")))].append(number)
        self._lost: set[tuple[int, int]] = set()
        self._shaped: dict[tuple[int, int], Shape] = {}
        self._free_at: dict[tuple[int, int], float] = {}
        self._due: list[tuple[float, int, int, int, bytes]] = []
        self._numbers = count()
        self._chance = Random(seed)

    def serve(self) -> None:
        """Carry packets, and orders out, until there are no more orders."""
        selector = selectors.DefaultSelector()
        for number, descriptor in enumerate(self._devices):
            selector.register(descriptor, selectors.EVENT_READ, number)
        selector.register(sys.stdin.fileno(), selectors.EVENT_READ, -1)
        os.set_blocking(sys.stdin.fileno(), False)
        heard = b""
        while True:
            left = self._due[0][0] - time.monotonic() if self._due else None
            for key, _ in selector.select(None if left is None else max(0.0, left)):
                if key.data >= 0:
                    self._read(key.data)
                    continue
                told = os.read(sys.stdin.fileno(), 1 << 16)
                if not told:
                    return
                *lines, heard = (heard + told).split(b"\n")
                for line in lines:
                    self._obey(json.loads(line))
            self._deliver()

    def _obey(self, order: dict[str, Any]) -> None:
        self._lost = {(one, other) for one, other in order["lost"]}
        self._shaped = {(one, other): Shape(**given) for one, other, given in order["shaped"]}
        print(order["order"], flush=True)

    def _read(self, sender: int) -> None:
        with suppress(BlockingIOError):
            for _ in range(64):
                packet = os.read(self._devices[sender], 1 << 16)
                if packet[0] >> 4 == 4:
                    self._pass(sender, packet)

    def _pass(self, sender: int, packet: bytes) -> None:
        found = [(sender, each) for each in self._at.get(packet[16:20], ()) if each != sender]
        way = next((each for each in found if each not in self._lost), None)
        if way is None:
            return
        shape = self._shaped.get(way)
        at = now = time.monotonic()
        if shape is not None:
            if self._chance.random() < shape.loss:
                return
            if packet[9] == TCP and self._chance.random() < shape.reset:
                packet = ended(packet)
            if shape.bandwidth:
                at = max(now, self._free_at.get(way, 0.0)) + len(packet) / shape.bandwidth
                if at - now > QUEUE_S:
                    return
                self._free_at[way] = at
            at += shape.delay + self._chance.uniform(0, shape.jitter)
        heapq.heappush(self._due, (at, next(self._numbers), *way, packet))

    def _deliver(self) -> None:
        now = time.monotonic()
        while self._due and self._due[0][0] <= now:
            _, _, sender, receiver, packet = heapq.heappop(self._due)
            # What was on its way when the way was cut is lost, too: nothing comes from beyond.
            if (sender, receiver) not in self._lost:
                with suppress(OSError):
                    os.write(self._devices[receiver], packet)


def device(namespace: str) -> int:
    """The end of a namespace's only way out that packets are read from and written to."""
    with open(f"{NAMESPACES}/{namespace}") as file:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.setns(file.fileno(), NEW_NETWORK):
            raise OSError(ctypes.get_errno(), f"cannot enter the namespace {namespace}")
    descriptor = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(descriptor, TUN_SET, struct.pack("16sH22x", DEVICE.encode(), TUN_PLAIN))
    return descriptor


def ended(packet: bytes) -> bytes:
    """A packet that ends the connection of this one (RST), with the number that is awaited."""
    length = 4 * (packet[0] & 15)
    ip = bytearray(packet[:length])
    ip[2:4] = struct.pack("!H", length + 20)
    ip[10:12] = bytes(2)
    ip[10:12] = checksum(bytes(ip))
    tcp = bytearray(packet[length : length + 20])
    tcp[12], tcp[13] = 5 << 4, RESET | ACK
    tcp[16:18] = bytes(2)
    tcp[16:18] = checksum(bytes(ip[12:20]) + struct.pack("!2H", TCP, 20) + bytes(tcp))
    return bytes(ip + tcp)


def checksum(data: bytes) -> bytes:
    """Of the internet protocols; the length of the data is even."""
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return struct.pack("!H", ~total & 0xFFFF)


def main() -> None:
    """Carry packets between the namespaces that are named."""
    pairs = [word.partition("=") for word in sys.argv[1:]]
    namespaces, hosts = [name for name, _, _ in pairs], [host for _, _, host in pairs]
    relay = Relay(namespaces, hosts, int(os.environ.get("FAULTS_SEED", "0")))
    print("ready", flush=True)
    relay.serve()


if __name__ == "__main__":
    main()
