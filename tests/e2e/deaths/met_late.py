#!/usr/bin/env python3
"""A watcher that starts shortly before a job dies: a precursor comes in time, and after the death there is no forecast.

The job holds two fifths of its limit when watching begins and reaches the limit 40 s later. A verdict takes two minutes, so
only the trend of the last seconds can announce the kill. Needs root; takes a minute. MEMSCOPE names the binary."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../support'))
from harness import Cgroup, Checks, GaveUp, Watcher, process, run_as_root, wait_for  # noqa: E402

SOURCE = pathlib.Path(__file__).resolve().parents[3]
MEMSCOPE = os.environ.get('MEMSCOPE', str(SOURCE / 'build' / 'memscope'))
MIB = 1 << 20
LIMIT = 200
JOB = '''
import os, signal, sys, time
keep, wanted = [], False
def save(*_):
    global wanted
    wanted = True
signal.signal(signal.SIGUSR1, save)
keep.append(bytearray(b'x') * (80 << 20))
print('READY', flush=True)
while True:
    keep.append(bytearray(b'x') * (1 << 20))
    time.sleep(0.33)
    if wanted:
        with open(sys.argv[1] + '.part', 'w') as f:
            f.write(str(80 + len(keep)))
        os.rename(sys.argv[1] + '.part', sys.argv[1])
        wanted = False
'''
check = Checks()


def status(cgroup, *options):
    run = subprocess.run([MEMSCOPE, 'status', '--target', cgroup.name, *options], capture_output=True, text=True, timeout=20)
    return run.stdout


def main():
    with tempfile.TemporaryDirectory(prefix='e2e-late-') as folder, Cgroup(f'ms-e2e-late-{os.getpid()}', LIMIT * MIB) as cgroup:
        saved, facts = f'{folder}/checkpoint', f'{folder}/facts'
        tell = f'sh -c "cat >> {facts}; echo >> {facts}; kill -USR1 $MEMSCOPE_PID"'
        with process([sys.executable, '-c', JOB, saved], cgroup, stdout=subprocess.PIPE, text=True) as job:
            if job.stdout.readline().strip() != 'READY':
                raise GaveUp('the job does not start')
            # All settings have their defaults: none is shortened for the test.
            with Watcher(MEMSCOPE, folder, '--cgroup', cgroup.name, '--on-precursor', tell, '--interval', '1s') as w:
                eta = f'memscope_oom_eta_seconds{{target="{cgroup.name}",scope="target",role="",rank="",gpu="",basis="trend"}}'
                seen = wait_for(lambda: w.metrics().get(eta), 60, 0.2)
                check('the trend is a metric before the kill', seen and 0 < seen < 120, seen)
                tick = json.loads(status(cgroup, '--json'))
                check('the forecast is in JSON, with its limit', tick['forecast'] and (tick['forecast']['basis'], tick['forecast']['limit_owner'], tick['forecast']['limit_bytes'])
                      == ('trend', 'own', LIMIT * MIB), tick['forecast'])
                check('no verdict was needed', tick['verdicts'][0]['verdict'] == 'insufficient', tick['verdicts'][0])
                check('a person reads it, too', f'its own limit ({LIMIT} MiB), basis trend' in status(cgroup), status(cgroup))
                job.wait(60)
                check('the kernel kills the job', job.returncode == -9, job.returncode)
                check('the job has saved its work before its death', os.path.exists(saved))
                held = int(pathlib.Path(saved).read_text()) if os.path.exists(saved) else LIMIT
                check('with room left', held < 0.96 * LIMIT, held)
                first = json.loads(pathlib.Path(facts).read_text().splitlines()[0])
                check('the command gets the reason', (first['precursor'], first['oom_eta_basis'], first['oom_eta_limit_owner']) == ('eta', 'trend', 'own'), first)

                # The next tick has the death. A precursor is held for a minute only while the job lives.
                check('the death of the job has a line', w.says(': death: '), w.lines())
                text = wait_for(lambda: (t := status(cgroup)).startswith(f'{cgroup.name}: death, ') and t, 5, 0.2)
                check('the death is the first line of the status', text, status(cgroup))
                tick = json.loads(status(cgroup, '--json'))
                check('there is no forecast after the death', tick['forecast'] is None, tick['forecast'])
                check('there is no precursor after the death', [p['precursor'] for p in tick['precursors'] if p['precursor'] in ('eta', 'near_limit')] == [], tick['precursors'])
                check('there is no metric of a forecast after the death', not w.value('memscope_oom_eta_seconds{') and not w.value(f'memscope_oom_precursor{{target="{cgroup.name}",precursor="eta"'), w.metrics())
                marks = [line.split(', above ')[1].split(' % of')[0] for line in w.lines() if ', above ' in line]
                check('each mark of the limit has one line', marks == ['50', '75', '90', '95'], marks)


if __name__ == '__main__':
    run_as_root(check, main, MEMSCOPE, 170)
