"""GET /debug/tasks: who waits for what, in JSON and as a tree."""

import time
import unittest

import fanoutd
from fanoutd import EXECUTOR, PATIENCE, Server, wait_until

IS_COROUTINE = EXECUTOR == "coroutine"
only_coroutine = unittest.skipUnless(IS_COROUTINE, "there are carriers with coroutines alone")


def picture(server):
    """The first executor's, once its parts have been found to belong together."""
    reply = server.get("/debug/tasks")
    assert reply.status == 200, reply.body
    assert reply.headers["Content-Type"] == "application/json"
    first = reply.json()["executors"][0]
    assert first["listed"] == len(first["tasks"])
    for task in first["tasks"]:
        assert task.get("stack", 0) < max(1, len(first["stacks"])), task
        assert (task["state"] == "parked") == ("wait" in task), task
    return first


def picture_with(server, condition, what):
    found = []

    def look():
        found.append(picture(server))
        return condition(found[-1])

    wait_until(look, what)
    return found[-1]


def named(shown, name):
    return [task for task in shown["tasks"] if task["name"] == name]


def all_parked(name, count):
    return lambda shown: [task["state"] for task in named(shown, name)] == ["parked"] * count


def functions(shown, task):
    return [frame["function"] for frame in shown["stacks"][task["stack"]]]


