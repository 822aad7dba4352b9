"""The examples of loadtests/examples run as they are, but for the ports."""

import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import fanoutd
from fanoutd import PATIENCE, Server

EXAMPLES = pathlib.Path(os.environ["EXAMPLES"])
README = EXAMPLES.parent.parent / "README.md"


class Examples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.slow = Server()
        cls.folder = tempfile.TemporaryDirectory()
        config = pathlib.Path(cls.folder.name, "fanoutd.json")
        text = (EXAMPLES / "fanoutd.json").read_text()
        config.write_text(text.replace("127.0.0.1:8081", f"127.0.0.1:{cls.slow.slow_port}"))
        cls.server = Server("--config", str(config), slow_listen="off")

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__(None)
        cls.slow.__exit__(None)
        cls.folder.cleanup()

    def run_example(self, name, status=0):
        result = subprocess.run(
            [EXAMPLES / name, f"http://127.0.0.1:{self.server.port}"],
            capture_output=True, text=True, timeout=20 * PATIENCE,
        )
        self.assertEqual((result.returncode, result.stderr), (status, ""))
        return result.stdout

    def check_not_told(self, failed):
        gone = {f"receiver-{i}" for i in range(50, 501, 50)}
        self.assertLessEqual(gone, set(failed))
        self.assertLess(len(failed), 30)

    def test_webhooks(self):
        *results, last = [json.loads(line) for line in self.run_example("webhooks.sh").splitlines()]
        self.assertEqual({each["id"] for each in results}, {f"receiver-{i}" for i in range(1, 501)})
        failed = [each["id"] for each in results if each.get("status") != 200]
        self.check_not_told(failed)
        self.assertEqual(last["coverage"]["succeeded"], 500 - len(failed))
        self.assertGreater(max(each["attempts"] for each in results), 1)

    def test_price(self):
        answer = json.loads(self.run_example("price.sh"))
        results = {each["id"]: each for each in answer["responses"]}
        self.assertEqual(results["a"]["status"], 200)
        self.assertEqual((results["b"]["error"], results["c"]["error"]), ("canceled", "canceled"))

    def test_health(self):
        answer = json.loads(self.run_example("health.sh"))
        self.assertEqual(answer["coverage"]["succeeded"], 3)
        self.assertEqual(answer["coverage"]["degraded"], {"reset": 1, "canceled": 1})

    def test_python(self):
        told, not_told, price, health = self.run_example("lists.py").splitlines()
        failed = not_told.removeprefix("not told: ").split()
        self.check_not_told(failed)
        self.assertEqual(told, f"told {500 - len(failed)} of 500")
        self.assertRegex(price, r"^shop a says ok after \d+\.\d ms$")
        self.assertTrue(re.match(r"healthy \{", health), health)

    def test_the_list_of_the_readme(self):
        body = re.search(r"-d '(\{\n.*?\})'\n", README.read_text(), re.DOTALL)[1]
        with Server() as server:  # whose default upstream is what the list is for
            reply = server.request("POST", "/fanout", body, {"Content-Type": "application/json"})
            answer = reply.json()
        self.assertEqual([each["id"] for each in answer["responses"]], ["stock", "order", "slow"])
        self.assertEqual(answer["coverage"]["degraded"], {"timeout": 1})

    def test_the_configuration_of_the_readme(self):
        block = re.search(r"\n    \{\n(?:    .*\n)+", README.read_text())[0]
        config = pathlib.Path(self.folder.name, "readme.json")
        config.write_text(block)
        result = fanoutd.run_to_end("--config", str(config), "--check-config", env={"STOCK_TOKEN": "x"})
        self.assertEqual((result.returncode, result.stderr), (0, ""))


if __name__ == "__main__":
    fanoutd.main()
