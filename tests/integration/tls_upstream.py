"""Servers to call over TLS, with certificates made on the spot by openssl(1)."""

import os
import socket
import socketserver
import ssl
import subprocess
import tempfile
import threading
import time
import urllib.parse

NAMES = "subjectAltName=DNS:localhost,IP:127.0.0.1"


class Authority:
    """Makes certificates, in a directory of its own. ca is what is to be trusted."""

    def __init__(self):
        self.directory = tempfile.TemporaryDirectory()
        self.ca, self.ca_key = self.self_signed("ca", "subjectAltName=DNS:ca")

    def close(self):
        self.directory.cleanup()

    def path(self, name):
        return os.path.join(self.directory.name, name)

    def self_signed(self, name, names=NAMES):
        certificate, key = self.path(name + ".pem"), self.path(name + ".key")
        openssl("req", "-x509", "-days", "2", *new_key(key), "-subj", f"/CN={name}",
                "-addext", names, "-out", certificate)
        return certificate, key

    def signed(self, name, names=NAMES, days=2):
        """Days may be negative: expired."""
        certificate, key, request = (self.path(name + end) for end in (".pem", ".key", ".csr"))
        openssl("req", "-new", *new_key(key), "-subj", f"/CN={name}", "-out", request)
        extensions = self.path(name + ".ext")
        with open(extensions, "w") as file:
            file.write(names + "\n")
        openssl("x509", "-req", "-in", request, "-CA", self.ca, "-CAkey", self.ca_key,
                "-CAcreateserial", "-days", str(days), "-extfile", extensions, "-out", certificate)
        return certificate, key


def new_key(path):
    return ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", path]


def openssl(*arguments):
    result = subprocess.run(["openssl", *arguments], capture_output=True, text=True, timeout=60)
    if result.returncode != 0:
        raise AssertionError(f"openssl {arguments[0]}: {result.stderr}")


class TlsServer(socketserver.ThreadingTCPServer):
    """HTTP/1.1 over TLS: answers GET /?ms=DELAY with "ok", and counts. Of paths with "cut" it sends half
    a reply and closes without a word. As https, it has ALPN for nothing but HTTP/1.1."""

    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 1024

    def __init__(self, certificate, key):
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(certificate, key)
        self.context.set_alpn_protocols(["http/1.1"])
        self.connections = 0
        self.requests = 0
        super().__init__(("127.0.0.1", 0), TlsConnection)
        self.port = self.server_address[1]
        self.thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05})
        self.thread.start()

    def __exit__(self, *_):
        self.shutdown()
        self.thread.join()
        self.server_close()

    def handle_error(self, *_):
        pass  # clients that refuse the certificate


class TlsConnection(socketserver.BaseRequestHandler):
    def handle(self):
        self.server.connections += 1
        with self.server.context.wrap_socket(self.request, server_side=True) as stream:
            received = b""
            while chunk := stream.recv(65536):
                received += chunk
                while b"\r\n\r\n" in received:
                    head, _, received = received.partition(b"\r\n\r\n")
                    if not self.answer(stream, head.decode()):
                        return

    def answer(self, stream, head):
        self.server.requests += 1
        url = urllib.parse.urlsplit(head.split(" ")[1])
        if "cut" in url.path:
            stream.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
            stream.unwrap = None
            return False
        delay_ms = int(urllib.parse.parse_qs(url.query).get("ms", ["0"])[0])
        time.sleep(delay_ms / 1000)
        stream.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        return True


class SilentServer:
    """Accepts connections, and says nothing; or, with last_words, that, and closes."""

    def __init__(self, last_words=None):
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.port = self.listener.getsockname()[1]
        self.last_words = last_words
        self.lock = threading.Lock()
        self.open = []
        self.thread = threading.Thread(target=self._accept)
        self.thread.start()

    def _accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            if self.last_words is not None:
                connection.recv(65536)
                connection.sendall(self.last_words)
                connection.close()
                continue
            with self.lock:
                self.open.append(connection)

    def count_open(self):
        """Those that the client has not closed."""
        with self.lock:
            self.open = [connection for connection in self.open if not is_closed(connection)]
            return len(self.open)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        self.listener.close()
        for connection in self.open:
            connection.close()


def is_closed(connection):
    """Reads what has come, until there is no more or the end."""
    connection.setblocking(False)
    try:
        while connection.recv(65536):
            pass
    except BlockingIOError:
        return False
    except ConnectionResetError:
        pass
    connection.close()
    return True
