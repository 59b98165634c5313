"""A real Prometheus, a real Alertmanager and a webhook that receives their messages, on loopback, ended with the test."""
import contextlib
import http.server
import json
import subprocess
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

from harness import GaveUp, finite, free_port, process, tail, wait_for


class Prometheus:
    """The HTTP API of a Prometheus on loopback."""

    def __init__(self, port):
        self.base = f'http://127.0.0.1:{port}'

    def get(self, path, **parameters):
        url = f'{self.base}{path}?{urllib.parse.urlencode(parameters)}'
        try:
            with urllib.request.urlopen(url, timeout=5) as reply:
                return json.load(reply)['data']
        except urllib.error.HTTPError as e:  # a refused query: the reason is in the body
            if e.code == 503:
                raise  # still starting; an OSError, so wait_for tries again
            raise ValueError(e.read().decode(errors='replace')[:300]) from e

    def query(self, expression):
        return self.get('/api/v1/query', query=expression)['result']

    def drawn(self, expression, start, end, step=1):
        """The number of points that a panel over this time could draw."""
        found = self.get('/api/v1/query_range', query=expression, start=start, end=end, step=step)['result']
        return sum(len(finite([{'value': v}])) for series in found for v in series['values'])

    def series(self, selector):
        return self.get('/api/v1/series', **{'match[]': selector})

    def rules(self):
        return [r for g in self.get('/api/v1/rules')['groups'] for r in g['rules']]

    def firing(self):
        return [a for a in self.get('/api/v1/alerts')['alerts'] if a['state'] == 'firing']


def raised_by(api, target):
    """Names of the alerts that fired about a target at any time, without alerts about the host, which may well run out of
    memory while tests run."""
    fired = api.query(f'count by (alertname) (count_over_time(ALERTS{{target="{target}",alertstate="firing"}}[10m]))')
    return sorted(f['metric']['alertname'] for f in fired)


def serve(stack, folder, program, *options):
    """Starts a program of the folder, with its log in the folder."""
    log = stack.enter_context(open(f'{folder}/{program}.log', 'w'))
    return stack.enter_context(process([program, *options], stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder))


def start_prometheus(stack, folder, scraped, rules=(), alertmanager=None, relabel=None):
    """Its API, once it scrapes those ports of loopback, each second, whether they answer or not; relabel: metric_relabel_configs."""
    port, config = free_port(), f'{folder}/prometheus.yml'
    job = {'job_name': 'memscope', 'static_configs': [{'targets': [f'127.0.0.1:{p}' for p in scraped]}]}
    if relabel:
        job['metric_relabel_configs'] = relabel
    settings = {'global': {'scrape_interval': '1s', 'scrape_timeout': '1s', 'evaluation_interval': '1s'},
                'rule_files': [str(r) for r in rules], 'scrape_configs': [job]}
    if alertmanager:
        settings['alerting'] = {'alertmanagers': [{'static_configs': [{'targets': [f'127.0.0.1:{alertmanager}']}]}]}
    with open(config, 'w') as f:
        json.dump(settings, f)  # JSON is YAML
    server = serve(stack, folder, 'prometheus', f'--config.file={config}', f'--storage.tsdb.path={folder}/data',
                   f'--web.listen-address=127.0.0.1:{port}', '--log.level=warn')
    api = Prometheus(port)
    if not wait_for(lambda: server.poll() is not None or len(api.query('up')) == len(scraped), 20, 0.2) or server.poll() is not None:
        raise GaveUp(f'no Prometheus: {tail(f"{folder}/prometheus.log")}')
    return api


def start_alertmanager(stack, folder, config):
    """The port of Alertmanager, after it has started to answer."""
    port = free_port()
    with open(f'{folder}/alertmanager.yml', 'w') as f:
        f.write(config)
    server = serve(stack, folder, 'prometheus-alertmanager', f'--config.file={folder}/alertmanager.yml', f'--storage.path={folder}/alerts',
                   f'--web.listen-address=127.0.0.1:{port}', '--cluster.listen-address=', '--log.level=warn')

    def ready():
        with urllib.request.urlopen(f'http://127.0.0.1:{port}/-/ready', timeout=2) as reply:
            return reply.status == 200
    if not wait_for(lambda: server.poll() is not None or ready(), 15, 0.2) or server.poll() is not None:
        raise GaveUp(f'no Alertmanager: {tail(f"{folder}/prometheus-alertmanager.log")}')
    return port


class Webhook:
    """Takes Alertmanager's messages: (time, path, alert) of each alert in them, in `received`."""

    def __init__(self):
        self.received = []
        hook = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                message = json.loads(self.rfile.read(int(self.headers['Content-Length'])))
                hook.received += [(time.time(), self.path, alert) for alert in message['alerts'] if alert['status'] == 'firing']
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_):
                pass
        self.server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        self.port = self.server.server_port

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        with contextlib.suppress(OSError):
            self.server.server_close()

    def of(self, target, name=None):
        """The first arrival of each alert about this target: [(time, name, alert)]."""
        first = {}
        for when, _, alert in self.received:
            labels = alert['labels']
            if labels.get('target') == target and (name is None or labels['alertname'] == name):
                first.setdefault(labels['alertname'], (when, labels['alertname'], alert))
        return sorted(first.values(), key=lambda found: found[0])
