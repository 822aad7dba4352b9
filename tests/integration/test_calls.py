"""POST /fanout from outside, on the executor that EXECUTOR names: what lists of calls become."""

import concurrent.futures
import http.client
import json
import os
import random
import re
import signal
import tempfile
import time
import unittest

import fanoutd
from fanoutd import EXECUTOR, PATIENCE, Server

JSON = {"Content-Type": "application/json"}
NDJSON = {**JSON, "Accept": "application/x-ndjson"}
EVENTS = {**JSON, "Accept": "text/event-stream"}


def slow(i, ms, **more):
    return {"id": str(i), "url": f"/slow?ms={ms}", **more}


def rss_mib(server):
    with open(f"/proc/{server.process.pid}/status") as status:
        return int(re.search(r"VmRSS:\s+(\d+) kB", status.read())[1]) / 1024


class Stream:
    """The answer to a list, read as it comes: lines(), each with the seconds that it took."""

    def __init__(self, server, headers, calls, **more):
        self.start = time.monotonic()
        self.connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        body = json.dumps({"requests": calls, **more})
        self.connection.request("POST", "/fanout", body, headers)
        self.response = self.connection.getresponse()

    def lines(self):
        for line in self.response:
            yield line.decode(), time.monotonic() - self.start
        self.connection.close()

    def events(self):
        """As the HTML standard has it: (event, data, seconds)."""
        event, data = "message", []
        for line, seconds in self.lines():
            field, _, value = line.rstrip("\n").partition(":")
            value = value.removeprefix(" ")
            if line == "\n":
                if data:
                    yield event, "\n".join(data), seconds
                event, data = "message", []
            elif field == "data":
                data.append(value)
            elif field == "event":
                event = value


class Drain(unittest.TestCase):
    def test_ends_lists_with_what_they_have(self):
        with Server("--drain-ms", "300") as server:
            calls = [slow(0, 0), slow(1, 20000)]
            lines = (json.loads(line) for line, _ in Stream(server, NDJSON, calls).lines())
            self.assertEqual(next(lines)["status"], 200)
            server.wait_for_in_flight(1)
            server.process.send_signal(signal.SIGTERM)
            self.assertEqual(next(lines)["error"], "canceled")
            self.assertEqual(next(lines)["coverage"]["degraded"], {"canceled": 1})
            self.assertEqual(server.process.wait(10 * PATIENCE), 0)


