#!/usr/bin/env python3
"""`memscope web` and `memscope report --html`, over plain HTTP: link, cookie, Host, Origin, headers, wrong requests, a recording
with a hostile process name, a running watcher that is killed, privileges, and the report as one file.

Needs root; takes a minute. MEMSCOPE names the binary."""
import base64
import contextlib
import hashlib
import html.parser
import http.client
import json
import os
import pathlib
import re
import signal
import stat
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'support'))
from harness import Cgroup, Checks, process, run_as_root, wait_for  # noqa: E402

SOURCE = pathlib.Path(__file__).resolve().parents[3]
MEMSCOPE = os.environ.get('MEMSCOPE', str(SOURCE / 'build' / 'memscope'))
NOBODY = 65534
check = Checks()

# A process whose name would end a script element, with an argument that other users must not read. It grows until it is killed.
HOSTILE = """
import time
open('/proc/self/comm', 'w').write('</script><b>')
kept = []
while True:
    kept.append(bytearray(4 << 20))
    time.sleep(0.1)
"""
STEADY = """
import time
kept = bytearray(30 << 20)
while True:
    time.sleep(1)
"""
PAGE = {'index.html': '<!doctype html><html><head><meta charset="utf-8"><link rel="stylesheet" href="/page.css"></head><body>'
                      '<script type="module" src="/page.js"></script></body></html>',
        'page.js': 'document.title = "memscope";\n', 'page.css': 'body { margin: 0 }\n', 'licences.txt': 'none\n'}


class Web:
    """A running `memscope web`, and requests to it."""

    def __init__(self, child):
        self.child = child
        self.host, self.token = self.link()
        self.cookie = None

    def link(self):
        line = self.child.stdout.readline()
        found = re.fullmatch(r'http://(127\.0\.0\.1:\d+)/\?token=([0-9a-f]{32})\n', line)
        check('memscope web prints its link', found, line + (self.child.stderr.read() if not line else ''))
        return found.groups() if found else ('127.0.0.1:1', '')

    def get(self, path, cookie=True, method='GET', **headers):
        """Status, headers and body."""
        connection = http.client.HTTPConnection(self.host, timeout=20)
        with contextlib.closing(connection):
            if cookie and self.cookie:
                headers['Cookie'] = self.cookie
            connection.putrequest(method, path, skip_host='Host' in headers, skip_accept_encoding=True)
            for name, value in headers.items():
                connection.putheader(name, value)
            connection.endheaders()
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read().decode()

    def json(self, path):
        status, _, body = self.get(path)
        if status != 200:
            raise OSError(f'{path}: {status} {body}')
        return json.loads(body)

    def sign_in(self, token):
        status, headers, _ = self.get(f'/?token={token}', cookie=False)
        self.cookie = headers.get('Set-Cookie', '').split(';')[0]
        return status, headers

    def end(self, number=signal.SIGTERM):
        self.child.send_signal(number)
        return self.child.wait(20)


