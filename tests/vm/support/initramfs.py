"""Builds the initramfs of a guest: busybox, the programs, their libraries, the scripts."""
import re
import shutil
import subprocess
from pathlib import Path

from support import expected
from support.kernels import HERE

TRIPLETS = {"arm64": "aarch64-linux-gnu", "amd64": "x86_64-linux-gnu"}


def _headers(program):
    return subprocess.run(["readelf", "--wide", "--program-headers", "--dynamic", program],
                          capture_output=True, text=True, check=True).stdout


def _libraries(program, folders, found):
    """Adds {name: path} of all libraries of the program. Reads them from its ELF headers, because ldd works only for native programs."""
    for name in re.findall(r"\(NEEDED\).*\[(.*)\]", _headers(program)):
        if name in found:
            continue
        path = next((folder / name for folder in folders if (folder / name).exists()), None)
        if path is None:
            raise FileNotFoundError(f"{program} needs {name}, which is in none of {', '.join(map(str, folders))}")
        found[name] = path.resolve()
        _libraries(path, folders, found)


def _strip(source, target):
    """Removes all symbols: they are most of a test program, a guest has little memory, and no test there needs names."""
    subprocess.run(["llvm-strip-19", "--strip-all", source, "-o", target], check=True)
    target.chmod(0o755)


def build(folder, arch, busybox, program, tests, sysroot, tests_of):
    """Writes folder.cpio and returns its path."""
    shutil.rmtree(folder, ignore_errors=True)
    for name in ("bin", "proc", "sys", "dev", "run", "tmp", "mnt", "etc", "lib", "var/lib"):
        (folder / name).mkdir(parents=True)
    shutil.copy(busybox, folder / "bin/busybox")
    for script in ("init", "watch-check"):
        shutil.copy(HERE / script, folder / script)
    for kind, names in tests_of.items():
        (folder / f"filter.{kind}").write_text(":".join(names))
    (folder / "events").write_text("\n".join(expected.events()) + "\n")  # only these, because a tracefs has thousands

    triplet = TRIPLETS[arch]
    # The C library of the other architecture comes with the cross compiler.
    folders = [Path(program).parent / "lib", sysroot / "lib" / triplet, sysroot / "usr/lib" / triplet,
               Path("/usr") / triplet / "lib"]
    libraries = {}
    for source, target in ((program, "bin/memscope"), (tests, "bin/kernel_tests")):
        _strip(source, folder / target)
        _libraries(source, folders, libraries)
        loader = re.search(r"program interpreter: (\S+)\]", _headers(source)).group(1)
        libraries.pop(Path(loader).name, None)
        (folder / loader[1:]).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(next(f / Path(loader).name for f in folders if (f / Path(loader).name).exists()), folder / loader[1:])
    (folder / "lib" / triplet).mkdir()
    for name, path in libraries.items():
        shutil.copy(path, folder / "lib" / triplet / name)

    drivers = Path(tests).resolve().parent / "fake_cuda"
    if drivers.is_dir():
        shutil.copytree(drivers, folder / "fake_cuda")
        (folder / "fake_cuda.path").write_text(str(drivers))  # the path where the tests search for them

    image = folder.with_suffix(".cpio")
    names = "\n".join(str(path.relative_to(folder)) for path in sorted(folder.rglob("*")))
    with open(image, "wb") as out:
        subprocess.run(["cpio", "--quiet", "-o", "-H", "newc", "-R", "0:0"], cwd=folder, input=names.encode(), stdout=out,
                       check=True)
    return image