class DebugTasks(unittest.TestCase):
    def test_the_calls_of_a_fan_out_stand_below_it(self):
        with Server("--pool-threads", "60") as server:
            fan_out = server.in_background("/fanout?n=50&delay_ms=3000&max_parallel=40")
            server.wait_for_in_flight(40)
            shown = picture_with(server, all_parked("fanout call", 40), "parked calls")
            (parent,) = named(shown, "/fanout")
            self.assertIsNone(parent["parent"])
            # A thread of the pool that joins runs a child meanwhile.
            self.assertEqual(
                parent["wait"]["for"], "own child" if EXECUTOR == "pool" else "children"
            )
            (scope,) = parent["scopes"]
            self.assertEqual(scope["policy"], "all")
            self.assertEqual((scope["running"], scope["not_started"]), (40, 10))
            self.assertEqual(shown["listed"] + shown["rest"], 51)
            for call in named(shown, "fanout call"):
                self.assertEqual((call["parent"], call["scope"]), (parent["id"], scope["id"]))
                self.assertEqual(call["wait"]["for"], "call")
                self.assertEqual(call["wait"]["host"], "127.0.0.1")
                self.assertLessEqual(call["wait"]["ms"], call["age_ms"] + 1)
                self.assertEqual(IS_COROUTINE, call.get("carrier") is not None)
            self.assertEqual(fan_out.join().json()["ok"], 50)
            wait_until(lambda: picture(server)["tasks"] == [], "end of all tasks")

    @only_coroutine
    def test_parked_tasks_show_the_functions_they_wait_in(self):
        with Server("--experiments") as server:
            sleep = server.in_background("/sleep?n=30&ms=2000")
            shown = picture_with(server, all_parked("sleep", 30), "parked children")
            stacks = {task["stack"] for task in named(shown, "sleep")}
            self.assertLessEqual(len(stacks), 2)
            self.assertIn("task_sleep_until", functions(shown, named(shown, "sleep")[0]))
            self.assertIn("scope_join", functions(shown, named(shown, "/sleep")[0]))
            self.assertEqual(sleep.join().json()["ok"], 30)

    @only_coroutine
    def test_the_tree_folds_what_is_alike(self):
        with Server("--experiments") as server:
            sleep = server.in_background("/sleep?n=30&ms=2000")
            picture_with(server, all_parked("sleep", 30), "parked children")
            reply = server.get("/debug/tasks?format=text")
            self.assertEqual(reply.headers["Content-Type"], "text/plain; charset=utf-8")
            lines = reply.body.decode().splitlines()
            self.assertIn("31 tasks listed, 0 more", lines[0])
            self.assertTrue(any(line.startswith("/sleep 0x") for line in lines), lines)
            self.assertTrue(any(line.startswith("  sleep 0x") for line in lines), lines)
            self.assertEqual(sum("sleep 0x" in line for line in lines), 2, lines)
            self.assertTrue(any("× 29 more like this" in line for line in lines), lines)
            self.assertEqual(sleep.join().json()["ok"], 30)

    @only_coroutine
    def test_ten_thousand_are_listed_and_the_others_counted(self):
        with Server("--experiments") as server:
            sleep = server.in_background("/sleep?n=10100&ms=4000")
            wait_until(
                lambda: server.metrics()['fanoutd_tasks{executor="coroutine",state="parked"}'] > 10100,
                "parked children",
            )
            start = time.monotonic()
            shown = picture(server)
            took_s = time.monotonic() - start
            self.assertGreaterEqual(shown["listed"] + shown["rest"], 10101)
            self.assertLessEqual(shown["listed"], 10000)
            self.assertGreater(shown["listed"], 5000)
            self.assertLess(took_s, 1.0 * PATIENCE)
            self.assertEqual(sleep.join().json()["ok"], 10100)

    @only_coroutine
    def test_a_carrier_that_is_kept_is_shown_with_who_keeps_it(self):
        with Server("--experiments", "--carriers", "1", "--spare-drivers", "0") as server:
            hog = server.in_background("/fanout?n=1&delay_ms=0&cpu_us=1000000")
            shown = picture_with(
                server, lambda shown: "kept_by" in shown["carriers"][0], "silent carrier"
            )
            carrier = shown["carriers"][0]
            self.assertEqual(carrier["kept_by_name"], "fanout call")
            self.assertGreaterEqual(carrier["silent_ms"], 50)
            self.assertGreaterEqual(shown["listed"] + shown["rest"], 2)
            text = server.get("/debug/tasks?format=text").body.decode()
            self.assertTrue("SILENT" not in text or "kept by fanout call" in text, text)
            self.assertEqual(hog.join().json()["ok"], 1)
            self.assertNotIn("kept_by", picture(server)["carriers"][0])

    @only_coroutine
    def test_pages_turned_away_are_not_counted_as_requests_of_the_executors(self):
        with Server("--experiments", "--carriers", "1", "--spare-drivers", "0") as server:
            hog = server.in_background("/fanout?n=1&delay_ms=0&cpu_us=1000000")
            picture_with(server, lambda shown: "kept_by" in shown["carriers"][0], "silent carrier")
            # Each waits 50 ms for the carrier, one after the other, and a few for their turn.
            pages = [server.in_background("/debug/tasks") for _ in range(30)]
            statuses = [page.join().status for page in pages]
            self.assertEqual(set(statuses), {200, 503})
            figures = server.metrics()
            rejected = {name: figures[name] for name in figures if "rejected_total" in name}
            self.assertGreater(len(rejected), 3)
            self.assertEqual(sum(rejected.values()), 0, rejected)
            self.assertEqual(hog.join().json()["ok"], 1)

    def test_every_executor_is_shown(self):
        with Server("--compare") as server:
            shown = server.get("/debug/tasks").json()["executors"]
            self.assertEqual(
                [executor["executor"] for executor in shown], ["coroutine", "pool", "thread"]
            )
            text = server.get("/debug/tasks?format=text").body.decode()
            self.assertEqual(text.count("executor "), 3)

    def test_refuses_what_it_does_not_know(self):
        with Server() as server:
            for query in ("format=xml", "format=", "executor=pool", "max=1"):
                reply = server.get("/debug/tasks?" + query)
                self.assertEqual(reply.status, 400, query)
                self.assertEqual(reply.headers["Content-Type"], "application/problem+json")
                self.assertEqual(reply.json()["parameter"], query.split("=")[0])


if __name__ == "__main__":
    fanoutd.main()