@contextlib.contextmanager
def web(page, *arguments, **kw):
    environment = {**os.environ, 'MEMSCOPE_PAGE_DIR': str(page), **kw.pop('env', {})}
    for name in 'DISPLAY', 'WAYLAND_DISPLAY':
        environment.pop(name, None)
    with process([MEMSCOPE, 'web', '--no-browser', *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                 stderr=subprocess.PIPE, text=True, env=environment, **kw) as child:
        yield Web(child)


def run(*argv, **kw):
    return subprocess.run([MEMSCOPE, *map(str, argv)], capture_output=True, text=True, timeout=100, **kw)


def record_death(folder):
    """A recorded command that the OOM killer kills."""
    script = folder / 'hostile.py'
    script.write_text(HOSTILE)
    path = folder / 'death.memscope'
    run('--memory-max', '60M', '--interval', '100ms', '--listen', 'none', '--report-dir', 'none', '--record', path, '--quiet',
        '--on-death', 'true SECRET-ACTION', '--', sys.executable, script, '--api-key', 'SECRET-ARGUMENT')
    path.chmod(0o644)
    return path


def access(page):
    """Access: only a browser with the link gets a cookie, and only once."""
    check('no cookie: 403', page.get('/')[0] == 403 and page.get('/api/run')[0] == 403)
    check('the reason is a sentence', 'link' in page.get('/')[2] and 'link' in json.loads(page.get('/api/run')[2])['error'])
    check('a wrong token: 403', page.get('/?token=' + '0' * 32)[0] == 403)
    evil = page.get(f'/?token={page.token}', Origin='http://evil.example')[0]
    check('a link that another page requests: 403', evil == 403, evil)
    status, headers = page.sign_in(page.token)
    cookie = headers.get('Set-Cookie', '')
    check('the link: a cookie and a redirect', status == 303 and headers.get('Location') == '/', (status, headers))
    check('the cookie is for this page alone', 'HttpOnly' in cookie and 'SameSite=Strict' in cookie and page.token not in cookie, cookie)
    check('the link works once', page.get(f'/?token={page.token}', cookie=False)[0] == 403)
    status, headers, body = page.get('/')
    check('the cookie opens the page', status == 200 and body == PAGE['index.html'], (status, body))
    policy = headers.get('Content-Security-Policy', '')
    check('the policy allows nothing from elsewhere', policy.startswith("default-src 'none'; script-src 'self';") and "frame-ancestors 'none'" in policy, policy)
    check('other headers', (headers.get('X-Content-Type-Options'), headers.get('Referrer-Policy'), headers.get('Cache-Control')) ==
          ('nosniff', 'no-referrer', 'no-store'), headers)
    check('a wrong cookie: 403', page.get('/api/run', cookie=False, Cookie=page.cookie[:-1] + 'x')[0] == 403)
    check('Host of another name: 421', page.get('/api/run', Host='evil.example')[0] == 421)
    port = page.host.split(':')[1]
    check('Host localhost, as in a tunnel', page.get('/api/run', Host='localhost:9999')[0] == 200)
    check('our own Origin', page.get('/api/run', Origin=f'http://{page.host}')[0] == 200)
    for origin in 'http://evil.example', 'null', f'http://localhost:{port}', f'https://{page.host}':
        check(f'Origin {origin}: 403', page.get('/api/run', Origin=origin)[0] == 403)
    page.child.send_signal(signal.SIGUSR1)
    check('memscope web prints that a browser has opened the page', 'once' in page.child.stdout.readline() and 'A browser has opened' in page.child.stdout.readline())
    _, token = page.link()
    check('SIGUSR1: another link', token != page.token and page.get(f'/?token={token}', cookie=False)[0] == 303)
    check('the first browser stays signed in', page.get('/')[0] == 200)


def wrong_requests(page):
    for path in '/nothing', '/index.html', '/../etc/passwd', '/%2e%2e/etc/passwd', '/page.js/', '/api/nothing':
        check(f'{path}: 404', page.get(path)[0] == 404, page.get(path))
    for path in '/api/curves?width=1', '/api/curves?width=99999', '/api/tick?at=x', '/api/tick?at=nan', '/api/growth?since=x', '/api/live?after=':
        status, _, body = page.get(path)
        check(f'{path}: 400', status == 400 and 'error' in json.loads(body), (status, body))
    check('POST: 405', page.get('/api/run', method='POST')[0] == 405)
    check('HEAD has no body', page.get('/', method='HEAD')[0::2] == (200, ''))


def of_recording(folder, page_dir, path):
    with web(page_dir, path, user=NOBODY, group=NOBODY, extra_groups=[]) as page:
        access(page)
        wrong_requests(page)
        shown = wait_for(lambda: (r := page.json('/api/run'))['complete'] and r, 20)
        check('a recording is shown', shown and shown['mode'] == 'recording' and shown['recording'] == 'death.memscope' and shown['ticks'] > 5, shown)
        deaths = shown['summary']['deaths']
        check('with its death', deaths and deaths[0]['cause'] == 'oom_kill' and deaths[0]['comm'] == '</script><b>', deaths)
        curves = page.json('/api/curves?width=100')
        series = {each['id']: each for each in curves['series']}
        check('the curves of the run have the usual series', {'held', 'usage', 'limit', 'kind:anon', 'processes'} <= series.keys(), series.keys())
        highest = max(value for value in series['held']['high'] if value is not None)
        check('up to the limit', 40 << 20 < highest <= 60 << 20 and highest == shown['summary']['peak_bytes'], highest)
        tick = page.json(f'/api/tick?at={shown["began"] + 1}')
        check('a tick of any time can be fetched', tick['time'] <= shown['began'] + 1 and tick['target']['name'] == shown['target'], tick['time'])
        check('the growth of the target can be fetched', page.json('/api/growth')['target']['name'] == shown['target'])
        check('a recording returns no census that was not taken', page.json('/api/heap')['processes'] == [] and page.get('/api/heap?take=1')[0] == 400)
        check('SIGTERM: status 0', page.end() == 0)


def alive(folder, page_dir, sudo):
    """A running watcher, with `memscope web` by root or through sudo, until the watcher is killed."""
    environment = {'SUDO_UID': str(NOBODY)} if sudo else {}
    who = 'sudo' if sudo else 'root'
    with Cgroup(f'memscope-web-{os.getpid()}', 200 << 20) as cgroup, process([sys.executable, '-c', STEADY], cgroup) as job:
        watcher = [MEMSCOPE, '--cgroup', cgroup.name, '--record', str(folder / who), '--listen', 'none', '--report-dir', 'none', '--interval', '200ms', '--quiet']
        with process(watcher, stdout=subprocess.DEVNULL) as watching:
            wait_for(lambda: run('status', '--target', cgroup.name).returncode == 0, 20)
            time.sleep(5)  # until the recording has some ticks
            with web(page_dir, '--target', cgroup.name, '--record', folder / who, env=environment) as page:
                status = pathlib.Path(f'/proc/{page.child.pid}/status').read_text()
                uids = re.search(r'Uid:\s+(\d+)\s+(\d+)\s+(\d+)\s+(\d+)', status).groups()
                check(f'{who}: the user of the server', set(uids) == {str(NOBODY) if sudo else '0'}, uids)
                check(f'{who}: no capabilities', re.search(r'CapEff:\s+0+\n', status) and re.search(r'CapPrm:\s+0+\n', status), status)
                page.sign_in(page.token)
                first = page.json('/api/run')
                check(f'{who}: a live page with history', first['mode'] == 'live' and first['history'] is None and first['ended'] is None and first['ticks'] > 10, first)
                news = wait_for(lambda: (n := page.json(f'/api/live?after={first["last"]}'))['ticks'] and len(n['ticks']) >= 5 and n, 20)
                check(f'{who}: ticks follow', news and not news['ended'] and all(tick['held'] > 20 << 20 for tick in news['ticks']), news)
                check(f'{who}: the latest tick', page.json('/api/tick')['processes'][0]['pid'] == job.pid)
                check(f'{who}: an early tick, from the recording', page.json(f'/api/tick?at={first["began"]}')['time'] <= first['began'] + 1)
                check(f'{who}: growth of now', 'resident' in page.json('/api/growth?since=start'))
                watching.kill()
                watching.wait()
                ended = wait_for(lambda: (n := page.json('/api/live?after=0'))['ended'] and n, 30)
                check(f'{who}: the end of the watcher is shown', ended)
                last = page.json('/api/run')
                check(f'{who}: and the last data stays', last['ended'] and last['ticks'] > first['ticks'] and page.json('/api/tick')['processes'], last['ended'])
                check(f'{who}: SIGINT: status 0', page.end(signal.SIGINT) == 0)


class Scripts(html.parser.HTMLParser):
    """The contents of script and style elements, as a browser finds them, and the policy."""

    def __init__(self, text):
        super().__init__()
        self.inside, self.found, self.tags, self.policy = None, [], [], ''
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.tags.append(tag)
        if attributes.get('http-equiv') == 'Content-Security-Policy':
            self.policy = attributes['content']
        if tag in ('script', 'style'):
            self.inside = attributes.get('id', tag)
            self.found.append((self.inside, ''))

    def handle_endtag(self, tag):
        if tag in ('script', 'style'):
            self.inside = None

    def handle_data(self, text):
        if self.inside:
            self.found[-1] = (self.inside, self.found[-1][1] + text)


def report(folder, page_dir, path):
    environment = {**os.environ, 'MEMSCOPE_PAGE_DIR': str(page_dir)}
    out = folder / 'report.html'
    out.write_text('old')
    done = run('report', path, '--html', out, env=environment)
    text = out.read_text()
    check('a report is written', done.returncode == 0 and 'report.html' in done.stdout, done)
    page = Scripts(text)
    contents = dict(page.found)
    check('with the elements of the page and no others', page.tags == ['html', 'head', 'meta', 'meta', 'style', 'body', 'script', 'script'], page.tags)
    hashes = [f"'sha256-{base64.b64encode(hashlib.sha256(contents[name].encode()).digest()).decode()}'" for name in ('script', 'style')]
    check('the policy of the report has the hashes of its script and style', f'script-src {hashes[0]}; style-src {hashes[1]};' in page.policy, page.policy)
    data = json.loads(contents['memscope-data'])
    check('the report contains its data', data['run']['mode'] == 'report' and data['curves'] and len(data['ticks']) > 5 and data['growth'], data.keys())
    check('with the name that a process chose', any(p['comm'] == '</script><b>' for tick in data['ticks'] for p in tick['processes']) and '</script><b>' not in text)
    check('without commands', 'SECRET' not in text)
    run('report', path, '--html', out, '--with-commands', env=environment)
    check('unless they are asked for', 'SECRET-ARGUMENT' in out.read_text() and 'SECRET-ACTION' in out.read_text())
    check('the report leaves no other file', sorted(p.name for p in folder.iterdir() if p.name.startswith('report')) == ['report.html'])
    check('others may not write it', stat.S_IMODE(out.stat().st_mode) & 0o022 == 0)
    for wrong in folder, '/dev/null':
        done = run('report', path, '--html', wrong, env=environment)
        check(f'{wrong} is not replaced', done.returncode == 2 and done.stderr.count('\n') == 1, done)
    done = run('report', path, '--html', path, env=environment)
    check('the report does not replace the recording', done.returncode == 2 and 'itself' in done.stderr, done)


def usage(path):
    for wrong in ['web', '--listen', '0.0.0.0:0'], ['web', '--listen', '192.0.2.1:80'], ['web', '/nonexistent.memscope'], ['web', 'a', 'b'], \
            ['report', '--html', 'x.html'], ['report', str(path), '--with-commands'], ['report', str(path), '--html', 'x', '--json']:
        done = run(*wrong)
        check(f'{" ".join(wrong)}: status 2 and one line', done.returncode == 2 and done.stderr.count('\n') == 1 and not done.stdout, done)
    done = run('web', path, env={**os.environ, 'MEMSCOPE_PAGE_DIR': '/nonexistent'})
    check('without the files of the page: status 2 and one line', done.returncode == 2 and done.stderr.count('\n') == 1, done)


def own_page(path):
    """The page that the build has put into the program."""
    environment = {name: value for name, value in os.environ.items() if name != 'MEMSCOPE_PAGE_DIR'}
    with process([MEMSCOPE, 'web', '--no-browser', str(path)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                 text=True, env=environment) as child:
        page = Web(child)
        page.sign_in(page.token)
        check('the program contains its page', '<script type="module" src="/page.js"></script>' in page.get('/')[2], page.get('/'))
        check('the program contains the licences of the page', len(page.get('/licences.txt')[2]) > 100)
        connection = http.client.HTTPConnection(page.host, timeout=20)
        connection.request('GET', '/page.js', headers={'Cookie': page.cookie, 'Accept-Encoding': 'gzip, br'})
        answer = connection.getresponse()
        check('compressed for browsers', answer.getheader('Content-Encoding') == 'gzip' and answer.read(2) == b'\x1f\x8b')


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        page_dir = folder / 'page'
        page_dir.mkdir()
        for file, text in PAGE.items():
            (page_dir / file).write_text(text)
        path = record_death(folder)
        usage(path)
        of_recording(folder, page_dir, path)
        report(folder, page_dir, path)
        for sudo in False, True:
            alive(folder, page_dir, sudo)
        own_page(path)


run_as_root(check, main, MEMSCOPE, 170)
