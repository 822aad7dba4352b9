"""What the server makes of a request before a handler sees it: its token, its body, its name."""

import re
import tempfile
import unittest

import fanoutd
from fanoutd import Server, run_to_end

TRACEPARENT = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-(0[01])")
TRACE = "0af7651916cd43dd8448eb211c80319c"


class Token(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.file = tempfile.NamedTemporaryFile("w")
        cls.file.write("s3cret\n")
        cls.file.flush()
        cls.server = Server("--auth-token-file", cls.file.name, "--experiments")

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__(None, None, None)
        cls.file.close()

    def get(self, path, *credentials, method="GET"):
        headers = {"Authorization": credentials[0]} if credentials else {}
        return self.server.request(method, path, headers=headers)

    def test_everything_but_the_probes_needs_it(self):
        for path in ("/fanout?n=1&delay_ms=0", "/metrics", "/debug/tasks", "/sleep?n=1", "/nothing"):
            with self.subTest(path):
                reply = self.get(path)
                self.assertEqual(reply.status, 401)
                self.assertEqual(reply.headers["www-authenticate"], 'Bearer realm="fanoutd"')
                self.assertEqual(reply.headers["content-type"], "application/problem+json")
                self.assertEqual(reply.json()["status"], 401)
                self.assertNotEqual(self.get(path, "Bearer s3cret").status, 401)
        self.assertEqual(self.get("/fanout", method="DELETE").status, 401)
        for path in ("/livez", "/readyz"):
            self.assertEqual(self.get(path).status, 200)
            self.assertEqual(self.get(path, "Bearer wrong").status, 200)
            self.assertEqual(self.get(path, method="HEAD").status, 200)
            self.assertEqual(self.get(path, method="POST").status, 401)

    def test_another_token_is_told_to_be_wrong(self):
        for credentials in ("Bearer s3cre", "Bearer s3crets", "Bearer S3cret", "Basic czNjcmV0", "Bearer"):
            with self.subTest(credentials):
                reply = self.get("/fanout?n=1&delay_ms=0", credentials)
                self.assertEqual(reply.status, 401)
                self.assertIn('error="invalid_token"', reply.headers["www-authenticate"])

    def test_white_space_behind_it_is_no_part_of_it(self):
        self.assertEqual(self.get("/fanout?n=1&delay_ms=0", "Bearer s3cret \t").status, 200)

    def test_two_of_them_are_none(self):
        reply = self.server.raw(
            b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
            b"Authorization: Bearer s3cret\r\nAuthorization: Bearer s3cret\r\n\r\n"
        )
        self.assertTrue(reply.startswith(b"HTTP/1.1 401 "), reply)

    def test_it_is_neither_logged_nor_printed(self):
        self.get("/fanout?n=1&delay_ms=0", "Bearer s3cret")
        self.assertNotIn("s3cret", self.server.log_text())
        printed = run_to_end("--print-config", "--auth-token-file", self.file.name)
        self.assertIn(f"auth-token-file = {self.file.name} (flag)", printed.stdout)
        self.assertNotIn("s3cret", printed.stdout)

    def test_the_admin_listener_asks_for_it_too(self):
        with Server("--auth-token-file", self.file.name, "--admin-listen", "127.0.0.1:0") as server:
            port = server.admin_port()
            self.assertEqual(server.get("/metrics", port=port).status, 401)
            headers = {"Authorization": "Bearer s3cret"}
            self.assertEqual(server.get("/metrics", port=port, headers=headers).status, 200)

    def test_a_file_without_one_is_an_error_at_the_start(self):
        with tempfile.NamedTemporaryFile() as empty:
            for path, reason in ((empty.name, "it is empty"), ("/nowhere", "No such file or directory")):
                ended = run_to_end("--auth-token-file", path, "--listen", "127.0.0.1:0")
                self.assertEqual(ended.returncode, 1)
                self.assertEqual(ended.stderr, f"fanoutd: cannot use --auth-token-file {path}: {reason}\n")


class Body(unittest.TestCase):
    def test_one_that_is_longer_than_allowed_is_refused(self):
        with Server("--max-body-bytes", "1000") as server:
            body = b"[" + b" " * 998 + b"]"
            headers = {"Content-Type": "application/json"}
            # Whatever becomes of it, it has been read.
            self.assertNotEqual(server.request("POST", "/fanout", body, headers).status, 413)
            # Announced, and not sent: a reset by unread bytes could overtake the answer.
            reply = server.raw(b"POST /fanout HTTP/1.1\r\nHost: x\r\nContent-Length: 1001\r\n\r\n")
            self.assertTrue(reply.startswith(b"HTTP/1.1 413 "), reply)
            self.assertIn(b"application/problem+json", reply)


class Context(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("--deadline-ms", "2000")

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__(None, None, None)

    def get(self, **headers):
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.server.get("/fanout?n=1&delay_ms=0", headers=headers).headers

    def test_an_id_is_made_or_kept(self):
        made = {self.get()["x-request-id"] for _ in range(20)}
        self.assertEqual(len(made), 20)
        for identifier in made:
            self.assertRegex(identifier, "^[0-9a-f]{32}$")
        self.assertEqual(self.get(X_Request_Id="order-17")["x-request-id"], "order-17")
        self.assertRegex(self.get(X_Request_Id="a b")["x-request-id"], "^[0-9a-f]{32}$")

    def test_white_space_behind_a_value_is_no_part_of_it(self):
        reply = self.get(X_Request_Id="order-20 \t", traceparent=f"00-{TRACE}-b7ad6b7169203331-01 ")
        self.assertEqual(reply["x-request-id"], "order-20")
        self.assertIn(TRACE, reply["traceparent"])

    def test_a_refusal_has_it_too(self):
        reply = self.server.get("/fanout", headers={"X-Request-Id": "order-18"})
        self.assertEqual((reply.status, reply.headers["x-request-id"]), (400, "order-18"))
        reply = self.server.get("/nothing", headers={"X-Request-Id": "order-19"})
        self.assertEqual((reply.status, reply.headers["x-request-id"]), (404, "order-19"))

    def test_a_trace_is_continued_or_begun(self):
        given = f"00-{TRACE}-b7ad6b7169203331-01"
        trace, span, sampled = TRACEPARENT.fullmatch(self.get(traceparent=given)["traceparent"]).groups()
        self.assertEqual((trace, sampled), (TRACE, "01"))
        self.assertNotEqual(span, "b7ad6b7169203331")
        begun = {TRACEPARENT.fullmatch(self.get()["traceparent"]).groups() for _ in range(20)}
        self.assertEqual(len({trace for trace, _, _ in begun}), 20)
        self.assertEqual(len({span for _, span, _ in begun}), 20)
        self.assertEqual({sampled for _, _, sampled in begun}, {"00"})


if __name__ == "__main__":
    fanoutd.main()
