"""Connections on which both sides prove who they are."""

import asyncio
import datetime
import socket
import ssl
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from electorate import sync
from electorate.errors import CredentialsError
from electorate.runtime import credentials as module
from electorate.runtime.credentials import Credentials, FileCredentials, Tls, expect_secret
from electorate.runtime.environment import Address, Stream
from electorate.runtime.identity import CertificateRole, Identity, NotAuthenticated, expect_member
from electorate.runtime.protection import Protection
from electorate.runtime.tcp import Tcp
from electorate.runtime.tls import TlsStream, TlsTransport
from tests.runtime.cluster import free_addresses
from tests.runtime.credentials import SECRET, Authority, from_secret, member
from tests.runtime.host import until

pytestmark = pytest.mark.usefixtures("cheap_scrypt")


def over_tls(credentials: Credentials) -> TlsTransport:
    transport = TlsTransport(Tcp())
    transport.credentials = credentials
    return transport


class Answerer:
    """Answers on an address of its own: what was accepted, and what has come of it."""

    def __init__(self, credentials: Credentials) -> None:
        self.address: Address = free_addresses(1)[0]
        self.streams: list[Stream] = []
        self.errors: list[Exception] = []
        self._transport = over_tls(credentials)
        self._tasks: list[asyncio.Task[None]] = []
        self._accepted: list[Stream] = []

    @asynccontextmanager
    async def open(self) -> AsyncIterator["Answerer"]:
        listening = await self._transport.listen(self.address, self._accept)
        try:
            yield self
        finally:
            await listening.close()
            for task in self._tasks:
                task.cancel()
            for stream in self._accepted:
                stream.drop()
            await asyncio.sleep(0.01)  # They are closed in the next turns of the loop.

    def _accept(self, stream: Stream) -> None:
        self._accepted.append(stream)
        self._tasks.append(asyncio.ensure_future(self._greet(stream)))

    async def _greet(self, stream: Stream) -> None:
        try:
            await stream.authenticate()
        except (OSError, EOFError) as error:
            self.errors.append(error)
            stream.close()
        else:
            self.streams.append(stream)


async def call(credentials: Credentials, address: Address) -> Stream:
    stream = await over_tls(credentials).connect(address, 1000.0)
    try:
        await stream.authenticate()
    except BaseException:
        stream.drop()
        raise
    return stream


async def told(stream: Stream, count: int) -> bytes:
    data = b""
    while len(data) < count:
        data += await stream.read()
    return data


def test_two_that_know_the_secret_know_each_other_by_name_and_talk() -> None:
    async def run() -> None:
        async with Answerer(from_secret("b")).open() as b:
            stream = await call(from_secret("a"), b.address)
            assert stream.proven == Identity("default", CertificateRole.MEMBER, "b")
            await until(lambda: b.streams)
            assert b.streams[0].proven == Identity("default", CertificateRole.MEMBER, "a")
            long = bytes(range(256)) * 1000
            stream.write(long)
            stream.write(b"end")
            assert await told(b.streams[0], len(long) + 3) == long + b"end"
            b.streams[0].write(b"well")
            assert await told(stream, 4) == b"well"
            b.streams[0].drop()
            assert await stream.read() == b""
            stream.drop()

    asyncio.run(run())


def test_what_is_made_of_a_secret_is_valid_whatever_the_clock_says() -> None:
    async def run() -> None:
        async with Answerer(from_secret("b")).open() as b:
            stream = await call(from_secret("a"), b.address)
            assert isinstance(stream, TlsStream)
            shown = stream._tls.getpeercert() or {}
            assert shown["notBefore"] == "Jan  1 00:00:00 1970 GMT"
            assert shown["notAfter"] == "Dec 31 23:59:59 9999 GMT"
            stream.drop()

    asyncio.run(run())


