"""The pages under /debug: who may see them, and that they answer whatever the tasks do."""

import unittest

import fanoutd
from fanoutd import Server, wait_until

PAGES = ("/debug/pinned",)


class Gate(unittest.TestCase):
    def test_a_loopback_listener_serves_them(self):
        for host in ("127.0.0.1", "127.8.8.8", "::1"):
            with Server(host=host) as server:
                for page in PAGES:
                    self.assertEqual(server.get(page).status, 200, (host, page))

    def test_a_listener_that_others_can_reach_does_not(self):
        with Server(host="0.0.0.0") as server:
            for page in PAGES:
                self.assertEqual(server.get(page).status, 404)
                self.assertEqual(server.request("POST", page).status, 404)

    def test_an_admin_listener_serves_them_alone(self):
        with Server("--admin-listen", "127.0.0.1:0") as server:
            for page in PAGES:
                self.assertEqual(server.get(page, port=server.admin_port()).status, 200)
                self.assertEqual(server.get(page).status, 404)

    def test_they_answer_get_alone(self):
        with Server() as server:
            for page in PAGES:
                reply = server.request("POST", page)
                self.assertEqual(reply.status, 405)
                self.assertEqual(reply.headers["Allow"], "GET")

    def test_an_unknown_parameter_is_refused(self):
        with Server() as server:
            for page in PAGES:
                self.assertEqual(server.get(page + "?n=1").status, 400)


class Service(unittest.TestCase):
    def test_they_answer_while_the_executor_is_full(self):
        with Server("--max-tasks", "11") as server:
            full = server.in_background("/fanout?n=10&delay_ms=2000")
            server.wait_for_in_flight(10)
            wait_until(lambda: server.get("/fanout?n=1").status == 503, "refusal")
            for page in PAGES:
                self.assertEqual(server.get(page).status, 200)
            self.assertTrue(full.is_alive(), "the fan-out ended first")
            self.assertEqual(full.join().json()["ok"], 10)

    def test_too_many_at_once_are_refused(self):
        with Server() as server:
            asking = [server.in_background(PAGES[0]) for _ in range(100)]
            replies = [each.join() for each in asking]
            self.assertIn(200, [each.status for each in replies])
            for reply in replies:
                self.assertIn(reply.status, (200, 503))
                if reply.status == 503:
                    self.assertEqual(reply.headers["Retry-After"], "1")

    def test_a_client_that_does_not_wait_is_no_harm(self):
        with Server() as server:
            for _ in range(20):
                with server.connect() as connection:
                    connection.sendall(f"GET {PAGES[0]} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            wait_until(lambda: server.get(PAGES[0]).status == 200, "answer")


if __name__ == "__main__":
    fanoutd.main()
