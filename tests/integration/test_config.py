"""The configuration file: at the start, and again when a SIGHUP comes."""

import json
import os
import signal
import tempfile
import threading
import unittest

import fanoutd
from fanoutd import Server, run_to_end, wait_until

JSON = {"Content-Type": "application/json"}
ENVIRONMENT = {"STOCK_TOKEN": "Bearer s3cret"}


def post(server, *calls, **more):
    """Make the calls, each a dictionary without an id; returns what became of them, in order."""
    requests = [{"id": str(i), **call} for i, call in enumerate(calls)]
    body = json.dumps({"requests": requests, **more})
    reply = server.request("POST", "/fanout", body, JSON)
    if reply.status != 200:
        raise AssertionError(f"{reply.status}: {reply.body}")
    return reply.json()["responses"]


class Load(threading.Thread):
    """Lists of calls, one after the other, until stop(), which raises what went wrong."""

    def __init__(self, server, call):
        super().__init__()
        self.server = server
        self.call = call
        self.stopping = threading.Event()
        self.answered = 0
        self.faults = []
        self.start()

    def run(self):
        while not self.stopping.is_set():
            try:
                responses = post(self.server, *[self.call] * 5)
                self.faults += [each for each in responses if each.get("status") != 200]
            except (OSError, AssertionError) as error:
                self.faults.append(error)
            self.answered += 1

    def wait_for_more(self, count=3):
        end = self.answered + count
        wait_until(lambda: self.answered >= end, f"{count} more answers")

    def stop(self):
        self.stopping.set()
        self.join(60)
        if self.faults:
            raise AssertionError(self.faults[:3])


class Configured(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.slow = Server()  # whose slow endpoint is what all call
        cls.origin = f"http://127.0.0.1:{cls.slow.slow_port}"

    @classmethod
    def tearDownClass(cls):
        cls.slow.__exit__(None)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "fanoutd.json")
        self.slow.request("POST", "/stats/reset", port=self.slow.slow_port)

    def write(self, config):
        """As an editor does it: there is never half a file."""
        with open(self.path + ".new", "w") as file:
            file.write(config if isinstance(config, str) else json.dumps(config))
        os.rename(self.path + ".new", self.path)

    def stock(self, **members):
        return {"upstreams": {"stock": {"url": self.origin, **members}}}

    def start(self, config, *flags, slow_listen="off"):
        self.write(config)
        return Server("--config", self.path, *flags, env=ENVIRONMENT, slow_listen=slow_listen)

    def reload(self, server, event="reloaded"):
        """Returns the line that the log has of it."""
        before = log_lines(server, "event=reload")
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: len(log_lines(server, "event=reload")) > len(before), "reload")
        line = log_lines(server, "event=reload")[-1]
        self.assertIn(f"event={event} ", line)
        return line

    def most_at_once(self, server, calls=12):
        """How many calls at once of one list reach the upstream."""
        self.slow.request("POST", "/stats/reset", port=self.slow.slow_port)
        call = {"upstream": "stock", "url": "/slow?ms=20"}
        for response in post(server, *[call] * calls):
            self.assertEqual(response.get("status"), 200, response)
        return self.slow.slow_stats()["peak_in_flight"]


def log_lines(server, part):
    return [line for line in server.log_text().splitlines() if part in line]


def upstream(server, name):
    listed = server.get("/debug/upstreams").json()["upstreams"]
    return [each for each in listed if each["name"] == name][0]


