#!/usr/bin/env python3
"""Many HTTP clients at once, slow, idle and with oversized requests, while ticks and scrapes go on.

Needs root. MEMSCOPE names the binary."""
import concurrent.futures
import contextlib
import json
import os
import pathlib
import resource
import socket
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../support'))
from harness import Cgroup, Checks, Watcher, process, run_as_root, wait_for  # noqa: E402

SOURCE = pathlib.Path(__file__).resolve().parents[3]
MEMSCOPE = os.environ.get('MEMSCOPE', str(SOURCE / 'build' / 'memscope'))
MIB = 1 << 20
MOST_CONNECTIONS = 512
check = Checks()


def connect(w):
    return socket.create_connection(('127.0.0.1', w.port), timeout=20)


def state(w):
    pid = w.child.pid
    status = dict(line.split(':', 1) for line in pathlib.Path(f'/proc/{pid}/status').read_text().splitlines())
    return {'threads': int(status['Threads']), 'resident': int(status['VmRSS'].split()[0]) << 10, 'files': len(os.listdir(f'/proc/{pid}/fd'))}


def scrape(w):
    """(seconds, whether the answer was complete and correct)"""
    began = time.monotonic()
    try:
        status, body = w.get('/metrics')
    except OSError:
        return time.monotonic() - began, False
    lines = body.decode().splitlines()
    return time.monotonic() - began, status == 200 and any(line.startswith('memscope_last_tick_timestamp_seconds ') for line in lines) and sum(line.startswith('memscope_target_up{') for line in lines) == 1 and body.endswith(b'\n')


@contextlib.contextmanager
def watched(sockets, w):
    """Samples the state of the watcher during the block; yields the highest value of each figure."""
    most, over = {}, threading.Event()

    def sample():
        while not over.wait(0.05):
            for key, value in state(w).items():
                most[key] = max(most.get(key, 0), value)
    watching = threading.Thread(target=sample)
    watching.start()
    try:
        yield most
    finally:
        over.set()
        watching.join()
        for s in sockets:
            s.close()


def slowloris(w):
    clients = [connect(w) for _ in range(50)]
    with watched(clients, w):
        request, seconds = b'GET /metrics HTTP/1.1\r\nHost: a', []
        for i in range(9):  # nearly as long as a request may take; a longer request would get no answer
            for client in clients:
                client.send(request[i:i + 1])
            seconds.append(scrape(w))
            time.sleep(1)
        check('while fifty send a byte a second, scrapes are answered', all(ok and s < 2 for s, ok in seconds), seconds)
        answers = []
        for client in clients:
            with contextlib.suppress(OSError):
                answers.append(client.recv(100)[9:12])
        check('each of the fifty gets status 408', answers == [b'408'] * 50, answers)


def oversized(w):
    for what, start in (('a header of 64 MiB', b'GET /metrics HTTP/1.1\r\nX: '), ('a request line of 64 MiB', b'GET /')):
        client, sent = connect(w), 0
        with watched([client], w) as most:
            with contextlib.suppress(OSError):
                client.sendall(start)
                for _ in range(1024):
                    client.sendall(b'a' * (64 << 10))
                    sent += 64 << 10
            check(f'{what} is cut off', sent < 32 * MIB, sent)
            check('the next scrape is answered', scrape(w)[1])
            time.sleep(0.1)


def idle(w):
    crowd = []
    with watched(crowd, w) as most:
        with contextlib.suppress(OSError):  # if the server accepts no more connections, the next check fails
            for _ in range(1000):
                crowd.append(connect(w))
        seconds = [scrape(w) for _ in range(10)]
        check('1,000 idle connections do not block scrapes', all(ok and s < 5 for s, ok in seconds), seconds)
        time.sleep(0.2)
    check('the server holds a bounded number of idle connections', most['files'] < before['files'] + MOST_CONNECTIONS + 20, (before, most))


def parallel(w):
    with concurrent.futures.ThreadPoolExecutor(200) as pool:
        gate = threading.Barrier(200)

        def one(_):
            gate.wait(20)
            return scrape(w)
        with watched([], w) as most:
            results = list(pool.map(one, range(200)))
    check('200 scrapes at once are all answered, whole', all(ok for _, ok in results), [r for r in results if not r[1]])
    check('the scrapes start no thread', most.get('threads', 0) <= before['threads'], (before, most))
    print(f'      200 scrapes at once: the slowest took {max(s for s, _ in results):.2f} s', flush=True)


def main():
    global before
    resource.setrlimit(resource.RLIMIT_NOFILE, (8192, max(8192, resource.getrlimit(resource.RLIMIT_NOFILE)[1])))
    with tempfile.TemporaryDirectory() as folder, Cgroup(f'ms-e2e-http-{os.getpid()}', 200 * MIB) as cgroup, \
            process(['sleep', '170'], cgroup=cgroup), Watcher(MEMSCOPE, folder, '--cgroup', cgroup.name, '--json') as w:
        time.sleep(1)
        before = state(w)
        for part in (parallel, oversized, idle, slowloris):
            part(w)
        gone = wait_for(lambda: state(w)['files'] <= before['files'] + 2, 15)
        check('afterwards all connections are gone', gone, (before, state(w)))
        grown = state(w)['resident'] - before['resident']
        check('the connections add less than 24 MiB of resident memory', grown < 24 * MIB, grown)
        ticks = [json.loads(line) for line in w.lines()[:-1]]
        gaps = sorted(b['time'] - a['time'] for a, b in zip(ticks, ticks[1:]))
        check('no tick was late by as much as a second', gaps[-1] < 1, gaps[-5:])
        check('most came every 100 ms', gaps[len(gaps) // 2] < 0.12, gaps[len(gaps) // 2])


run_as_root(check, main, MEMSCOPE, 150)
