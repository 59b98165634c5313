"""The page of memscope for tests: its bundle, the tests that run in a browser, and `memscope web` itself."""
import contextlib
import hashlib
import os
import pathlib
import re
import shutil
import subprocess

from harness import GaveUp, process, wait_for

SOURCE = pathlib.Path(__file__).resolve().parents[3]
CHROMIUM = os.environ.get('CHROMIUM', '/usr/bin/chromium')
# Copies of the sources with their packages, the bundle and the screenshots: the source tree stays as it is.
WORK = pathlib.Path(os.environ.get('PAGE_WORK', SOURCE / 'build' / 'page-tests'))
SCREENSHOTS = WORK / 'screenshots'
CHECKED = re.compile(r'(ok  |FAIL)  (.*?)(?:   \[(.*)\])?', re.M)


def with_packages(source, name):
    """A copy of a folder with the packages of its lock file. npm runs again only if that file has changed."""
    folder = WORK / name
    shutil.copytree(source, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns('node_modules', 'dist'))
    lock, stamp = hashlib.sha256((source / 'package-lock.json').read_bytes()).hexdigest(), folder / '.packages'
    if not stamp.exists() or stamp.read_text() != lock or not (folder / 'node_modules').is_dir():
        done = subprocess.run(['npm', 'ci', '--no-audit', '--no-fund'], cwd=folder, capture_output=True, text=True, timeout=150)
        if done.returncode != 0:
            raise GaveUp(f'npm ci for {name}: {done.stderr.strip()[-300:]}')
        stamp.write_text(lock)
    return folder


def prepare():
    """(sources of the page, tests of the browser), both with their packages."""
    for tool in ('node', 'npm', CHROMIUM):
        if not shutil.which(tool):
            raise GaveUp(f'this needs {tool}: packaging/install-deps.sh test')
    WORK.mkdir(parents=True, exist_ok=True)
    return with_packages(SOURCE / 'dashboards' / 'page', 'page'), with_packages(SOURCE / 'tests' / 'e2e' / 'page' / 'browser', 'browser')


def bundle(page):
    out = WORK / 'dist'
    done = subprocess.run(['node', 'build.mjs', str(out)], cwd=page, capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        raise GaveUp(f'the page is not built: {done.stderr.strip()[-400:]}')
    return out


def in_browser(folder, script, *arguments, seconds=110):
    """The output of a script of the browser; a script that does not end or breaks adds a failed check to it."""
    try:
        done = subprocess.run(['node', script, *map(str, arguments)], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=seconds, env={**os.environ, 'CHROMIUM': CHROMIUM})
        output = done.stdout
        if done.returncode not in (0, 1) or not CHECKED.search(output):
            output += f'\nFAIL  {script} checks something   [status {done.returncode}]'
    except subprocess.TimeoutExpired as late:
        output = f'{(late.output or b"").decode(errors="replace")}\nFAIL  {script} ends within {seconds} s'
    return output


def relay(check, output):
    """Adds the checks of the browser to the checks of this script."""
    for line in output.splitlines():
        found = CHECKED.fullmatch(line)
        if found:
            check(found[2], found[1] == 'ok  ', found[3] or '')
        elif line:
            print(line, flush=True)


@contextlib.contextmanager
def web(memscope, *arguments, **popen):
    """`memscope web` and the address that it prints; the address can be used once."""
    with process([memscope, 'web', '--no-browser', *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, **popen) as child:
        os.set_blocking(child.stdout.fileno(), False)
        printed = b''

        def address():
            nonlocal printed
            printed += child.stdout.read() or b''
            found = re.search(rb'http://127\.0\.0\.1:\d+/\?token=\w+', printed)
            return found and found[0].decode()

        found = wait_for(lambda: address() or child.poll() is not None, 20) and address()
        if not found:
            raise GaveUp(f'memscope web printed no address: {printed.decode(errors="replace")[-300:]}')
        yield found