class Start(Configured):
    def test_sends_the_headers_of_an_upstream_and_shows_their_names_alone(self):
        headers = {"X-Plain": "plain-s3cret", "Authorization": {"env": "STOCK_TOKEN"}}
        with self.start(self.stock(headers=headers)) as server:
            (response,) = post(server, {"upstream": "stock", "url": "/echo"})
            sent = {name.lower(): value for name, value in response["body"]["headers"]}
            self.assertEqual(sent["authorization"], "Bearer s3cret")
            self.assertEqual(sent["x-plain"], "plain-s3cret")
            page = server.get("/debug/upstreams").body
            self.assertIn(b"Authorization", page)
            self.assertNotIn(b"s3cret", page)
            self.assertNotIn(b"s3cret", server.get("/metrics").body)
        printed = run_to_end("--config", self.path, "--print-config", env=ENVIRONMENT).stdout
        self.assertIn("upstreams.stock.headers.Authorization = (redacted)", printed)
        self.assertNotIn("s3cret", printed)

    def test_says_which_line_and_column_is_wrong(self):
        self.write('{\n  "upstreams": {\n    "stock": {"url": "http://a", "permits": -1}\n  }\n}\n')
        for command in ("--check-config", "--print-config", "--compare"):
            result = run_to_end("--config", self.path, command)
            self.assertEqual((result.returncode, result.stdout), (2, ""))
            self.assertEqual(
                result.stderr,
                f"fanoutd: {self.path}:3:45: upstreams.stock.permits: -1 is not a number from 0 to 1000000\n",
            )
        self.write(self.stock())
        self.assertEqual(run_to_end("--config", self.path, "--check-config").returncode, 0)

    def test_says_which_upstream_cannot_be_had(self):
        self.write({"upstreams": {"stock": {"url": "https://127.0.0.1", "ca": self.path}}})
        result = run_to_end("--config", self.path, "--listen", "127.0.0.1:0", "--slow-listen", "off")
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, r"^fanoutd: .*fanoutd\.json:1:\d+: there is no certificate in its ca\n$")

    def test_can_do_without_a_default_upstream(self):
        with self.start(self.stock()) as server:
            reply = server.get("/fanout?n=1")
            self.assertEqual((reply.status, reply.headers["allow"]), (405, "POST"))
            (response,) = post(server, {"upstream": "stock", "url": "/slow?ms=0"})
            self.assertEqual(response["status"], 200)
            reply = server.request("POST", "/fanout", '{"requests":[{"id":"a","url":"/x"}]}', JSON)
            self.assertEqual(reply.status, 400)

    def test_shows_each_upstream(self):
        config = self.stock(permits=9, retry={"attempts": 2}, breaker={}, hedge={})
        config["allow"] = ["https://example.org"]
        with self.start(config, slow_listen="127.0.0.1:0") as server:
            post(
                server,
                {"upstream": "stock", "url": "/slow?ms=0"},
                {"upstream": "stock", "url": "/slow?ms=0&status=404"},
                {"url": "/slow?ms=0"},
            )
            listed = server.get("/debug/upstreams").json()["upstreams"]
            self.assertEqual([each["name"] for each in listed], [None, "stock", None])
            self.assertEqual(listed[2]["origin"], None)
            stock = listed[1]
            self.assertEqual(stock["origin"], self.origin)
            self.assertEqual(stock["results"], {"ok": 1, "bad_status": 1})
            self.assertEqual((stock["attempts"], stock["in_flight"]), (2, 0))
            self.assertEqual(stock["permits"], {"limit": 9, "wait_ms": 500, "in_use": 0, "waiting": 0})
            self.assertEqual(stock["breaker"]["state"], "closed")
            self.assertEqual(stock["hedge"]["percentile"], 95)
            self.assertEqual(stock["retry"]["made"], 0)
            metrics = server.metrics()
            self.assertEqual(metrics['fanoutd_calls_total{upstream="stock",result="bad_status"}'], 1)
            self.assertEqual(metrics['fanoutd_upstream_attempts_total{upstream="stock"}'], 2)
            self.assertEqual(metrics['fanoutd_upstream_breaker_state{upstream="stock",state="closed"}'], 1)
            self.assertEqual(metrics['http_client_request_duration_seconds_count{upstream="stock"}'], 2)
            default = f"127.0.0.1:{server.slow_port}"
            self.assertEqual(metrics[f'fanoutd_calls_total{{upstream="{default}",result="ok"}}'], 1)


