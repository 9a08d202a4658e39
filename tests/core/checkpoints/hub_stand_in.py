"""A model hub on this machine: the protocol for files, and every way that it fails.

Small files are given directly, large ones by a redirect to another host name, as the
real one does. What goes wrong is queued by file name; the last fault stays for ever if
it says so.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections import defaultdict, deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

COMMIT = "c" * 40
LARGE = 10_000  # bytes from which a file is kept as the hub keeps weights
INFO = "info"  # the name under which faults of the model's page are queued


@dataclass(frozen=True)
class Fault:
    """One way to answer wrongly.

    Attributes:
        status: answered instead of the file.
        headers: sent with it.
        cut_after: bytes after which the connection is closed.
        stall: bytes after which nothing more is sent.
        damage: one byte is another.
        ignore_range: all of the file is sent whatever was asked for.
        forever: it happens at every request from here on.
    """

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    cut_after: int | None = None
    stall: int | None = None
    damage: bool = False
    ignore_range: bool = False
    forever: bool = False


NONE = Fault()


@dataclass(frozen=True)
class Asked:
    """A request that arrived."""

    path: str
    start: int
    authorization: str


class Hub:
    """What the server gives, and what it was asked."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self.files, self.models = files, []  # type: ignore[var-annotated]
        self.faults: defaultdict[str, deque[Fault]] = defaultdict(deque)
        self.asked: list[Asked] = []
        self.chunk, self.pause = 1 << 16, 0.0
        self.closing = threading.Event()
        self.address = ""

    def next_fault(self, name: str) -> Fault:
        """Return what goes wrong with ``name`` this time."""
        queue = self.faults[name]
        if not queue:
            return NONE
        return queue[0] if queue[0].forever else queue.popleft()

    def starts(self, name: str) -> list[int]:
        """Return from which byte ``name`` was asked for, request by request."""
        return [a.start for a in self.asked if a.path.endswith(f"/content/{name}")]


@contextmanager
def serving(files: dict[str, bytes]) -> Iterator[Hub]:
    """Run a hub that has one model, ``someone/tiny``, with ``files``."""
    hub = Hub(files)
    handler = type("Handler", (_Handler,), {"hub": hub})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = False  # closing waits for them
    hub.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield hub
    finally:
        hub.closing.set()
        server.shutdown()
        thread.join()
        server.server_close()


def blob_name(content: bytes) -> str:
    """Return the hash under which the hub knows ``content``."""
    if len(content) >= LARGE:
        return hashlib.sha256(content).hexdigest()
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


class _Handler(BaseHTTPRequestHandler):
    hub: Hub
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        begin = self.headers.get("Range", "bytes=0-").removeprefix("bytes=")
        start = int(begin.split("-")[0])
        token = self.headers.get("Authorization", "")
        self.hub.asked.append(Asked(url.path, start, token))
        if url.path == "/api/models":
            self._json(self._found(parse_qs(url.query)))
        elif url.path.startswith("/api/models/someone/tiny"):
            self._info()
        elif url.path.startswith(f"/someone/tiny/resolve/{COMMIT}/"):
            self._resolve(url.path.rsplit("/", 1)[1])
        elif url.path.startswith("/content/"):
            self._content(url.path.rsplit("/", 1)[1], start)
        else:
            self._refuse(404, {"X-Error-Code": "RepoNotFound"})

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def _found(self, query: dict[str, list[str]]) -> list[dict]:
        text = query.get("search", [""])[0]
        tags = set(query.get("filter", [])) - {"safetensors", "text-generation"}
        return [
            m for m in self.hub.models if text in m["id"] and tags <= set(m["tags"])
        ]

    def _info(self) -> None:
        fault = self.hub.next_fault(INFO)
        if fault.status:
            self._refuse(fault.status, fault.headers)
            return
        files = [_sibling(n, c) for n, c in self.hub.files.items()]
        self._json({"id": "someone/tiny", "sha": COMMIT, "siblings": files})

    def _resolve(self, name: str) -> None:
        """Give a small file, or send on to where large ones are."""
        content = self.hub.files[name]
        if len(content) < LARGE:
            self._content(name, 0)
            return
        elsewhere = self.hub.address.replace("127.0.0.1", "localhost")
        self._head(302, {"Location": f"{elsewhere}/content/{name}"}, 0)

    def _content(self, name: str, start: int) -> None:
        fault = self.hub.next_fault(name)
        if fault.status:
            self._refuse(fault.status, fault.headers)
            return
        content = self.hub.files[name]
        if fault.damage:
            content = bytes([content[0] ^ 1]) + content[1:]
        start = 0 if fault.ignore_range else start
        rest = f"bytes {start}-{len(content) - 1}/{len(content)}"
        headers = {"Content-Range": rest} if start else {}
        self._head(206 if start else 200, headers, len(content) - start)
        self._send(content[start:], fault)

    def _send(self, body: bytes, fault: Fault) -> None:
        end = fault.cut_after if fault.cut_after is not None else fault.stall
        body = body if end is None else body[:end]
        try:
            for at in range(0, len(body), self.hub.chunk):
                self.wfile.write(body[at : at + self.hub.chunk])
                if self.hub.closing.wait(self.hub.pause):
                    break
        except ConnectionError:  # whoever asked has gone
            self.close_connection = True
        if fault.stall is not None:
            self._hold()
        if end is not None:
            self.close_connection = True

    def _hold(self) -> None:
        until = time.monotonic() + 20
        while time.monotonic() < until and not self.hub.closing.wait(0.05):
            self.connection.setblocking(False)
            try:
                if not self.connection.recv(1):
                    return
            except BlockingIOError:
                continue
            finally:
                self.connection.setblocking(True)

    def _refuse(self, status: int, headers: dict[str, str]) -> None:
        self._head(status, headers, 0)

    def _json(self, value: object) -> None:
        body = json.dumps(value).encode()
        self._head(200, {"Content-Type": "application/json"}, len(body))
        self.wfile.write(body)

    def _head(self, status: int, headers: dict[str, str], length: int) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(length)}.items():
            self.send_header(name, value)
        self.end_headers()


def _sibling(name: str, content: bytes) -> dict[str, object]:
    size, blob = len(content), blob_name(content)
    entry: dict[str, object] = {"rfilename": name, "size": size, "blobId": blob}
    if size >= LARGE:
        entry["blobId"] = "b" * 40
        entry["lfs"] = {"sha256": blob, "size": size, "pointerSize": 134}
    return entry
