"""Connections on which both sides prove who they are: TLS 1.3, over any other network.

It is driven here, on what `Stream` offers, and not by asyncio: so what a stream promises (its end,
a reset, whether the system has taken everything) is what the network below promises, and a frame
costs one call into OpenSSL on each side.
"""

import asyncio
import ssl
from collections.abc import Callable
from typing import Any

from electorate.runtime.credentials import Credentials
from electorate.runtime.environment import Address, Listening, Stream, Transport
from electorate.runtime.identity import Identity, NotAuthenticated

HANDSHAKE_MAX = 1 << 16
"""Bytes that are read before it is known who is at the other end."""
LOOK_S = 10.0
"""How often files are looked at, besides at every handshake."""


class TlsStream(Stream):
    """One end of a connection that is encrypted, once it has been authenticated."""

    def __init__(self, inner: Stream, credentials: Credentials, *, answers: bool) -> None:
        self._inner = inner
        self._credentials = credentials
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        context = credentials.answering if answers else credentials.calling
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=answers)
        self._has_read = False
        self.address = inner.address

    async def authenticate(self) -> None:
        """Shake hands, and see whom the certificate of the other side names."""
        left = HANDSHAKE_MAX
        while True:
            try:
                self._tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                pass
            except ssl.SSLError as error:
                raise NotAuthenticated(self._explained(error)) from None
            finally:
                self._flush()
            data = await self._inner.read()
            left -= len(data)
            if not data:
                raise EOFError("closed by the other side")
            if left < 0:
                raise NotAuthenticated("its handshake is too long")
            self._incoming.write(data)
        certificate = self._tls.getpeercert() or {}
        names: Any = certificate.get("subjectAltName", ())
        try:
            self.proven = Identity.of(value for kind, value in names if kind == "URI")
        except ValueError as error:
            raise NotAuthenticated(str(error)) from None

    async def read(self) -> bytes:
        """The next bytes; none once the other side has ended it; OSError if it is broken."""
        while True:
            # OpenSSL makes room for as much as it is asked for, so that is not more than there is.
            present = self._incoming.pending or self._tls.pending()
            if present:
                try:
                    data = self._tls.read(present)
                except ssl.SSLWantReadError:
                    pass
                except ssl.SSLError as error:
                    return self._ended_by(error)
                else:
                    self._has_read = True
                    return data
            data = await self._inner.read()
            if not data:
                return b""
            self._incoming.write(data)

    def _ended_by(self, error: ssl.SSLError) -> bytes:
        """What reading has come to, if not to any bytes."""
        if isinstance(error, ssl.SSLZeroReturnError):
            return b""
        if self._has_read:
            raise error
        # With TLS 1.3 who calls hears only now that its own certificate was turned down.
        raise NotAuthenticated(self._explained(error)) from None

    def _explained(self, error: ssl.SSLError) -> str:
        """What is wrong, in the words of OpenSSL, and what that usually means."""
        if isinstance(error, ssl.SSLCertVerificationError):
            return f"its certificate is not accepted: {error.verify_message} ({self._hint})"
        reason = (error.reason or str(error)).lower().replace("_", " ")
        if "alert" in reason:
            return f"it does not accept our certificate: {reason} ({self._hint})"
        return f"there is no TLS 1.3 connection with it: {reason}"

    @property
    def _hint(self) -> str:
        return self._credentials.hint

    def _flush(self) -> bool:
        data = self._outgoing.read()
        return self._inner.write(data) if data else True

    def write(self, data: bytes) -> bool:
        """Have these bytes sent after those before; whether the system has taken them all."""
        self._tls.write(data)
        return self._inner.write(self._outgoing.read())

    async def drain(self) -> None:
        """Wait until the system has taken everything."""
        await self._inner.drain()

    @property
    def is_closing(self) -> bool:
        """Whether this side has closed it, or it is broken."""
        return self._inner.is_closing

    # That a process has ended cannot be said by a process that has: so TLS has no word in how a
    # connection ends, and an end proves as little here as it does on any other network.

    def close(self) -> None:
        """End it once everything that was written has left."""
        self._inner.close()

    def drop(self) -> None:
        """End it now."""
        self._inner.drop()

    def reset(self) -> None:
        """Break it now."""
        self._inner.reset()


class TlsListening(Listening):
    """A port, and what looks after the certificate that is shown there."""

    def __init__(self, inner: Listening, credentials: Credentials) -> None:
        self._inner = inner
        self._looking = asyncio.ensure_future(_look_after(credentials))

    async def close(self) -> None:
        """Accept no more connections."""
        self._looking.cancel()
        await self._inner.close()


class TlsTransport(Transport):
    """A network on which everybody has to prove who it is."""

    credentials: Credentials
    """They have to be there before it is used."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner

    async def connect(self, address: Address, fresh_ms: float) -> Stream:
        """Connect; OSError if that fails."""
        inner = await self._inner.connect(address, fresh_ms)
        self.credentials.refresh()
        return TlsStream(inner, self.credentials, answers=False)

    async def listen(
        self,
        address: Address,
        accept: Callable[[Stream], None],
        admits: Callable[[str], bool] = lambda address: True,
    ) -> Listening:
        """Accept connections from now on; OSError if the address cannot be used."""

        def secured(inner: Stream) -> None:
            self.credentials.refresh()
            accept(TlsStream(inner, self.credentials, answers=True))

        listening = await self._inner.listen(address, secured, admits)
        return TlsListening(listening, self.credentials)


async def _look_after(credentials: Credentials) -> None:
    while True:
        credentials.refresh()
        await asyncio.sleep(LOOK_S)
