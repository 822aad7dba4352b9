"""The files to deploy with: accepted by what reads them, and run as far as one machine can."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import containers
from containers import podman
import yaml

FILES = containers.SOURCE / "containers"
KUBERNETES_MODELS, TYPESCRIPT = "kubernetes-models@5.1.0", "typescript@5.9.3"


def run(*command, **how):
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=300, **how)


def missing(*programs):
    absent = [program for program in programs if not shutil.which(program)]
    return f"needs {', '.join(absent)}" if absent else None


@unittest.skipIf(missing("docker-compose"), missing("docker-compose"))
class Compose(unittest.TestCase):
    def check(self, text):
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory) / "compose.yaml"
            path.write_text(text)
            return run("docker-compose", "-f", path, "config", "-q")

    def test_takes_the_file_and_would_refuse_a_typo(self):
        text = (FILES / "compose.yaml").read_text()
        result = self.check(text)
        self.assertEqual(result.returncode, 0, result.stderr)
        for right, wrong in (("read_only:", "readonly:"), ("stop_grace_period:", "stop_grace_time:"),
                             ("mem_limit: 64m", "mem_limit: [64m]")):
            self.assertNotEqual(self.check(text.replace(right, wrong)).returncode, 0, wrong)

    def test_has_what_the_readme_says(self):
        services = yaml.safe_load((FILES / "compose.yaml").read_text())["services"]
        self.assertEqual(services["fanoutd"]["stop_grace_period"], "40s")
        self.assertEqual(services["fanoutd"]["depends_on"], {"slow": {"condition": "service_healthy"}})
        self.assertIn("--healthcheck", services["slow"]["healthcheck"]["test"])
        for service in services.values():
            self.assertTrue(service["cpus"] and service["mem_limit"] and service["read_only"])


@unittest.skipIf(missing("systemd-analyze"), missing("systemd-analyze"))
class Unit(unittest.TestCase):
    def test_is_verified_and_scored(self):
        with tempfile.TemporaryDirectory() as directory:
            directory = pathlib.Path(directory)
            for name in ("fanoutd.service", "fanoutd.socket"):
                text = (FILES / name).read_text()
                (directory / name).write_text(text.replace("/usr/local/bin/fanoutd", os.environ["FANOUTD"]))
            units = [directory / "fanoutd.service", directory / "fanoutd.socket"]
            result = run("systemd-analyze", "verify", *units)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            score = run("systemd-analyze", "security", "--offline=true", units[0])
            print(score.stdout.strip().splitlines()[-1])
            self.assertRegex(score.stdout, r"exposure level for fanoutd.service: [01]\.\d OK")
            units[0].write_text(units[0].read_text().replace("ProtectHome=", "ProtectHouse="))
            self.assertIn("ProtectHouse", run("systemd-analyze", "verify", units[0]).stderr)


def objects():
    return list(yaml.safe_load_all((FILES / "kubernetes.yaml").read_text()))


def typed(planted=None):
    """The objects as literals of a TypeScript program, which then has a mistake in it."""
    lines = []
    for i, one in enumerate(objects()):
        module = one["apiVersion"] if "/" in one["apiVersion"] else one["apiVersion"]
        kind = one["kind"]
        lines.append(f'import {{ I{kind} }} from "kubernetes-models/{module}/{kind}";')
        lines.append(f"export const object_{i}: I{kind} = {json.dumps(one, indent=1)};")
    text = "\n".join(lines) + "\n"
    if planted:
        right, wrong = planted
        if right not in text:
            raise AssertionError(f"there is no {right} to be wrong about")
        text = text.replace(right, wrong, 1)
    return text


class Kubernetes(unittest.TestCase):
    def install_types(self):
        """Once; npm fetches them."""
        directory = containers.CACHE / "types"
        if missing("npm", "node"):
            self.skipTest(missing("npm", "node"))
        if not (directory / "node_modules/kubernetes-models").exists():
            directory.mkdir(parents=True, exist_ok=True)
            (directory / "package.json").write_text("{}")
            result = run("npm", "install", "--no-audit", "--no-fund", KUBERNETES_MODELS, TYPESCRIPT, cwd=directory)
            if result.returncode != 0:
                self.skipTest(f"npm cannot fetch the types: {result.stderr.strip().splitlines()[-1:]}")
        return directory

    def test_has_fields_that_there_are(self):
        directory = self.install_types()
        mistakes = [
            None,
            ('"readinessProbe"', '"readynessProbe"'),
            ('"readOnlyRootFilesystem": true', '"readOnlyRootFilesystem": "true"'),
            ('"resizePolicy"', '"resizePolicies"'),
            ('"maxUnavailable"', '"maxUnavailble"'),
            ('"minReplicas": 2', '"minReplicas": "2"'),
            ('"targetPort"', '"target_port"'),
        ]
        names = []
        for number, planted in enumerate(mistakes):
            names.append(f"objects_{number}.ts")
            (directory / names[-1]).write_text(typed(planted))
        options = ["--strict", "--noEmit", "--skipLibCheck", "--module", "nodenext", "--moduleResolution", "nodenext"]
        result = run("node_modules/.bin/tsc", *options, *names, cwd=directory)
        wrong = {int(number) for number in re.findall(r"^objects_(\d+)\.ts\(", result.stdout, re.MULTILINE)}
        self.assertEqual(wrong, set(range(1, len(mistakes))), result.stdout)

    def test_says_what_a_rolling_update_needs(self):
        deployment, service, budget, scaler = objects()
        self.assertNotIn("replicas", deployment["spec"])
        pod = deployment["spec"]["template"]["spec"]
        self.assertEqual(pod["terminationGracePeriodSeconds"], 40)
        self.assertFalse(pod["automountServiceAccountToken"])
        self.assertEqual(pod["securityContext"]["seccompProfile"], {"type": "RuntimeDefault"})
        container = pod["containers"][0]
        self.assertEqual(container["resources"]["limits"], container["resources"]["requests"])
        self.assertEqual(container["resources"]["limits"]["cpu"], "500m")
        self.assertIn({"resourceName": "cpu", "restartPolicy": "NotRequired"}, container["resizePolicy"])
        admin = next(port for port in container["ports"] if port["name"] == "admin")
        self.assertIn(f"--admin-listen=0.0.0.0:{admin['containerPort']}", container["args"])
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            self.assertEqual(container[probe]["httpGet"]["port"], "admin")
        labels = deployment["spec"]["template"]["metadata"]["labels"].items()
        self.assertLessEqual(service["spec"]["selector"].items(), labels)
        self.assertLessEqual(budget["spec"]["selector"]["matchLabels"].items(), labels)
        self.assertEqual(budget["spec"]["maxUnavailable"], 1)
        self.assertEqual(scaler["spec"]["minReplicas"], 2)
        self.assertEqual(scaler["spec"]["scaleTargetRef"]["name"], deployment["metadata"]["name"])

    def test_runs_under_podman(self):
        """As it is, but for the HTTP probes, which podman leaves to a curl in the image, and for ports
        and network: those of this machine."""
        deployment = objects()[0]
        pod = deployment["spec"]["template"]["spec"]
        container = pod["containers"][0]
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            del container[probe]
        del container["ports"]
        container["image"] = containers.IMAGE
        pod["hostNetwork"] = True
        port, admin, slow = (containers.free_port() for _ in range(3))
        container["args"] += [f"--listen=127.0.0.1:{port}", f"--admin-listen=127.0.0.1:{admin}",
                              f"--slow-listen=127.0.0.1:{slow}", "--drain-delay-ms=0"]
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            yaml.safe_dump(deployment, file)
            file.flush()
            try:
                podman("play", "kube", "--network=host", file.name)
                containers.wait_until(lambda: answers(admin), "answer")
                answer = json.loads(containers.get(port, "/fanout?n=100&delay_ms=100")[1])
                self.assertEqual(answer["ok"], 100)
                metrics = containers.get(admin, "/metrics")[1]
                self.assertIn("\nfanoutd_cpu_quota_cores 0.5\n", metrics)
                self.assertIn("\nfanoutd_carriers 1\n", metrics)
            finally:
                podman("play", "kube", "--down", file.name, check=False)


def answers(port):
    try:
        return containers.get(port, "/readyz")[0] == 200
    except OSError:
        return False


if __name__ == "__main__":
    containers.prepare()
    containers.main()