class Calls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """One server for all, with a second upstream that is another one's slow endpoint."""
        cls.other = Server()
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        path = os.path.join(folder.name, "fanoutd.json")
        with open(path, "w") as file:
            json.dump(
                {"upstreams": {"other": {"url": f"http://127.0.0.1:{cls.other.slow_port}"}}}, file
            )
        cls.server = Server("--config", path)
        cls.post(slow("warm", 0), slow("up", 0, upstream="other"))

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__(None)
        cls.other.__exit__(None)

    @classmethod
    def post(cls, *calls, headers=JSON, status=200, **more):
        body = json.dumps({"requests": calls, **more})
        reply = cls.server.request("POST", "/fanout", body, headers)
        if reply.status != status:
            raise AssertionError(f"{reply.status}: {reply.body}")
        return reply.json()

    def quickest(self, within_s, ask):
        """What ask() returns; again, twice at most, if it took too long: the machine may be busy."""
        for attempt in range(3):
            start = time.monotonic()
            result = ask()
            took_s = time.monotonic() - start
            if took_s < within_s * PATIENCE:
                break
        print(f"{EXECUTOR}: answered after {took_s * 1000:.0f} ms, attempt {attempt + 1}")
        self.assertLess(took_s, within_s * PATIENCE)
        return result

    def await_no_calls(self, since, within_s):
        self.server.wait_for_in_flight(0)
        seconds = time.monotonic() - since
        print(f"{EXECUTOR}: in_flight 0 after {seconds * 1000:.0f} ms")
        self.assertLess(seconds, within_s * PATIENCE)

    def mixed_calls(self):
        """1,000 calls, all different, and what each has to become."""
        calls, expected = [], {}
        for i in range(1000):
            upstream = {"upstream": "other"} if i % 2 else {}
            kind = i % 10
            if kind < 4:
                status = [200, 201, 404, 503][kind]
                call = slow(i, i % 7, **upstream)
                call["url"] += f"&status={status}&bytes={i}"
                expected[str(i)] = (status, ("ok" * 500)[:i])
            elif kind < 7:
                body = {"number": i, "text": 'ä"\\\n'}
                call = {"id": str(i), "method": ["PUT", "POST", "PATCH"][kind - 4], "url": f"/echo?{i}",
                        "headers": {"X-Number": f"n{i}"}, "body": body, **upstream}
                expected[str(i)] = (200, (call["method"], f"/echo?{i}", f"n{i}", body))
            elif kind == 7:
                call = {"id": str(i), "method": "POST", "url": f"/echo?{i}", "body": f"text {i}",
                        "headers": {"Content-Type": "text/plain"}, **upstream}
                expected[str(i)] = (200, ("POST", f"/echo?{i}", None, f"text {i}"))
            elif kind == 8:
                call = slow(i, 0, **upstream)
                call["url"] += "&fault=" + ["reset", "garbage"][i // 10 % 2]
                expected[str(i)] = (None, ["reset", "protocol"][i // 10 % 2])
            else:
                call = slow(i, 20000, timeout_ms=30, **upstream)
                expected[str(i)] = (None, "timeout")
            calls.append(call)
        random.Random(1).shuffle(calls)
        return calls, expected

    def check_result(self, result, expected):
        status, what = expected
        self.assertEqual(result.get("status"), status, result)
        if status is None:
            self.assertEqual(result["error"], what)
            self.assertEqual(list(result), ["id", "error", "ms", "attempts"])
            return
        self.assertEqual(list(result), ["id", "status", "headers", "body", "ms", "attempts"])
        if isinstance(what, tuple):
            method, target, number, body = what
            seen = result["body"]
            headers = {name.lower(): value for name, value in seen["headers"]}
            self.assertEqual((seen["method"], seen["target"]), (method, target))
            self.assertEqual(headers.get("x-number"), number)
            sent = json.loads(seen["body"]) if isinstance(body, dict) else seen["body"]
            self.assertEqual(sent, body)
        else:
            self.assertEqual(result["body"], what)

    def test_1000_different_calls_to_two_upstreams_are_each_right_under_its_id(self):
        calls, expected = self.mixed_calls()
        answer = self.post(*calls)
        self.assertEqual([each["id"] for each in answer["responses"]], [call["id"] for call in calls])
        for each in answer["responses"]:
            self.check_result(each, expected[each["id"]])
        coverage = {"requested": 1000, "succeeded": 600, "percent": 60.0,
                    "degraded": {"timeout": 100, "reset": 50, "protocol": 50, "bad_status": 200}}
        self.assertEqual(answer["coverage"], coverage)

        answer = self.post(*calls, order="completion")
        self.assertEqual(len(answer["responses"]), 1000)
        for each in answer["responses"]:
            self.check_result(each, expected.pop(each["id"]))
        self.assertEqual(answer["coverage"], coverage)

    def check_stream(self, results):
        """Of one call of 2 s and 99 of 50 ms, the slow one first in the list."""
        self.assertEqual(len(results), 101)
        ids = [result["id"] for result, _ in results[:100]]
        self.assertEqual(sorted(ids), sorted(map(str, range(100))))
        self.assertEqual(ids[99], "0")
        quick_s, last_s = results[98][1], results[99][1]
        print(f"{EXECUTOR}: 99 results after {quick_s * 1000:.0f} ms, the last {last_s * 1000:.0f} ms")
        self.assertLess(quick_s, 0.5 * PATIENCE)
        self.assertTrue(2 <= last_s < 2 + 0.5 * PATIENCE, last_s)
        self.assertEqual(results[100][0]["succeeded"], 100)

    def read_lines(self, calls):
        stream = Stream(self.server, NDJSON, calls)
        self.assertEqual(stream.response.headers["content-type"], "application/x-ndjson")
        results = [(json.loads(line), seconds) for line, seconds in stream.lines()]
        self.assertEqual(list(results[-1][0]), ["coverage"])
        return [*results[:-1], (results[-1][0]["coverage"], results[-1][1])]

    def read_events(self, calls):
        stream = Stream(self.server, EVENTS, calls)
        self.assertEqual(stream.response.headers["content-type"], "text/event-stream")
        events = list(stream.events())
        self.assertEqual([kind for kind, _, _ in events], ["message"] * len(calls) + ["coverage"])
        return [(json.loads(data), seconds) for _, data, seconds in events]

    def test_lines_and_events_come_as_calls_are_over(self):
        calls = [slow(0, 2000)] + [slow(i, 50) for i in range(1, 100)]
        with concurrent.futures.ThreadPoolExecutor(2) as threads:
            answers = [threads.submit(read, calls) for read in (self.read_lines, self.read_events)]
        for answer in answers:
            self.check_stream(answer.result())

    def test_the_answer_is_complete_before_the_deadline(self):
        self.server.wait_for_in_flight(0)
        calls = [slow(i, 5000 if i % 2 else 50) for i in range(100)]
        for headers in (JSON, NDJSON):
            body = json.dumps({"requests": calls, "deadline_ms": 500})
            reply = self.quickest(
                0.5, lambda: self.server.request("POST", "/fanout", body, headers)
            )
            self.await_no_calls(time.monotonic(), 0.25)
            if headers is JSON:
                answer = reply.json()
            else:
                lines = [json.loads(line) for line in reply.body.splitlines()]
                answer = {"responses": lines[:-1], "coverage": lines[-1]["coverage"]}
            outcomes = {each["id"]: each.get("status", each.get("error")) for each in answer["responses"]}
            self.assertEqual(
                outcomes, {str(i): "timeout" if i % 2 else 200 for i in range(100)}
            )
            self.assertEqual(
                answer["coverage"],
                {"requested": 100, "succeeded": 50, "percent": 50.0, "degraded": {"timeout": 50}},
            )

    def test_the_first_of_three_cancels_the_others(self):
        self.server.wait_for_in_flight(0)
        calls = [slow("a", 5000), slow("b", 50), slow("c", 500)]
        answer = self.quickest(0.08, lambda: self.post(*calls, policy="first"))
        self.await_no_calls(time.monotonic(), 0.25)
        self.assertEqual(
            [each.get("status", each.get("error")) for each in answer["responses"]],
            ["canceled", 200, "canceled"],
        )
        self.assertEqual(answer["coverage"]["degraded"], {"canceled": 2})

    def test_a_quorum_of_two_of_five(self):
        calls = [slow(i, ms) for i, ms in enumerate([5000, 30, 5000, 60, 5000])]
        answer = self.post(*calls, policy="quorum", quorum=2)
        self.assertEqual(answer["coverage"]["succeeded"], 2)
        self.assertEqual(answer["coverage"]["degraded"], {"canceled": 3})

    def test_fails_fast_if_asked_to(self):
        start = time.monotonic()
        answer = self.post(
            slow("a", 5000), {"id": "b", "url": "/slow?ms=20&status=500"}, policy="fail_fast"
        )
        self.assertLess(time.monotonic() - start, 1 * PATIENCE)
        self.assertEqual(answer["coverage"]["degraded"], {"canceled": 1, "bad_status": 1})

    def test_a_diamond_runs_in_order(self):
        answer = self.post(
            slow("d", 50, dependsOn=["b", "c"]),
            slow("c", 50, dependsOn=["a"]),
            slow("b", 100, dependsOn=["a"]),
            slow("a", 50),
            order="completion",
        )
        self.assertEqual([each["id"] for each in answer["responses"]], ["a", "c", "b", "d"])
        self.assertEqual(answer["coverage"]["succeeded"], 4)

    def test_what_depends_on_a_failure_is_not_made(self):
        before = self.server.slow_stats()["total"]
        answer = self.post(
            slow("c", 0, dependsOn=["b"]),
            slow("b", 0, dependsOn=["a"]),
            {"id": "a", "url": "/slow?ms=0&status=500"},
        )
        self.assertEqual([each["status"] for each in answer["responses"]], [424, 424, 500])
        self.assertEqual(self.server.slow_stats()["total"], before + 1)

    def test_names_the_place_of_every_violation(self):
        call = '{"id":"a","url":"/"}'
        deep = "[" * 62 + "]" * 62
        bad = [
            ("", "not json"),
            ("/requests", '{"requests":[%s]' % call),
            ("/requests", '{"requests":[]}'),
            ("/requests/0/id", '{"requests":[{"id":"a","id":"b","url":"/"}]}'),
            ("/requests/1/id", '{"requests":[%s,%s]}' % (call, call)),
            ("/requests/0/urll", '{"requests":[{"id":"a","url":"/","urll":1}]}'),
            ("/requests/0/url", '{"requests":[{"id":"a","url":"/a b"}]}'),
            ("/requests/0/url", '{"requests":[{"id":"a","url":"http://127.0.0.1:1/"}]}'),
            ("/requests/0/url", '{"requests":[{"id":"a","url":"http://u:p@example.com/"}]}'),
            ("/requests/0/upstream", '{"requests":[{"id":"a","url":"/","upstream":"x"}]}'),
            ("/requests/0/headers/Host", '{"requests":[{"id":"a","url":"/","headers":{"Host":"x"}}]}'),
            ("/requests/0/headers/a", '{"requests":[{"id":"a","url":"/","headers":{"a":"\\r\\nb:c"}}]}'),
            ("/requests/0/headers/TE", '{"requests":[{"id":"a","url":"/","headers":{"TE":"x"}}]}'),
            ("/requests/0/id", '{"requests":[{"id":"\\u0000","url":"/"}]}'),
            ("/requests/0/dependsOn", '{"requests":[{"id":"a","url":"/","dependsOn":["b"]},'
             '{"id":"b","url":"/","dependsOn":["a"]}]}'),
            ("/requests/0/body" + "/0" * 61, '{"requests":[{"id":"a","url":"/","method":"PUT","body":%s}]}' % deep),
            ("/deadline_ms", '{"requests":[%s],"deadline_ms":30001}' % call),
            ("/policy", '{"requests":[%s],"policy":"most"}' % call),
            ("/quorum", '{"requests":[%s],"policy":"quorum","quorum":2}' % call),
        ]
        for pointer, body in bad:
            with self.subTest(body):
                reply = self.server.request("POST", "/fanout", body.encode(), JSON)
                self.assertEqual(reply.status, 400, reply.body)
                self.assertEqual(reply.headers["content-type"], "application/problem+json")
                problem = reply.json()
                self.assertEqual(list(problem), ["title", "status", "detail", "pointer"])
                self.assertEqual(problem["pointer"], pointer)
        reply = self.server.request("POST", "/fanout", b'{"requests":[{"id":"\xff","url":"/"}]}', JSON)
        self.assertEqual((reply.status, reply.json()["pointer"]), (400, "/requests/0/id"))

    def test_answers_406_and_415_to_what_it_cannot_write_or_read(self):
        body = json.dumps({"requests": [slow(1, 0)]})
        reply = self.server.request("POST", "/fanout", body, {**JSON, "Accept": "text/html"})
        self.assertEqual(reply.status, 406)
        reply = self.server.request("POST", "/fanout", body, {"Content-Type": "text/plain"})
        self.assertEqual(reply.status, 415)

    def test_stops_the_calls_of_a_client_that_is_gone(self):
        self.server.wait_for_in_flight(0)
        for headers in (JSON, NDJSON):
            connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)
            calls = [slow(i, 20000 if i else 0) for i in range(50)]
            connection.request("POST", "/fanout", json.dumps({"requests": calls}), headers)
            self.server.wait_for_in_flight(49)
            connection.close()
            self.await_no_calls(time.monotonic(), 0.25)

    def test_holds_for_a_slow_reader_only_what_it_has_not_read(self):
        self.server.wait_for_in_flight(0)
        calls = [slow(i, 10) for i in range(2000)]
        for call in calls:
            call["url"] += "&bytes=102400"
        before_mib = rss_mib(self.server)
        stream = Stream(self.server, NDJSON, calls)
        read_bytes, peak_mib, others_s = 0, 0, []
        for _ in range(20):  # at about 1 MiB/s
            read_bytes += len(stream.response.read(52429))
            start = time.monotonic()
            self.assertEqual(self.post(slow(1, 10))["coverage"]["succeeded"], 1)
            others_s.append(time.monotonic() - start)
            peak_mib = max(peak_mib, rss_mib(self.server))
            time.sleep(max(0, 0.05 - others_s[-1]))
        stream.connection.close()
        print(f"{EXECUTOR}: {peak_mib - before_mib:.0f} MiB more for a reader of {read_bytes} bytes; "
              f"beside it {sorted(others_s)[10] * 1000:.0f} ms")
        if PATIENCE == 1:  # sanitizers take memory of their own
            self.assertLess(peak_mib - before_mib, 64)
        self.server.wait_for_in_flight(0)

    def test_each_call_has_a_span_of_its_own_in_the_trace_of_the_request(self):
        trace = "0af7651916cd43dd8448eb211c80319c"
        headers = {**JSON, "traceparent": f"00-{trace}-b7ad6b7169203331-01", "X-Request-Id": "r-1"}
        answer = self.post(*[{"id": str(i), "url": "/echo"} for i in range(3)], headers=headers)
        spans = set()
        for each in answer["responses"]:
            seen = {name.lower(): value for name, value in each["body"]["headers"]}
            self.assertEqual(seen["x-request-id"], "r-1")
            version, of, span, flags = seen["traceparent"].split("-")
            self.assertEqual((version, of, flags), ("00", trace, "01"))
            spans.add(span)
        self.assertEqual(len(spans | {"b7ad6b7169203331"}), 4)


if __name__ == "__main__":
    fanoutd.main()
