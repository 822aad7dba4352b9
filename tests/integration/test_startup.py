"""How fanoutd starts, and how it says that it cannot."""

import socket
import unittest

import fanoutd
from fanoutd import Server, run_to_end, wait_until


class Startup(unittest.TestCase):
    def check_refusal(self, *flags, env=None, says):
        result = run_to_end(*flags, env=env)
        self.assertNotEqual(result.returncode, 0)
        self.assertEqual(result.stdout, "")
        lines = result.stderr.splitlines()
        self.assertEqual(len(lines), 1, result.stderr)
        self.assertTrue(lines[0].startswith("fanoutd: "), lines)
        self.assertIn(says, lines[0])

    def test_refuses_an_unknown_executor(self):
        self.check_refusal("--executor", "bogus", says="bogus")
        self.check_refusal(env={"FANOUTD_EXECUTOR": "bogus"}, says="bogus")

    def test_refuses_a_port_in_use(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            address = f"127.0.0.1:{taken.getsockname()[1]}"
            free = "127.0.0.1:0"
            self.check_refusal("--listen", address, "--slow-listen", free, says=address)
            self.check_refusal("--listen", free, "--slow-listen", address, says=address)
            self.check_refusal(
                "--listen", free, "--slow-listen", free, "--admin-listen", address, says=address
            )

    def test_refuses_an_address_of_another_machine(self):
        self.check_refusal("--listen", "192.0.2.1:0", "--slow-listen", "127.0.0.1:0", says="192.0.2.1")

    def test_refuses_a_malformed_upstream(self):
        for url in ("", "example.org", "ftp://example.org/", "http://", "http://x y/", "http://x:99999/"):
            with self.subTest(url):
                self.check_refusal("--upstream", url, says="--upstream")

    def test_refuses_to_run_with_nothing_to_call(self):
        self.check_refusal("--slow-listen", "off", says="--upstream")

    def test_refuses_unknown_flags_and_bad_numbers(self):
        self.check_refusal("--bogus", says="--bogus")
        self.check_refusal("--pool-threads", "0", says="--pool-threads")
        self.check_refusal("--deadline-ms", "1e3", says="--deadline-ms")

    def test_refuses_https_with_the_client_that_does_not_speak_it(self):
        self.check_refusal("--client", "http1", "--upstream", "https://127.0.0.1:1/", says="https")

    def test_prints_version_and_help(self):
        version = run_to_end("--version")
        self.assertEqual(version.returncode, 0)
        self.assertRegex(version.stdout, r"^fanoutd \d+\.\d+\.\d+\n$")
        usage = run_to_end("--help")
        self.assertEqual(usage.returncode, 0)
        for flag in ("--listen", "--executor", "--drain-ms"):
            self.assertIn(flag, usage.stdout)

    def test_takes_settings_from_the_environment_and_flags_over_it(self):
        with Server(executor="thread", env={"FANOUTD_EXECUTOR": "pool", "FANOUTD_MAX_N": "3"}) as server:
            self.assertEqual(server.get("/fanout?n=3&delay_ms=0").json()["executor"], "thread")
            self.assertEqual(server.get("/fanout?n=4&delay_ms=0").status, 400)

    def test_warns_of_an_unknown_variable_and_runs(self):
        with Server(env={"FANOUTD_PORT": "tcp://10.0.0.1:80"}) as server:
            self.assertEqual(server.get("/livez").status, 200)
            warnings = [line for line in server.log_text().splitlines() if "FANOUTD_PORT" in line]
            self.assertEqual(len(warnings), 1)
            self.assertIn("level=warning", warnings[0])

    def test_logs_one_line_whatever_is_in_it(self):
        with Server(env={"FANOUTD_A\nts": "x"}) as server:
            self.assertIn("FANOUTD_A?ts in", server.log_text())

    def test_logs_what_it_found_at_the_start(self):
        with Server("--carriers", "3") as server:
            wait_until(lambda: "event=started" in server.log_text(), "line")
            started = [line for line in server.log_text().splitlines() if "event=started" in line][0]
            for field in ("usable_cpus=", "quota_cpus=", "cgroup=", "limited_by=", "carriers=3", "stack_guard="):
                self.assertIn(field, started)

    def test_lets_a_request_choose_the_executor_with_compare(self):
        with Server("--compare", executor="pool") as server:
            for executor in ("coroutine", "pool", "thread", "%70ool"):
                answer = server.get(f"/fanout?n=2&delay_ms=0&executor={executor}").json()
                self.assertEqual(answer["executor"], executor.replace("%70", "p"))
                self.assertEqual(answer["ok"], 2)
            self.assertEqual(server.get("/fanout?n=2&delay_ms=0").json()["executor"], "pool")
            self.assertEqual(server.get("/fanout?n=2&executor=bogus").json()["parameter"], "executor")

    def test_starts_without_its_upstream_and_recovers_with_it(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
        flags = ["--upstream", f"http://127.0.0.1:{port}/slow"]
        with Server(*flags, slow_listen="off") as server:
            answer = server.get("/fanout?n=5&delay_ms=0").json()
            self.assertEqual((answer["ok"], answer["errors"]), (0, {"connect": 5}))
            with Server(slow_listen=f"127.0.0.1:{port}") as upstream:
                self.assertEqual(upstream.slow_port, port)
                self.assertEqual(server.get("/fanout?n=5&delay_ms=0").json()["ok"], 5)
            answer = server.get("/fanout?n=5&delay_ms=0").json()
            self.assertEqual((answer["ok"], answer["errors"]), (0, {"connect": 5}))

    def test_listens_on_ipv6(self):
        try:
            socket.create_server(("::1", 0), family=socket.AF_INET6).close()
        except OSError:
            self.skipTest("no IPv6 here")
        with Server(host="::1") as server:
            self.assertEqual(server.get("/fanout?n=2&delay_ms=0").json()["ok"], 2)


class Metrics(unittest.TestCase):
    def test_count_what_happened(self):
        with Server() as server:
            server.get("/fanout?n=7&delay_ms=0")
            server.get("/fanout?n=2&delay_ms=500&timeout_ms=50")
            server.get("/fanout?n=0")
            server.get("/nope")
            server.get("/livez")
            metrics = server.metrics()
            upstream = f'upstream="127.0.0.1:{server.slow_port}"'
            route = 'http_server_request_duration_seconds_count{http_route="%s",http_response_status_code="%d"}'
            for name, value in {
                f'fanoutd_calls_total{{{upstream},result="ok"}}': 7,
                f'fanoutd_calls_total{{{upstream},result="timeout"}}': 2,
                route % ("/fanout", 200): 2,
                route % ("/fanout", 400): 1,
                route % ("/livez", 200): 1,
                route % ("", 404): 1,
                'fanoutd_rejected_total{reason="queue"}': 0,
            }.items():
                self.assertEqual(metrics[name], value, name)
            for name in (
                "fanoutd_carriers",
                'fanoutd_offload_threads{lane="cpu"}',
                "fanoutd_usable_cpus",
                "fanoutd_cpu_quota_cores",
                "fanoutd_cgroup_throttled_seconds_total",
                "process_cpu_seconds_total",
                "process_resident_memory_bytes",
                "process_open_fds",
                "process_start_time_seconds",
            ):
                self.assertGreaterEqual(metrics[name], 0, name)
            for state in ("running", "parked", "queued"):
                self.assertEqual(
                    metrics[f'fanoutd_tasks{{executor="{fanoutd.EXECUTOR}",state="{state}"}}'], 0
                )

    def test_are_on_the_admin_listener_if_there_is_one(self):
        with Server("--admin-listen", "127.0.0.1:0") as server:
            self.assertEqual(server.get("/metrics").status, 404)
            wait_until(lambda: "event=admin_listening" in server.log_text(), "line")
            port = int(server.log_text().split("event=admin_listening")[1].split("port=")[1].split()[0])
            self.assertEqual(server.get("/metrics", port=port).status, 200)
            self.assertEqual(server.get("/fanout?n=1", port=port).status, 404)


if __name__ == "__main__":
    fanoutd.main()