@pytest.mark.parametrize(
    "stranger",
    [
        lambda: from_secret("a", secret="another secret, just as long"),
        lambda: from_secret("a", cluster="staging"),
    ],
)
def test_who_has_another_secret_or_cluster_is_not_talked_to(
    stranger: Callable[[], Credentials],
) -> None:
    async def run() -> None:
        async with Answerer(from_secret("b")).open() as b:
            with pytest.raises(
                NotAuthenticated,
                match=r"its certificate is not accepted: .* \(another secret, or another name",
            ):
                await call(stranger(), b.address)
            await until(lambda: b.errors)
            assert b.streams == []

    asyncio.run(run())


def test_who_shows_a_certificate_of_another_ca_or_none_is_turned_down(tmp_path: Path) -> None:
    """With TLS 1.3 who calls is done before its certificate is looked at: it hears that next."""
    ours, theirs = Authority(tmp_path / "ours"), Authority(tmp_path / "theirs")

    async def run() -> None:
        own = FileCredentials(ours.issue("b"), member("b"))
        async with Answerer(own).open() as b:
            mixed = Tls(ours.folder / "ca.pem", *_own(theirs.issue("a")))
            stream = await call(FileCredentials(mixed, member("a")), b.address)
            with pytest.raises(NotAuthenticated, match="it does not accept our certificate"):
                await stream.read()
            stream.drop()
            nobody = FileCredentials(ours.issue("a"), member("a"))
            nobody.calling = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            nobody.calling.check_hostname = False
            nobody.calling.verify_mode = ssl.CERT_NONE
            stream = await call_blindly(nobody, b.address)
            await until(lambda: len(b.errors) == 2)
            stream.drop()
            assert b.streams == []
            assert all(isinstance(error, NotAuthenticated) for error in b.errors)

    asyncio.run(run())


def _own(files: Tls) -> tuple[Path | str, Path | str]:
    return files.certificate, files.key


async def call_blindly(credentials: Credentials, address: Address) -> Stream:
    """Call without any check of who answers."""
    stream = await over_tls(credentials).connect(address, 1000.0)
    with pytest.raises(NotAuthenticated, match="does not name a node"):
        await stream.authenticate()
    return stream


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, None])
def test_nothing_older_than_tls_1_3_is_spoken_and_nothing_plain(
    version: ssl.TLSVersion | None,
) -> None:
    async def run() -> None:
        async with Answerer(from_secret("b")).open() as b:
            if version is None:
                _, writer = await asyncio.open_connection(*b.address)
                writer.write(b"\x04\x00\x00\x00\x05hello")
                await until(lambda: b.errors)
                writer.close()
            else:
                older = from_secret("a")
                older.calling.minimum_version = older.calling.maximum_version = version
                with pytest.raises((NotAuthenticated, EOFError)):
                    await call(older, b.address)
                await until(lambda: b.errors)
            assert "there is no TLS 1.3 connection with it" in str(b.errors[0])
            assert b.streams == []

    asyncio.run(run())


def test_who_calls_and_is_answered_in_the_clear_says_nothing() -> None:
    heard: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.read(4096))
        writer.write(b"\x04\x00\x00\x00\x01\x80")
        writer.close()

    async def run() -> None:
        ((host, port),) = free_addresses(1)
        server = await asyncio.start_server(answer, host, port)
        with pytest.raises(NotAuthenticated, match=r"no TLS 1\.3 connection with it"):
            await call(from_secret("a"), (host, port))
        server.close()
        assert heard[0].startswith(b"\x16\x03"), "it has only asked for TLS"

    asyncio.run(run())


def test_a_handshake_without_end_is_cut_off() -> None:
    async def run() -> None:
        async with Answerer(from_secret("b")).open() as b:
            _, writer = await asyncio.open_connection(*b.address)
            # A record of TLS that announces a message of 16 MB, and goes on and on.
            writer.write(b"\x16\x03\x01\x40\x00\x01\xff\xff\xff" + bytes(200_000))
            await until(lambda: b.errors)
            writer.close()

    asyncio.run(run())


