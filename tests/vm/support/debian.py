"""Fetches Debian packages of any suite and architecture, by apt with a separate root directory: nothing is installed, and
the apt of the host is not changed. Its mirror and its proxy are used."""
import fcntl
import functools
import os
import re
import subprocess
import time
from pathlib import Path

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
PUBLIC = "http://deb.debian.org"
ATTEMPTS = 4  # mirrors answer bursts with "too many requests"


class FetchError(Exception):
    """One line: what could not be fetched."""


def mirrors():
    """(archive, security archive) that this host uses, else the public ones."""
    site = os.environ.get("MEMSCOPE_DEBIAN_MIRROR")  # scheme and host, with debian/ and debian-security/ below
    if site:
        return f"{site.rstrip('/')}/debian", f"{site.rstrip('/')}/debian-security"
    lines = subprocess.run(["apt-get", "indextargets", "--format", "$(REPO_URI) $(LABEL)", "Origin: Debian"],
                           capture_output=True, text=True, check=False).stdout.splitlines()
    found = {label: uri.rstrip("/") for uri, _, label in (line.partition(" ") for line in lines)}
    return found.get("Debian", f"{PUBLIC}/debian"), found.get("Debian-Security", f"{PUBLIC}/debian-security")


def _newer(a, b):
    return subprocess.run(["dpkg", "--compare-versions", a, "gt", b], check=False).returncode == 0


class Archive:
    """The packages of some suites for one architecture. `cache` keeps fetched packages, by file name."""

    def __init__(self, cache, arch, suites, offline=False):
        self.cache, self.arch, self.offline = Path(cache), arch, offline
        self.root = self.cache / f"apt-{arch}"
        for folder in ("lists/partial", "cache/archives/partial", "etc", "none"):
            (self.root / folder).mkdir(parents=True, exist_ok=True)
        (self.root / "status").touch()
        archive, security = mirrors()
        (self.root / "etc/sources.list").write_text("".join(
            f"deb [arch={arch} signed-by={KEYRING}] {security if suite.endswith('-security') else archive} {suite} main\n"
            for suite in sorted(set(suites))))

    def _apt(self, tool, *args):
        root = self.root
        options = {"Dir::Etc::SourceList": root / "etc/sources.list", "Dir::Etc::SourceParts": root / "none",
                   "Dir::Etc::PreferencesParts": root / "none", "Dir::State": root, "Dir::State::Lists": root / "lists",
                   "Dir::State::Status": root / "status", "Dir::Cache": root / "cache", "APT::Architecture": self.arch,
                   "APT::Architectures": self.arch, "Acquire::Languages": "none", "Acquire::Retries": 3,
                   # The release file of a suite without support expires, but its packages are still valid.
                   "Acquire::Check-Valid-Until": "false", "APT::Sandbox::User": "root"}
        words = [tool, "-q"] + [word for key, value in options.items() for word in ("-o", f"{key}={value}")]
        return subprocess.run([*words, *args], cwd=self.cache, capture_output=True, text=True, check=False)

    def _insist(self, what, *args):
        for attempt in range(ATTEMPTS):
            if attempt:
                time.sleep(5 * attempt)
            done = self._apt("apt-get", *args)
            if done.returncode == 0:
                return
        reasons = [line for line in done.stderr.splitlines() if line.startswith("E:")] or ["apt gave no reason"]
        raise FetchError(f"cannot fetch {what}: {reasons[0]}")

    @functools.cached_property
    def _known(self):
        """[(package, version, file name)] after an update of the lists."""
        if not self.offline:
            self._insist(f"the package lists for {self.arch}", "update", "--error-on=any")
        packages = []
        for paragraph in self._apt("apt-cache", "dumpavail").stdout.split("\n\n"):
            fields = dict(re.findall(r"^(Package|Version|Filename): (.*)$", paragraph, re.M))
            if len(fields) == 3:
                packages.append((fields["Package"], fields["Version"], Path(fields["Filename"]).name))
        return packages

    def newest(self, pattern):
        """(package, version, file name) of the newest package whose whole name matches."""
        best = None
        for package in self._known:
            if re.fullmatch(pattern, package[0]) and (best is None or _newer(package[1], best[1])):
                best = package
        if best is None:
            raise FetchError(f"no package of {self.arch} matches {pattern}")
        return best

    def unpacked(self, pattern):
        """The folder with the files of the newest package that matches; fetched unless it is in the cache."""
        name, version, _ = self.newest(pattern)
        folder = self.cache / f"{name}_{version.replace(':', '%3a')}_{self.arch}"
        with open(self.cache / "lock", "w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not folder.exists():
                self._fetch(name, version, folder)
        return folder

    def _fetch(self, name, version, folder):
        if self.offline:
            raise FetchError(f"{name} {version} is not in the cache, and --offline forbids to fetch it")
        self._insist(f"{name} {version}", "download", f"{name}={version}")
        package, = self.cache.glob(f"{name}_*_{self.arch}.deb")
        part = folder.with_name(f"{folder.name}.part")
        subprocess.run(["rm", "-rf", part], check=True)
        subprocess.run(["dpkg", "-x", package, part], check=True)
        package.unlink()
        part.rename(folder)  # atomic: the whole package or nothing
