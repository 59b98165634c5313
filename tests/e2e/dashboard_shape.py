#!/usr/bin/env python3
"""The shape of dashboards and alert rules, read from the files alone: no root, no Prometheus, no memscope."""
import itertools
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'support'))
import dashboards as files  # noqa: E402
from harness import Checks  # noqa: E402

DATASOURCE = {'type': 'prometheus', 'uid': '${datasource}'}
COLUMNS = 24
# Metrics of the watcher itself: the only ones a panel may ask for without naming the job.
OWN = re.compile(r'memscope_(build_info|last_tick_|tick_|self_|events_dropped_|probe_|gpu_)')


def overlap(a, b):
    return a['x'] < b['x'] + b['w'] and b['x'] < a['x'] + a['w'] and a['y'] < b['y'] + b['h'] and b['y'] < a['y'] + a['h']


def selectors(expression):
    """(metric, its braces or nothing) for each metric of an expression."""
    return re.findall(r'\b(memscope_[a-z0-9_]+)(\{[^}]*\})?', expression)


def panel_faults(panel):
    """What is wrong with one panel, in words."""
    if not panel.get('title', '').strip():
        yield 'no title'
    if files.is_row(panel):
        return
    if len(panel.get('description', '')) < 20:
        yield 'no description that helps'
    if not panel.get('fieldConfig', {}).get('defaults', {}).get('unit'):
        yield 'no unit'
    if panel.get('datasource') != DATASOURCE:
        yield 'its data source is not the variable'
    if not panel.get('targets'):
        yield 'no query'
    refs = [t['refId'] for t in panel.get('targets', [])]
    if len(set(refs)) != len(refs):
        yield f'a refId twice: {refs}'
    for target in panel.get('targets', []):
        if not target.get('legendFormat', '').strip():
            yield f'{target["refId"]}: no legend'
        for metric, braces in selectors(target['expr']):
            if 'instance="$instance"' not in braces:
                yield f'{metric} is not limited to $instance'
            if not OWN.match(metric) and 'target="$target"' not in braces:
                yield f'{metric} is not limited to $target'
    known = set(refs)
    for override in panel.get('fieldConfig', {}).get('overrides', []):
        if override['matcher']['id'] == 'byFrameRefID' and override['matcher']['options'] not in known:
            yield f'an override for {override["matcher"]["options"]}, which is no query'


def dashboard_faults(dashboard):
    if dashboard.get('id') is not None:
        yield 'has the id of one Grafana: must be null'
    if not re.fullmatch(r'memscope-[a-z-]+', dashboard.get('uid', '')):
        yield f'uid {dashboard.get("uid")!r} is not memscope-…'
    if dashboard.get('schemaVersion', 0) < 36:
        yield 'old schemaVersion'
    names = [v['name'] for v in dashboard['templating']['list']]
    if names[:3] != ['datasource', 'instance', 'target']:
        yield f'variables are {names}'
    for v in dashboard['templating']['list']:
        if v.get('current'):
            yield f'${v["name"]} remembers a value of one Grafana'
    ids = [p['id'] for p in files.panels(dashboard)]
    if len(set(ids)) != len(ids):
        yield 'a panel id twice'
    placed = dashboard['panels']
    for p in placed:
        if p['gridPos']['x'] + p['gridPos']['w'] > COLUMNS:
            yield f'"{p["title"]}" is wider than the page'
    for a, b in itertools.combinations(placed, 2):
        if overlap(a['gridPos'], b['gridPos']):
            yield f'"{a["title"]}" and "{b["title"]}" overlap'


def check_dashboards(check, found):
    for name, dashboard in found.items():
        faults = list(dashboard_faults(dashboard))
        check(f'{name}: well formed', not faults, '; '.join(faults))
        for panel in files.panels(dashboard):
            faults = list(panel_faults(panel))
            check(f'{name}: "{panel.get("title")}"', not faults, '; '.join(faults))
    uids = [d.get('uid') for d in found.values()]
    check('every dashboard has its own uid', len(set(uids)) == len(uids), uids)


def check_alerts(check, rules):
    headings = files.anchors(files.RUNBOOK.read_text()) if files.RUNBOOK.exists() else set()
    alerts = files.alerts(rules)
    for wanted in ('MemscopeNearLimit', 'MemscopeOomKill', 'MemscopeWatcherDown'):
        check(f'there is an alert {wanted}', any(name == wanted for name, _ in alerts))
    for name, text in alerts:
        label = name + ''.join(f' {r}' for r in re.findall(r'reason:\s*(\w+)', text))
        missing = [key for key in ('severity', 'summary', 'description', 'runbook') if not re.search(rf'^\s+{key}:\s*\S', text, re.M)]
        check(f'{label}: severity, summary, description, runbook', not missing, f'missing: {missing}')
        anchor = re.search(r'runbook:\s*docs/alerts\.md#(\S+)', text)
        check(f'{label}: its runbook section exists', anchor and anchor.group(1) in headings, f'{anchor and anchor.group(1)} not in {sorted(headings)}')
    tested = files.RULE_TESTS.read_text()
    untested = sorted({name for name, _ in alerts if not re.search(rf'alertname: {name}$', tested, re.M)})
    check('every alert has a test', not untested, untested)


def check_runbook(check, found):
    """The runbook sends people to panels: each has to be there. A title may be cut short with an ellipsis."""
    titles = [p['title'] for d in found.values() for p in files.panels(d)]
    named = files.emphasized(files.RUNBOOK.read_text()) if files.RUNBOOK.exists() else []
    lost = [n for n in named if not any(t == n or n.endswith('…') and t.startswith(n[:-1]) for t in titles)]
    check(f'{files.RUNBOOK.name}: the {len(named)} panels it names exist', named and not lost, lost or 'names none')


def check_metric_names(check, found, rules):
    """A renamed metric has to fail here, not to leave a panel empty in production."""
    if not check('docs/metrics.md is there', files.METRICS.exists(), files.METRICS):
        return
    known = files.metric_names(files.METRICS.read_text())
    users = {name: ' '.join(files.expressions(d)) for name, d in found.items()}
    users[files.RULES.name] = ' '.join(text for _, text in files.alerts(rules))
    users[files.RULE_TESTS.name] = ' '.join(re.findall(r'series:\s*(\S+)', files.RULE_TESTS.read_text()))
    for user, text in users.items():
        used = files.metric_names(text)
        check(f'{user}: its {len(used)} metrics are in docs/metrics.md', used and used <= known, sorted(used - known) or 'uses none')


def main():
    check = Checks()
    found, rules = files.dashboards(), files.RULES.read_text()
    check_dashboards(check, found)
    check_alerts(check, rules)
    check_runbook(check, found)
    check_metric_names(check, found, rules)
    return check.finish()


if __name__ == '__main__':
    sys.exit(main())
