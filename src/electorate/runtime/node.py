"""A node of one protocol: a host with one instance, as `electorate node` runs it."""

from collections.abc import Callable
from typing import Any

from electorate.core import Asked, Machine, Message, Received, Request, Standing, Turns
from electorate.core.codec import Codec
from electorate.runtime.config import NodeConfig
from electorate.runtime.environment import Environment
from electorate.runtime.host import Host, Mail, Service
from electorate.runtime.instance import Instance, Owner
from electorate.trace import Setting

INSTANCE = "election"


class OneInstance(Service, Owner):
    """One instance that begins and ends with the lives of its host, and its standing."""

    kinds = (INSTANCE,)

    def __init__(
        self,
        machine: Machine[Any],
        setting: Setting,
        on_change: Callable[[Standing | None], None],
    ) -> None:
        self.instance: Instance | None = None
        self._setting = setting
        self._machine = machine
        self._codec = Codec(machine)
        self._on_change = on_change
        self._shown: Standing | None = None

    def begin(self, host: Host) -> None:
        """The host is about to listen."""
        instance = Instance(INSTANCE, Turns(self._machine), host.me, host, self)
        self.instance = host.bind(instance)

    def decode(self, kind: str, body: bytes) -> Message:
        return self._codec.message(body)

    def receive(self, kind: str, mail: Mail) -> None:
        """A message has come."""
        assert self.instance is not None
        self.instance.take(Received(mail.sender, mail.message), mail.head)

    def described(self, machine: Machine[Any]) -> str:
        """Its machine as the first line of a script."""
        return self._setting.text()

    def after(self) -> None:
        """See whether the standing has changed."""
        self._show(None if self.instance is None else self.instance.standing)

    def halted(self) -> None:
        """Nothing is known of the node until it lives again."""
        self._show(None)

    def _show(self, standing: Standing | None) -> None:
        if standing != self._shown:
            self._shown = standing
            self._on_change(standing)


class ProtocolNode(Host):
    """Runs one machine on the network until it is stopped."""

    def __init__(
        self,
        config: NodeConfig,
        machine: Machine[Any],
        on_change: Callable[[Standing | None], None],
        environment: Environment | None = None,
    ) -> None:
        self._only = OneInstance(machine, config.setting, on_change)
        super().__init__(config.host(machine), [self._only], environment=environment)

    @property
    def instance(self) -> Instance:
        """The machine in operation."""
        assert self._only.instance is not None
        return self._only.instance

    def ask(self, request: Request) -> None:
        """The application's word."""
        self.enter(self.instance.take, Asked(request))
