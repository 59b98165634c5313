#!/usr/bin/env python3
"""Interpreters in containers: other process ids, other mounts, another root; and an interpreter of a venv.

Needs root; takes 15 s. MEMSCOPE names the binary (default: build/memscope below the source tree).
"""
import contextlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../support'))
from growing import MEMSCOPE, MIB, SCRIPT, Script, check_sections, pythons, settled  # noqa: E402
from harness import Cgroup, Checks, Watcher, run_as_root  # noqa: E402

UNSHARE = ['unshare', '--fork', '--pid', '--mount', '--kill-child', '--mount-proc']
# Container engines use pivot_root: paths then begin at the new root.
PIVOT = 'mount --bind "$1" "$1" && cd "$1" && mount -t proc proc proc && pivot_root . old && cd / && shift && exec "$@"'
# Simpler engines use chroot, also some engines on clusters: paths then still begin at the root of the mount namespace.
CHROOT = 'mount -t proc proc "$1/proc" && exec chroot "$@"'

check = Checks()


def own_pid(pid):
    """The pid of the process in its own PID namespace."""
    with open(f'/proc/{pid}/status') as status:
        return next(int(line.split()[-1]) for line in status if line.startswith('NSpid:'))


def new_root(python, folder):
    """A root of its own with nothing but that interpreter, the script and places for mounts."""
    root = pathlib.Path(folder) / f'root-{python.name}'
    came_from = pathlib.Path(python.program).parent
    subprocess.run(['cp', '-a', came_from / 'root', root], check=True)
    for place in 'lib', 'lib64':  # of the dynamic loader
        if not (root / place).exists():
            (root / place).symlink_to(f'usr/{place}')
    for place in 'proc', 'old', 'dev':
        (root / place).mkdir(exist_ok=True)
    shutil.copy(SCRIPT, root / 'grows.py')
    program = f'/usr/bin/python{".".join(python.version.split(".")[:2])}'
    if (came_from / 'trainer').exists():
        program = '/trainer'
        shutil.copy(came_from / 'trainer', root)
    return str(root), program


def venv(folder):
    made = f'{folder}/venv'
    subprocess.run([sys.executable, '-m', 'venv', '--without-pip', made], check=True)
    return f'{made}/bin/python'


def main():
    _, static, shared = pythons(['system', '3.13', '3.13-shared'])
    with tempfile.TemporaryDirectory() as folder:
        roots = {python: new_root(python, folder) for python in (static, shared)}

        def in_root(python, how):
            root, program = roots[python]
            return [*UNSHARE, 'sh', '-c', how, 'sh', root, program], '/grows.py'
        places = {  # by section: what it is, how it is started, the script
            'arrays': ('other process ids', [*UNSHARE, sys.executable], SCRIPT),
            'generator': ('pivot_root', *in_root(static, PIVOT)),
            'method': ('pivot_root, libpython', *in_root(shared, PIVOT)),
            'deep': ('chroot', *in_root(static, CHROOT)),
            'late': ('chroot, libpython', *in_root(shared, CHROOT)),
            'comprehension': ('venv', [venv(folder)], SCRIPT)}
        for when in 'before', 'after':
            with Cgroup(f'ms-places-{os.getpid()}', 4096 * MIB) as group, contextlib.ExitStack() as held:
                def started():
                    return {section: held.enter_context(Script(argv, group, [section], script=script, PYTHONHOME='/usr')
                                                        if script != SCRIPT else Script(argv, group, [section]))
                            for section, (_, argv, script) in places.items()}
                scripts = started() if when == 'before' else None
                held.enter_context(Watcher(MEMSCOPE, folder, '--cgroup', group.name))
                scripts = scripts or started()
                for section, (label, _, script) in places.items():
                    said = scripts[section].grow()['sections']
                    report = settled(group.name, said, script)
                    check_sections(check, f'{label}, started {when} the watcher', report, said, own_pid, script)


if __name__ == '__main__':
    run_as_root(check, main, MEMSCOPE, 120)
