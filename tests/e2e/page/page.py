#!/usr/bin/env python3
"""The page in a real browser: with generated data, with a live leak, with recordings that have a death, hostile names and GPUs,
and as a report in a file. Keeps screenshots in build/page-tests/screenshots.

Needs root, node, npm and Chromium; takes two minutes. MEMSCOPE names the binary; `page.py made` needs neither root nor memscope."""
import concurrent.futures
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../support'))
from gpu_job import GpuJob  # noqa: E402
from harness import Cgroup, Checks, GaveUp, process, run_as_root, wait_for  # noqa: E402
from page import SCREENSHOTS, SOURCE, bundle, in_browser, prepare, relay, web  # noqa: E402

MEMSCOPE = os.environ.get('MEMSCOPE', str(SOURCE / 'build' / 'memscope'))
MIB = 1 << 20
SCRIPT_NAME = '<script>alert(1)</script>'
FILE_NAME = '<img src=x>'  # the name of a process in the kernel is that of its file
# A trainer that keeps validation results until the kernel kills it. It has an argument that reverses the direction of text, and
# a helper process whose names look like elements of HTML.
LEAK = f'''
import os, time
if os.fork() == 0:
    os.execv(os.path.join(os.path.dirname(os.path.abspath(__file__)), {FILE_NAME!r}), [{SCRIPT_NAME!r}, '100'])
kept = []
def validate(step):
    kept.append(bytearray(os.urandom(1 << 16) * 48))
for step in range(10000):
    validate(step)
    time.sleep(0.08)
'''

check = Checks()


def recorder(folder, name, cgroup, *options, **kw):
    return process([MEMSCOPE, '--cgroup', cgroup.name, '--record', f'{folder}/{name}.memscope', '--listen', 'none', '--report-dir', 'none',
                    '--interval', '200ms', '--warmup', '3s', '--quiet', *options], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **kw)


def end(child):
    child.send_signal(signal.SIGINT)
    child.wait(20)


def record_death(folder):
    """A recording of a job that the kernel kills at its limit."""
    script = f'{folder}/train.py'
    with open(script, 'w') as f:
        f.write(LEAK)
    shutil.copy(shutil.which('sleep'), f'{folder}/{FILE_NAME}')
    with Cgroup(f'ms-page-death-{os.getpid()}', 256 * MIB) as cgroup, recorder(folder, 'death', cgroup) as watcher:
        wait_for(lambda: os.path.exists(f'{folder}/death.memscope'), 15)
        with process([sys.executable, script, 'epoch\u202e1'], cgroup, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as job:
            job.wait(40)
            wait_for(lambda: False, 2)  # the ticks after the death
        end(watcher)
    return f'{folder}/death.memscope'


def record_gpus(folder):
    """A recording of a job on two GPUs, by the libraries of tests/fake_cuda and tests/support/fake_nvml."""
    with Cgroup(f'ms-page-gpu-{os.getpid()}', 1024 * MIB) as cgroup, GpuJob(folder, cgroup) as job, \
            recorder(folder, 'gpu', cgroup, '--torch', env=job.environment) as watcher:
        wait_for(lambda: False, 5)  # until memscope follows the driver; a recording has no metrics that the test could query
        job.go_on()
        wait_for(lambda: False, 7)
        end(watcher)
    return f'{folder}/gpu.memscope'


@contextlib.contextmanager
def demo(folder):
    """A demo that leaks for a minute (the browser of a busy machine is slow), and the name of its target."""
    environment = {**os.environ, 'MEMSCOPE_DEMO_SECONDS': '60', 'MEMSCOPE_RECORD': folder}
    with process([MEMSCOPE, 'demo', 'leak'], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True) as child:
        if not wait_for(lambda: os.path.exists(f'/run/memscope/{child.pid}.sock'), 20):
            raise GaveUp('the demo does not start')
        yield f'memscope-demo-{child.pid}'


def made(page, browser, pool):
    """The page with generated data. Runs while other scenarios wait for their jobs."""
    built = bundle(page)
    units = pool.submit(subprocess.run, ['sh', '-c', 'npm run --silent check && node test.mjs'], cwd=page, capture_output=True, text=True, timeout=110)
    return units, pool.submit(in_browser, browser, 'made.mjs', built, SCREENSHOTS)


def real(folder, browser, pool):
    recorded = pool.submit(record_death, folder), pool.submit(record_gpus, folder)
    with demo(folder) as target, web(MEMSCOPE, '--target', target) as address:
        relay(check, in_browser(browser, 'real.mjs', 'live', address, SCREENSHOTS))
    death, gpus = (each.result() for each in recorded)
    for scenario, recording in (('death', death), ('gpus', gpus)):
        with web(MEMSCOPE, recording) as address:
            relay(check, in_browser(browser, 'real.mjs', scenario, address, SCREENSHOTS))
    report = f'{folder}/report.html'
    done = subprocess.run([MEMSCOPE, 'report', death, '--html', report], capture_output=True, text=True, timeout=60)
    if check('memscope report --html writes a file', done.returncode == 0 and os.path.exists(report), done.stderr):
        relay(check, in_browser(browser, 'real.mjs', 'report', f'file://{report}', SCREENSHOTS))


def main():
    page, browser = prepare()
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor() as pool:
        units, others = made(page, browser, pool)
        if sys.argv[1:] != ['made']:
            real(folder, browser, pool)
        check('the types of the page fit, and its pure parts pass their tests', units.result().returncode == 0 and '\n# fail 0' in units.result().stdout,
              units.result().stdout[-600:])
        relay(check, others.result())


if __name__ == '__main__':
    if sys.argv[1:] == ['made']:
        with contextlib.suppress(GaveUp):
            main()
        sys.exit(check.finish())
    run_as_root(check, main, MEMSCOPE, 240)
