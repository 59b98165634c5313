"""Reads dashboards/ and docs/: panels, variables, queries, alerts, metric names."""
import json
import os
import re
from pathlib import Path

import yaml

SOURCE = Path(os.environ.get('MEMSCOPE_SOURCE_DIR', Path(__file__).resolve().parents[3]))
GRAFANA = SOURCE / 'dashboards' / 'grafana'
PROMETHEUS = SOURCE / 'dashboards' / 'prometheus'
ALERTS = sorted(PROMETHEUS.glob('memscope.*.rules.yml'))
RECORDING = PROMETHEUS / 'memscope.recording.yml'
RULE_TESTS = sorted(PROMETHEUS.glob('tests/*.test.yml'))
RUNBOOK = SOURCE / 'docs' / 'alerts.md'
METRICS = SOURCE / 'docs' / 'metrics.md'


def dashboards():
    """{file name: dashboard}, at least one."""
    found = {p.name: json.loads(p.read_text()) for p in sorted(GRAFANA.glob('memscope-*.json'))}
    if not found:
        raise FileNotFoundError(f'no dashboards in {GRAFANA}')
    return found


def panels(dashboard):
    """Every panel, those inside collapsed rows included; rows themselves too."""
    for panel in dashboard['panels']:
        yield panel
        yield from panel.get('panels', [])


def is_row(panel):
    return panel['type'] == 'row'


def variables(dashboard):
    """(name, query) of the variables that ask Prometheus, in order."""
    for v in dashboard['templating']['list']:
        if v['type'] == 'query':
            yield v['name'], v['query']['query']


def queries(dashboard):
    """(title, refId, expression) of everything that asks Prometheus for data to draw."""
    for panel in panels(dashboard):
        for t in panel.get('targets', []):
            yield panel['title'], t['refId'], t['expr']


def annotation_queries(dashboard):
    for a in dashboard.get('annotations', {}).get('list', []):
        if 'expr' in a.get('target', {}):
            yield a['name'], a['target']['expr']


def expressions(dashboard):
    yield from (e for _, _, e in queries(dashboard))
    yield from (e for _, e in annotation_queries(dashboard))
    yield from (q for _, q in variables(dashboard))


def substitute(text, values):
    """Fills in $name, ${name} and ${name:format} the way Grafana does. An unknown variable is an error."""
    def value(match):
        name = match.group(1) or match.group(2)
        if name not in values:
            raise KeyError(f'unknown variable ${name} in {text}')
        return values[name]
    return re.sub(r'\$(?:(\w+)|\{(\w+)(?::\w+)?\})', value, text)


def label_values(query):
    """(selector, label) of a label_values() variable query."""
    match = re.fullmatch(r'label_values\(\s*(.+?)\s*,\s*(\w+)\s*\)', query)
    if not match:
        raise ValueError(f'not a label_values(selector, label) query: {query}')
    return match.groups()


def metric_names(text):
    """Metrics that the program serves, without the series of recording rules, which have a colon in their names."""
    return set(re.findall(r'(?<![\w:-])(?:memscope|process)_[a-z0-9_]*[a-z0-9]\b(?!:)', text))


def known_metrics():
    return metric_names(METRICS.read_text())


def emphasized(markdown):
    """The texts between single asterisks, without code: the runbook writes panel titles that way."""
    return re.findall(r'(?<!\*)\*([^*\n]+)\*(?!\*)', re.sub(r'`[^`]*`', '', markdown))


def rules(path):
    """Every rule of a file, as Prometheus reads it."""
    return [rule for group in yaml.safe_load(path.read_text())['groups'] for rule in group['rules']]


def rule_tests(path):
    return yaml.safe_load(path.read_text())


def anchors(markdown):
    """Anchors of the headings, as code hosts make them."""
    headings = re.findall(r'^#+\s+(.+?)\s*$', markdown, re.M)
    return {re.sub(r'[^\w\- ]', '', h.lower()).replace(' ', '-') for h in headings}