def test_only_the_member_that_was_meant_is_taken_for_it() -> None:
    expect_member(None, "default", "b")
    expect_member(member("b"), "default", "b")
    for other in (
        member("c"),
        member("b", "staging"),
        Identity("default", CertificateRole.CLIENT, "b"),
    ):
        with pytest.raises(NotAuthenticated, match=f"it is {other}, not member b of cluster def"):
            expect_member(other, "default", "b")


@pytest.mark.parametrize("name", ["a", "db-1.eu_west", "zürich"])
def test_an_identity_is_read_as_it_was_written(name: str) -> None:
    identity = Identity("prod", CertificateRole.ADMIN, name)
    assert identity.uri.isascii()
    assert Identity.of(["spiffe://other", identity.uri]) == identity


@pytest.mark.parametrize(
    "uris",
    [
        [],
        ["electorate://prod/member/a", "electorate://prod/member/b"],
        ["electorate://prod/leader/a"],
        ["electorate://prod/member/"],
        ["electorate://prod/member/a/b"],
        ["electorate:///member/a"],
    ],
)
def test_a_certificate_that_names_nobody_or_several_is_none(uris: list[str]) -> None:
    with pytest.raises(ValueError, match="its certificate"):
        Identity.of(uris)


# --- certificates that change ---


def test_certificates_that_were_replaced_are_used_from_the_next_handshake_on(
    tmp_path: Path,
) -> None:
    authority = Authority(tmp_path)
    own = FileCredentials(authority.issue("b", days=1), member("b"))
    first, expires = own.answering, own.expires
    own.refresh()
    assert own.answering is first
    authority.issue("b", days=2)
    own.refresh()
    assert own.answering is not first
    assert own.expires is not None
    assert expires is not None
    assert own.expires - expires > datetime.timedelta(hours=23)


