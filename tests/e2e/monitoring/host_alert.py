#!/usr/bin/env python3
"""If the host runs out of memory, there is one alert for the host, not one for each job. The limit of a job has its own alert.

Two jobs have no limit but the memory of the host, one has its own. The thresholds are so low that both limits are near. Needs
root and prometheus; takes 10 s. MEMSCOPE names the binary.
"""
import contextlib
import os
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../support'))
import dashboards as files  # noqa: E402
from harness import Cgroup, Checks, GaveUp, Watcher, process, run_as_root, wait_for  # noqa: E402
from monitoring import raised_by, start_prometheus  # noqa: E402

MEMSCOPE = os.environ.get('MEMSCOPE', str(files.SOURCE / 'build' / 'memscope'))
MIB = 1 << 20
NO_LIMIT = 1 << 45
SETTINGS = '''
[precursors]
near_limit = "1%"
near_limit_for = "1s"
'''
JOB = 'import time\nheld = bytearray(b"x") * (24 << 20)\nwhile True: time.sleep(1)'

check = Checks()


def main():
    if not shutil.which('prometheus'):
        raise GaveUp('prometheus is missing')
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix='e2e-host-'))
        groups = {}
        for name, limit in (('a', NO_LIMIT), ('b', NO_LIMIT), ('own', 64 * MIB)):
            groups[name] = stack.enter_context(Cgroup(f'e2e-host-{os.getpid()}-{name}', limit))
            stack.enter_context(process([sys.executable, '-c', JOB], groups[name]))
        with open(f'{folder}/memscope.toml', 'w') as f:
            f.write(SETTINGS)
        watcher = stack.enter_context(Watcher(MEMSCOPE, folder, '--config', f'{folder}/memscope.toml', '--cgroup', f'e2e-host-{os.getpid()}-*'))
        api = start_prometheus(stack, folder, [watcher.port], files.ALERTS)
        for name, owner in (('a', 'host'), ('b', 'host'), ('own', 'own')):
            found = api.query(f'memscope_memory_limit_owner{{target="{groups[name].name}"}} == 1')
            check(f'{name}: the nearest limit is that of {owner}', [f['metric']['owner'] for f in found] == [owner], found)

        def firing(name):
            return [a for a in api.firing() if a['labels']['alertname'] == name]

        check('there is an alert for the job that has a limit', wait_for(lambda: firing('MemscopeNearLimit'), 15, 0.3), api.firing())
        said = wait_for(lambda: firing('MemscopeHostNearLimit'), 15, 0.3)
        check('there is one alert for the host', len(said) == 1 and 'target' not in said[0]['labels'], said)
        both = wait_for(lambda: any('2 watched job(s)' in a['annotations']['description'] for a in firing('MemscopeHostNearLimit')), 5, 0.3)
        check('for both jobs that depend on it', both, said)
        for name, expected in (('a', []), ('b', []), ('own', ['MemscopeNearLimit'])):
            raised = raised_by(api, groups[name].name)
            check(f'{name}: {expected or "nothing"} was raised about it', raised == expected, raised)


if __name__ == '__main__':
    run_as_root(check, main, MEMSCOPE, 90)