class Reload(Configured):
    def test_has_new_limits_hold_and_no_request_fail(self):
        with self.start(self.stock(permits=2, permit_wait_ms=9000)) as server:
            self.assertEqual(self.most_at_once(server), 2)
            load = Load(server, {"upstream": "stock", "url": "/slow?ms=2"})
            for permits in (3, 4, 5):
                load.wait_for_more()
                self.write(self.stock(permits=permits, permit_wait_ms=9000))
                self.assertIn("upstreams=1", self.reload(server))
            load.wait_for_more()
            load.stop()
            self.assertEqual(self.most_at_once(server), 5)

    def test_has_the_old_limits_hold_after_a_mistake(self):
        with self.start(self.stock(permits=2, permit_wait_ms=9000)) as server:
            load = Load(server, {"upstream": "stock", "url": "/slow?ms=2"})
            self.write('{"max-n": 5,\n "upstreams": {"stock": {"url": "' + self.origin + '", "permits": "7"}}}')
            line = self.reload(server, event="reload_failed")
            self.assertIn("level=error", line)
            self.assertRegex(line, r"fanoutd\.json:2:\d+: upstreams\.stock\.permits: is not a whole number")
            load.wait_for_more()
            self.write("{")
            self.assertRegex(self.reload(server, event="reload_failed"), r"fanoutd\.json:1:2: ")
            os.unlink(self.path)
            self.assertIn("No such file", self.reload(server, event="reload_failed"))
            load.stop()
            self.assertEqual(len(log_lines(server, "event=reload")), 3)
            metrics = server.metrics()
            self.assertEqual(metrics['fanoutd_reloads_total{result="failed"}'], 3)
            self.assertEqual(metrics['fanoutd_reloads_total{result="ok"}'], 0)
            self.assertEqual(self.most_at_once(server), 2)

    def test_keeps_an_upstream_of_which_nothing_changed(self):
        def config(other):
            both = self.stock(breaker={})
            both["upstreams"][other] = {"url": self.origin}
            return both

        with self.start(config("one")) as server:
            calls = [{"upstream": "stock", "url": "/slow?ms=0"}, {"upstream": "one", "url": "/slow?ms=0"}]
            post(server, *calls)
            self.write(config("other"))
            self.reload(server)
            self.assertEqual(upstream(server, "stock")["results"], {"ok": 1})
            self.assertEqual(upstream(server, "other")["results"], {})
            reply = server.request("POST", "/fanout", json.dumps({"requests": [{"id": "a", **calls[1]}]}), JSON)
            self.assertEqual(reply.status, 400)

    def test_leaves_requests_under_way_what_they_have(self):
        with self.start(self.stock()) as server:
            answers = []
            call = {"upstream": "stock", "url": "/slow?ms=400"}
            after = {"upstream": "stock", "url": "/slow?ms=0", "dependsOn": ["0"]}
            request = threading.Thread(target=lambda: answers.extend(post(server, call, after)))
            request.start()
            self.slow.wait_for_in_flight(1)
            self.write({"upstreams": {"other": {"url": self.origin}}})
            self.reload(server)
            request.join(60)
            self.assertEqual([answer.get("status") for answer in answers], [200, 200])

    def test_changes_limits_of_requests_and_names_what_needs_a_restart(self):
        with self.start({"max-n": 3, "queue": 7}, slow_listen="127.0.0.1:0") as server:
            self.assertEqual(server.get("/fanout?n=4&delay_ms=0").status, 400)
            self.write({"max-n": 4, "queue": 8, "drain-ms": 9})
            line = self.reload(server)
            self.assertIn('needs_restart="queue drain-ms"', line)
            self.assertEqual(server.get("/fanout?n=4&delay_ms=0").json()["ok"], 4)
            self.assertEqual(server.get("/fanout?n=5&delay_ms=0").status, 400)
            self.write({"max-n": 2, "queue": 7, "call-timeout-ms": 100, "max-reply-bytes": 500})
            self.assertIn('needs_restart=""', self.reload(server))
            self.assertEqual(server.get("/fanout?n=3&delay_ms=0").status, 400)
            self.assertEqual(server.get("/fanout?n=2&timeout_ms=101").status, 400)
            calls = [{"url": "/slow?ms=0&bytes=501"}, {"url": "/slow?ms=0&bytes=9"}]
            self.assertEqual([each.get("error") for each in post(server, *calls)], ["too_large", None])

    def test_changes_the_limits_of_the_default_upstream(self):
        with self.start({}, slow_listen="127.0.0.1:0") as server:
            for permits in (3, 0, 2, 5):
                self.write({"upstream-permits": permits, "permit-wait-ms": 9000})
                self.assertIn('needs_restart=""', self.reload(server))
                server.request("POST", "/stats/reset", port=server.slow_port)
                delay_ms = 30 if permits else 300
                answer = server.get(f"/fanout?n=12&delay_ms={delay_ms}").json()
                self.assertEqual(answer["ok"], 12)
                self.assertEqual(server.slow_stats()["peak_in_flight"], permits or 12)

    def test_lets_flags_count_before_the_new_file_too(self):
        with self.start({"max-n": 3}, "--max-n", "5", slow_listen="127.0.0.1:0") as server:
            self.write({"max-n": 2})
            self.reload(server)
            self.assertEqual(server.get("/fanout?n=5&delay_ms=0").json()["ok"], 5)

    def test_is_nothing_without_a_file(self):
        with Server() as server:
            self.assertIn("level=warning", self.reload(server, event="reload_ignored"))
            self.assertEqual(server.get("/fanout?n=2&delay_ms=0").json()["ok"], 2)

    def test_does_not_disturb_a_drain(self):
        with self.start(self.stock()) as server:
            answers = []
            call = {"upstream": "stock", "url": "/slow?ms=300"}
            request = threading.Thread(target=lambda: answers.extend(post(server, call)))
            request.start()
            self.slow.wait_for_in_flight(1)
            server.process.send_signal(signal.SIGTERM)
            wait_until(lambda: log_lines(server, "event=draining"), "drain")
            server.process.send_signal(signal.SIGHUP)
            request.join(60)
            self.assertEqual([answer.get("status") for answer in answers], [200])
            self.assertEqual(server.process.wait(20), 0)


if __name__ == "__main__":
    fanoutd.main()
