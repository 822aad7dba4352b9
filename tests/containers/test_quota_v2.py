"""Carriers follow a quota of cgroup v2, on 8 CPUs: in a virtual machine."""

import os
import pathlib
import unittest

import containers
import v2_vm

HERE = pathlib.Path(__file__).parent
SERVER = pathlib.Path(os.environ["BUILD"]) / "server"


class VersionTwo(unittest.TestCase):
    def test_carriers_follow_and_no_request_fails(self):
        status, output = v2_vm.run(
            (HERE / "quota_v2_job").read_text(),
            {"/fanoutd": SERVER / "fanoutd", "/slow-endpoint": SERVER / "slow-endpoint",
             "/in-quota": containers.SOURCE / "loadtests/in-quota"})
        print(output)
        self.assertEqual(status, 0)


if __name__ == "__main__":
    v2_vm.prepare()
    containers.main()
