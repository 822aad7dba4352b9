"""Calls to https upstreams: whom they believe, and what becomes of them when TLS does not work."""

import os
import unittest

import fanoutd
from fanoutd import PATIENCE, Server, run_to_end, wait_until
from tls_upstream import Authority, SilentServer, TlsServer


def upstream(port, *flags, host="127.0.0.1", **how):
    return Server("--upstream", f"https://{host}:{port}/", *flags, slow_listen="off", **how)


def count_fds(server):
    return len(os.listdir(f"/proc/{server.process.pid}/fd"))


class Upstream(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.authority = Authority()
        cls.good = cls.authority.signed("good")

    @classmethod
    def tearDownClass(cls):
        cls.authority.close()

    def ca(self):
        return ["--upstream-ca", self.authority.ca]

    def fan_out(self, server, n, query=""):
        answer = server.get(f"/fanout?n={n}&delay_ms=0{query}").json()
        self.assertEqual(answer["n"], n)
        return answer

    def check_refusal(self, certificate, *flags, says, host="127.0.0.1"):
        """Every call fails as tls before anything of it is sent, and the log tells why, once."""
        with TlsServer(*certificate) as target:
            with upstream(target.port, *flags, host=host) as server:
                self.assertEqual(self.fan_out(server, 5)["errors"], {"tls": 5})
                log = server.log_text()
                self.assertEqual(log.count("event=upstream_tls"), 1, log)
                self.assertIn(f'reason="{says}"', log)
            self.assertEqual(target.requests, 0)

    def test_believes_a_certificate_of_the_given_authority(self):
        with TlsServer(*self.good) as target:
            for host in ("127.0.0.1", "localhost"):
                with upstream(target.port, *self.ca(), host=host) as server:
                    self.assertEqual(self.fan_out(server, 20)["ok"], 20)
                    self.assertEqual(server.get("/fanout?n=1").json()["client"], "curl")
                    self.assertNotIn("level=warning", server.log_text())

    def test_believes_the_system_s_authorities_by_default(self):
        with TlsServer(*self.good) as target:
            system = {"SSL_CERT_FILE": self.authority.ca}
            with upstream(target.port, env=system) as server:
                self.assertEqual(self.fan_out(server, 5)["ok"], 5)
            with upstream(target.port, "--upstream-ca", self.good[0], env=system) as server:
                self.assertEqual(self.fan_out(server, 5)["ok"], 5, "it may be trusted itself")
            other = self.authority.self_signed("other")[0]
            with upstream(target.port, "--upstream-ca", other, env=system) as server:
                self.assertEqual(self.fan_out(server, 5)["errors"], {"tls": 5})

    def test_refuses_an_unknown_authority(self):
        self.check_refusal(self.good, says="unable to get local issuer certificate")

    def test_refuses_a_self_signed_certificate(self):
        alone = self.authority.self_signed("alone")
        self.check_refusal(alone, *self.ca(), says="self-signed certificate")

    def test_refuses_an_expired_certificate(self):
        expired = self.authority.signed("expired", days=-1)
        self.check_refusal(expired, *self.ca(), says="certificate has expired")

    def test_refuses_a_certificate_for_another_host(self):
        by_name = self.authority.signed("by-name", names="subjectAltName=DNS:localhost")
        by_address = self.authority.signed("by-address", names="subjectAltName=IP:127.0.0.1")
        says = "the certificate is for another host"
        self.check_refusal(by_name, *self.ca(), says=says)
        self.check_refusal(by_address, *self.ca(), says=says, host="localhost")

    def test_says_that_a_server_speaks_no_tls(self):
        for last_words in (b"HTTP/1.1 400 Bad Request\r\n\r\n", b""):
            with SilentServer(last_words) as target, upstream(target.port, *self.ca()) as server:
                self.assertEqual(self.fan_out(server, 5)["errors"], {"tls": 5})

    def test_believes_everybody_only_when_told_to_and_warns(self):
        expired = self.authority.signed("expired-too", "subjectAltName=DNS:elsewhere", days=-1)
        with TlsServer(*expired) as target:
            with upstream(target.port, "--upstream-insecure") as server:
                self.assertEqual(self.fan_out(server, 5)["ok"], 5)
                self.assertEqual(self.fan_out(server, 5)["ok"], 5)
                log = server.log_text()
                self.assertEqual(log.count("level=warning event=upstream_insecure"), 1, log)
        shown = run_to_end("--print-config", "--upstream-insecure").stdout
        self.assertIn("upstream-insecure = on (flag)", shown)

    def test_does_not_start_with_a_file_of_authorities_that_is_none(self):
        for path, says in ((self.authority.path("missing.pem"), "No such file"),
                           (self.authority.ca_key, "there is no certificate in it"),
                           (self.authority.directory.name, "there is no certificate in it")):
            result = run_to_end("--listen", "127.0.0.1:0", "--slow-listen", "off",
                                "--upstream", "https://127.0.0.1:1/", "--upstream-ca", path)
            self.assertEqual(result.returncode, 1, path)
            self.assertIn(f"cannot use --upstream-ca {path}: {says}", result.stderr)

    def test_keeps_connections(self):
        with TlsServer(*self.good) as target, upstream(target.port, *self.ca()) as server:
            for _ in range(3):
                self.assertEqual(self.fan_out(server, 30, "&max_parallel=5")["ok"], 30)
            most = 30 if fanoutd.EXECUTOR != "coroutine" else 15
            if fanoutd.EXECUTOR != "thread":  # whose threads end, with what they keep
                self.assertLessEqual(target.connections, most)
            self.assertEqual(target.requests, 90)

    def test_takes_no_half_reply_for_a_whole_one(self):
        with TlsServer(*self.good) as target:
            with Server("--upstream", f"https://127.0.0.1:{target.port}/cut", *self.ca(),
                        slow_listen="off") as server:
                self.assertEqual(self.fan_out(server, 5)["errors"], {"reset": 5})

    def test_goes_where_the_url_says_whatever_proxy_the_environment_names(self):
        nowhere = "http://127.0.0.1:1"
        names = ("http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")
        with TlsServer(*self.good) as target:
            proxies = {name: nowhere for name in names}
            with upstream(target.port, *self.ca(), env=proxies) as server:
                self.assertEqual(self.fan_out(server, 5)["ok"], 5)


class Handshake(unittest.TestCase):
    """With a server that accepts, and leaves the handshake unanswered."""

    def check(self, flags, query, errors, within_ms):
        flags = ["--carriers", "1", *flags]
        with SilentServer() as target, upstream(target.port, *flags) as server:
            server.get("/fanout?n=1&timeout_ms=1")  # what stays open for good
            wait_until(lambda: target.count_open() == 0, "end of the first call")
            fds = count_fds(server)
            answer = server.get("/fanout?n=20&delay_ms=0" + query).json()
            self.assertEqual(answer["errors"], errors)
            self.assertLess(answer["elapsed_ms"], within_ms * PATIENCE)
            wait_until(lambda: target.count_open() == 0, "end of the connections")
            if fanoutd.EXECUTOR == "coroutine":  # a thread has some of its own
                wait_until(lambda: count_fds(server) <= fds, "end of the descriptors")

    def test_ends_with_the_call_s_timeout(self):
        self.check([], "&timeout_ms=300", {"timeout": 20}, 2000)

    def test_ends_with_the_request_s_deadline(self):
        self.check([], "&deadline_ms=300", {"timeout": 20}, 2000)

    def test_ends_with_the_connect_timeout(self):
        self.check(["--connect-timeout-ms", "300"], "", {"timeout": 20}, 2000)

    def test_ends_when_the_client_goes(self):
        with SilentServer() as target, upstream(target.port) as server:
            request = b"GET /fanout?n=20&delay_ms=0 HTTP/1.1\r\nHost: x\r\n\r\n"
            with server.connect() as connection:
                connection.sendall(request)
                wait_until(lambda: target.count_open() == 20, "20 connections")
            wait_until(lambda: target.count_open() == 0, "end of the connections", within_s=1)
            wait_until(lambda: canceled(server) == 20, "20 canceled calls")


def canceled(server):
    return sum(value for name, value in server.metrics().items()
               if name.startswith("fanoutd_calls_total") and 'result="canceled"' in name)


if __name__ == "__main__":
    fanoutd.main()
