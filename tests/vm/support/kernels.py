"""The kernels of kernels.toml and their images."""
import platform
import tomllib
from dataclasses import dataclass
from pathlib import Path

from support.debian import Archive, FetchError

HERE = Path(__file__).resolve().parent.parent
ARCHS = ("arm64", "amd64")
NATIVE = {"aarch64": "arm64", "x86_64": "amd64"}[platform.machine()]


@dataclass(frozen=True)
class Machine:
    """One virtual machine of the matrix."""
    series: str
    arch: str
    cgroup: int

    @property
    def name(self):
        return f"{self.series}-{self.arch}-v{self.cgroup}"

    @property
    def kind(self):
        return f"{self.series}-v{self.cgroup}"


def table():
    return tomllib.loads((HERE / "kernels.toml").read_text(encoding="utf-8"))


def matrix():
    return [Machine(series, arch, cgroup) for series, kernel in table()["kernel"].items()
            for arch in ARCHS for cgroup in kernel["cgroups"]]


class Images:
    """The packages for the guests of one architecture."""

    def __init__(self, cache, arch, offline=False):
        self.table = table()
        suites = [entry["suite"] for entry in (*self.table["kernel"].values(), self.table["busybox"])]
        self.arch, self.archive = arch, Archive(cache, arch, suites, offline)

    def _find(self, entry, *patterns):
        folder = self.archive.unpacked(entry["package"].replace("{arch}", self.arch))
        for pattern in patterns:
            for found in folder.glob(pattern):
                return found
        raise FetchError(f"{folder.name} has no {patterns[0]}")

    def kernel(self, series):
        return self._find(self.table["kernel"][series], "boot/vmlinuz-*", "usr/lib/modules/*/vmlinuz",
                          "lib/modules/*/vmlinuz")

    def busybox(self):
        return self._find(self.table["busybox"], "bin/busybox", "usr/bin/busybox")
