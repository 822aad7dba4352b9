"""Absolute URLs in a list of calls: what is not public is not reached, however it is spelled."""

import json
import os
import tempfile
import unittest

import fanoutd
from fanoutd import Server

JSON = {"Content-Type": "application/json"}

# All of them are, or have in them, an address of this machine or of a private network.
PRIVATE = """
127.0.0.1 127.0.0.2 127.255.255.254 127.1 127.0.1 127.0.0.01 127.000.000.001 127.0.0.1.
2130706433 0x7f000001 0X7F000001 0x7f.1 0x7f.0.0.1 0x7f.0x0.0x0.0x1 0x7F.0.1
0177.0.0.1 0177.1 017700000001 00000177.0.0.1 0 0.0.0.0 0x0 00
localhost LOCALHOST LocalHost
10.0.0.1 167772161 172.16.0.1 172.31.255.254 192.168.0.1 0300.0250.0.1 100.64.0.1
169.254.169.254 0xa9fea9fe 2852039166 0251.0376.0251.0376 224.0.0.1 255.255.255.255
[::1] [0:0:0:0:0:0:0:1] [0000:0000::0001] [::] [::0001]
[::ffff:127.0.0.1] [::FFFF:7f00:1] [0:0:0:0:0:ffff:7f00:1] [::127.0.0.1] [::ffff:0:127.0.0.1]
[64:ff9b::127.0.0.1] [64:ff9b::7f00:1] [64:ff9b:1::a9fe:a9fe] [2002:7f00:1::]
[2001:0:4136:e378:8000:63bf:80ff:fffe] [fc00::1] [fd00:ec2::254] [fe80::1] [fe80::1%lo]
[fe80::1%251] [ff02::1]
""".split()

# In these some program or other sees another host than the one that is allowed.
DOUBTFUL = [
    "user@127.0.0.1",
    "user:word@127.0.0.1",
    "@127.0.0.1",
    "example.com@127.0.0.1",
    "example.com:80@127.0.0.1",
    "127.0.0.1:1@localhost",
    "example.com%40127.0.0.1",
    "example.com\\@127.0.0.1",
    "127.0.0.1\\@example.com",
    "127.0.0.1#@example.com",
    "127.0.0.1%2f@example.com",
    "127.0.0.1%00.example.com",
    "127.0.0.1\t",
    "127.0.0.1 ",
    "127.0.0.1\r\nHost: example.com",
    "%31%32%37.0.0.1",
    "127\u30020\u30020\u30021",
    "\u2460\u2461\u2466.0.0.1",
    "\u24db\u24de\u24d2\u24d0\u24db\u24d7\u24de\u24e2\u24e3",
    "[127.0.0.1]",
    "[::1]example.com",
    "example.com..",
    "",
]


class UrlSafety(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.slow = Server()  # whose slow endpoint all of this would like to reach
        cls.folder = tempfile.TemporaryDirectory()
        path = os.path.join(cls.folder.name, "fanoutd.json")
        port = cls.slow.slow_port
        with open(path, "w") as file:
            json.dump(
                {
                    "upstreams": {"private": {"url": f"http://127.0.0.1:{port}"}},
                    "allow": [f"http://*:{port}", f"https://*.example.com:{port}"],
                },
                file,
            )
        cls.server = Server("--config", path, slow_listen="off")

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__(None)
        cls.slow.__exit__(None)
        cls.folder.cleanup()

    def setUp(self):
        self.slow.request("POST", "/stats/reset", port=self.slow.slow_port)

    def post(self, **call):
        body = json.dumps({"requests": [{"id": "a", **call}]})
        return self.server.request("POST", "/fanout", body, JSON)

    def assert_refused(self, host, statuses=(200, 400), scheme="http"):
        reply = self.post(url=f"{scheme}://{host}:{self.slow.slow_port}/slow?ms=0")
        self.assertIn(reply.status, statuses, host)
        if reply.status == 200:
            self.assertEqual(reply.json()["responses"][0].get("error"), "connect", host)
        else:
            self.assertEqual(reply.json()["pointer"], "/requests/0/url", host)

    def test_no_spelling_reaches_an_address_that_is_not_public(self):
        self.assertGreaterEqual(len(PRIVATE), 40)
        for host in PRIVATE:
            self.assert_refused(host)
        self.assertEqual(self.slow.slow_stats()["total"], 0)

    def test_a_url_in_which_hosts_may_be_mistaken_is_refused(self):
        for host in DOUBTFUL:
            self.assert_refused(host, statuses=(400,))
        self.assertEqual(self.slow.slow_stats()["total"], 0)

    def test_what_is_not_allowed_is_refused_with_a_pointer_to_it(self):
        port = self.slow.slow_port
        for url in (
            "http://example.com/",
            f"https://example.com:{port}/",
            f"https://example.com.evil.example:{port}/",
            f"https://a.example.com:{port + 1}/",
            f"ftp://example.com:{port}/",
            "file:///etc/passwd",
        ):
            reply = self.post(url=url)
            self.assertEqual(reply.status, 400, url)
            self.assertEqual(reply.json()["pointer"], "/requests/0/url", url)

    def test_a_path_stays_on_its_upstream(self):
        for path in ("//127.0.0.1/", "/@127.0.0.1/", "/..//x", "/http://127.0.0.1/"):
            reply = self.post(url=path, upstream="private")
            self.assertEqual(reply.json()["responses"][0].get("status"), 404, path)
        for path in ("@127.0.0.1/", ":1@127.0.0.1/", ".example.com/", ""):
            self.assertEqual(self.post(url=path, upstream="private").status, 400, path)

    def test_an_upstream_with_a_name_may_be_private(self):
        reply = self.post(url="/slow?ms=0", upstream="private").json()["responses"][0]
        self.assertEqual((reply["status"], reply["body"]), (200, "ok"))
        self.assertEqual(self.slow.slow_stats()["total"], 1)

    def test_redirects_are_not_followed(self):
        reply = self.post(url="/slow?ms=0&status=302", upstream="private").json()["responses"][0]
        self.assertEqual((reply["status"], reply["body"]), (302, "ok"))
        self.assertEqual(self.slow.slow_stats()["total"], 1)


if __name__ == "__main__":
    fanoutd.main()