def test_a_node_that_runs_shows_its_new_certificate_to_who_calls_next(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    a = FileCredentials(authority.issue("a"), member("a"))

    async def shown(address: Address) -> str:
        stream = await call(a, address)
        stream.drop()
        assert isinstance(stream, TlsStream)
        return str((stream._tls.getpeercert() or {})["serialNumber"])

    async def run() -> None:
        async with Answerer(FileCredentials(authority.issue("b"), member("b"))).open() as b:
            first = await shown(b.address)
            assert await shown(b.address) == first
            authority.issue("b")
            assert await shown(b.address) != first

    asyncio.run(run())


def test_files_that_cannot_be_used_change_nothing_and_are_named_if_they_stay(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = Authority(tmp_path)
    files = authority.issue("b")
    own = FileCredentials(files, member("b"))
    before = own.answering
    Path(files.certificate).write_bytes(authority.ca.certificate_pem)
    own.refresh()
    own.refresh()
    assert caplog.messages == [], "the other files may be about to be replaced, too"
    monkeypatch.setattr(module, "SETTLE_S", -1.0)
    own.refresh()
    own.refresh()
    (told,) = caplog.messages
    assert told.startswith("b goes on with the certificate that it had:")
    assert own.answering is before
    authority.issue("b")
    own.refresh()
    assert own.answering is not before


def test_a_certificate_is_for_one_member_of_one_cluster(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    for me in (
        member("c"),
        member("b", "staging"),
        Identity("default", CertificateRole.ADMIN, "b"),
    ):
        with pytest.raises(CredentialsError, match="is for member b of cluster default, not for"):
            FileCredentials(authority.issue("b"), me)


def test_files_that_do_not_fit_or_are_not_there_are_named(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    b, c = authority.issue("b"), authority.issue("c")
    with pytest.raises(CredentialsError, match=r"b\.pem and .*c\.key cannot be used together"):
        FileCredentials(Tls(b.ca, b.certificate, c.key), member("b"))
    with pytest.raises(CredentialsError, match="nowhere: No such file"):
        FileCredentials(Tls(tmp_path / "nowhere", b.certificate, b.key), member("b"))
    with pytest.raises(CredentialsError, match=r"b\.key: "):
        FileCredentials(Tls(b.ca, b.key, b.key), member("b"))


def test_that_a_certificate_expires_is_said_when_a_third_is_left_and_at_each_half_of_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = FileCredentials(Authority(tmp_path).issue("b", days=90), member("b"))
    now = time.time()
    for day in range(100):
        monkeypatch.setattr(time, "time", lambda day=day: now + 86_400 * day)
        own.refresh()
    assert [text.partition(" at ")[0] for text in caplog.messages] == [
        "the certificate of b expires in 30.0 days,",
        "the certificate of b expires in 15.0 days,",
        "the certificate of b expires in 7.0 days,",
        "the certificate of b expires in 3.0 days,",
        "the certificate of b expires in 1.0 days,",
        "the certificate of b has expired",
    ]


# --- what a node is told about its connections ---

HERE, THERE = ("127.0.0.1", 7401), ("10.0.0.2", 7402)


def test_a_node_without_proof_stays_on_its_machine(caplog: pytest.LogCaptureFixture) -> None:
    Protection("a", [HERE, ("localhost", 1), ("::1", 1)]).open()
    for far in (THERE, ("0.0.0.0", 1), ("::", 1), ("db.example.org", 1)):
        with pytest.raises(ValueError, match="is not on this machine, and nothing would prove"):
            Protection("a", [HERE, far])
    assert caplog.messages == []
    Protection("a", [HERE, THERE], insecure=True).open()
    assert "a is insecure: nothing proves who the others are" in caplog.text
    assert Protection("a", [HERE, THERE], secret=SECRET).proves


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"secret": SECRET, "tls": Tls("a", "b", "c")}, "give secret or tls, not both"),
        ({"secret": SECRET, "insecure": True}, "insecure says that there is neither"),
        ({"secret": "short"}, "the secret is too easily guessed: it needs 20 characters"),
        ({"secret": "a" * 40}, "too easily guessed"),
        ({"secret": Path("nowhere")}, "the secret in nowhere cannot be read: No such file"),
        ({"cluster": "a/b"}, "'a/b' is no name of a cluster"),
    ],
)
def test_what_does_not_go_together_is_said_at_once(given: dict[str, object], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        Protection("a", [HERE], **given)  # type: ignore[arg-type]


def test_a_secret_is_a_text_or_a_file_that_is_private(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "secret"
    path.write_text(f"{SECRET}\n")
    path.chmod(0o600)
    assert expect_secret(path) == expect_secret(SECRET) == SECRET.encode()
    assert caplog.messages == []
    path.chmod(0o644)
    assert expect_secret(path) == SECRET.encode()
    assert caplog.messages == [f"{path} is open to others: chmod 600 {path}"]
    with pytest.raises(TypeError, match="a secret is a text, or the Path of a file: not bytes"):
        expect_secret(b"x" * 30)  # type: ignore[arg-type]


def test_a_name_that_leads_elsewhere_is_not_connected_to_without_proof() -> None:
    """The list may say localhost, and the resolver what it likes."""

    async def run() -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            address = server.getsockname()
            (await Tcp(local_only=True).connect(address, 100.0)).drop()
            await asyncio.sleep(0)
        with pytest.raises(OSError, match=r"cannot listen on 0\.0\.0\.0:1: 0\.0\.0\.0 is not on"):
            await Tcp(local_only=True).listen(("0.0.0.0", 1), lambda stream: None)

    asyncio.run(run())


def test_a_node_whose_certificate_cannot_be_used_opens_nothing(tmp_path: Path) -> None:
    files = Authority(tmp_path / "certs").issue("b")
    node = sync.Node("a@127.0.0.1:7400", [], tmp_path / "data", tls=files)
    with pytest.raises(CredentialsError, match="is for member b of cluster default, not for"):
        node.__enter__()
    assert not (tmp_path / "data").exists()


def test_the_secret_is_in_no_text_about_a_node() -> None:
    protection = Protection("a", [HERE], secret=SECRET)
    protection.open()
    assert SECRET not in repr(vars(protection))
