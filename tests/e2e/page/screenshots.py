#!/usr/bin/env python3
"""Makes the pictures of the README from a demo that leaks: docs/images/page.png and docs/images/live-view.png. `./dev screenshots`
runs it. Needs root, tmux, node, npm and Chromium; takes two minutes. MEMSCOPE names the binary."""
import concurrent.futures
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../support'))
from harness import Checks, GaveUp, run_as_root, wait_for  # noqa: E402
from page import CHROMIUM, SOURCE, prepare, web  # noqa: E402

MEMSCOPE = os.path.abspath(os.environ.get('MEMSCOPE', str(SOURCE / 'build' / 'memscope')))
IMAGES = SOURCE / 'docs' / 'images'
LARGEST = 200 << 10
SECONDS = 90

check = Checks()


def tmux(name, *arguments):
    return subprocess.run(['tmux', '-u', '-L', name, *arguments], capture_output=True, text=True, timeout=10)


def picture(browser, what, source, file):
    done = subprocess.run(['node', 'screenshots.mjs', what, source, file], cwd=browser, capture_output=True, text=True, timeout=110,
                          env={**os.environ, 'CHROMIUM': CHROMIUM})
    size = os.path.getsize(file) if os.path.exists(file) else 0
    check(f'{file}: {size // 1024} KiB', done.returncode == 0 and 0 < size < LARGEST, done.stderr[-400:])


def main():
    _, browser = prepare()
    IMAGES.mkdir(parents=True, exist_ok=True)
    server = f'ms-screenshots-{os.getpid()}'
    with tempfile.TemporaryDirectory() as folder:
        environment = f'MEMSCOPE_DEMO_SECONDS={SECONDS} MEMSCOPE_RECORD={folder} TERM=tmux-256color'
        started = tmux(server, '-f', '/dev/null', 'new-session', '-d', '-x', '110', '-y', '40', f'exec env {environment} {MEMSCOPE} demo leak')
        if started.returncode != 0:
            raise GaveUp(f'tmux: {started.stderr}')
        try:
            pid = tmux(server, 'display', '-p', '#{pane_pid}').stdout.strip()
            if not wait_for(lambda: os.path.exists(f'/run/memscope/{pid}.sock'), 20):
                raise GaveUp('the demo does not start')
            # The pictures show the whole answer: the verdict, the line and the variable. The page is opened early, so that it
            # has the curve from the beginning.
            with web(MEMSCOPE, '--target', f'memscope-demo-{pid}') as address, concurrent.futures.ThreadPoolExecutor() as pool:
                page = pool.submit(picture, browser, 'page', address, str(IMAGES / 'page.png'))
                shown = lambda: tmux(server, 'capture-pane', '-p').stdout  # noqa: E731
                check('the leak is called, with its line and its variable',
                      wait_for(lambda: all(word in shown() for word in ('leaking', 'keeps most of it', 'val_outputs')), 80, 0.5), shown())
                captured = f'{folder}/screen'
                with open(captured, 'w') as f:
                    f.write(tmux(server, 'capture-pane', '-e', '-p').stdout)
                picture(browser, 'terminal', captured, str(IMAGES / 'live-view.png'))
                page.result()
        finally:
            tmux(server, 'kill-server')


if __name__ == '__main__':
    run_as_root(check, main, MEMSCOPE, 180)
