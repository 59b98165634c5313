#!/usr/bin/env python3
"""The shape of dashboards, read from the files alone: no root, no Prometheus, no memscope."""
import itertools
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../support'))
import dashboards as files  # noqa: E402
from harness import Checks  # noqa: E402

DATASOURCE = {'type': 'prometheus', 'uid': '${datasource}'}
COLUMNS = 24
# Metrics of the watcher itself: a panel may query only these without naming the job.
OWN = re.compile(r'memscope_(build_info|actions_|last_tick_|tick_|self_|events_dropped_|probe_|gpu_(info|memory_|utilization_|xid_))|instance:')
# The selectors of a page: one job of one watcher, or all chosen jobs.
PICKS = {'memscope-job': ('instance="$instance"', 'target="$target"'), 'memscope-fleet': ('instance=~"$instance"', 'target=~"$target"')}
VARIABLES = {'memscope-job': ['datasource', 'instance', 'target', 'role', 'rank', 'gpu', 'docs'], 'memscope-fleet': ['datasource', 'instance', 'target', 'docs']}
# The panels that must be visible without scrolling, and how far down that is: a window of 1080 lines shows 20 units.
FIRST_SCREEN = {
    'memscope-job': ('Is it a leak?', 'When does it run out of memory?', 'How much memory does each role hold?', 'How close is unreclaimable memory to the limit?',
                     'Which precursors of an OOM kill are active?', 'Which processes died in the time shown?'),
    'memscope-fleet': ('How many jobs leak?', 'How many jobs reach a limit within 1 h?', 'Which jobs run out of memory first?'),
}
SCREEN = 20
# The fleet page uses recording rules. Of the raw metrics it may query only these.
FLEET_RAW = {'memscope_target_up', 'memscope_build_info', 'memscope_memory_headroom_bytes'}


def overlap(a, b):
    return a['x'] < b['x'] + b['w'] and b['x'] < a['x'] + a['w'] and a['y'] < b['y'] + b['h'] and b['y'] < a['y'] + a['h']


def selectors(expression):
    """(metric, its braces or nothing) for each metric of an expression."""
    return re.findall(r'(?<![\w:])((?:(?:target|instance):)?memscope_[a-z0-9_:]+)(\{[^}]*\})?', expression)


def panel_faults(panel, uid):
    """The faults of one panel, as texts."""
    title = panel.get('title', '').strip()
    if not title.endswith('?'):
        yield 'its title is no question'
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
    if panel['type'] == 'table' and not all(t['expr'].startswith('max without () (') for t in panel.get('targets', [])):
        yield 'names of metrics would keep its rows apart'
    refs = [t['refId'] for t in panel.get('targets', [])]
    if len(set(refs)) != len(refs):
        yield f'a refId twice: {refs}'
    for target in panel.get('targets', []):
        if not target.get('legendFormat', '').strip():
            yield f'{target["refId"]}: no legend'
        for metric, braces in selectors(target['expr']):
            host, job = PICKS[uid]
            if host not in braces:
                yield f'{metric} is not limited to $instance'
            if not OWN.match(metric) and job not in braces:
                yield f'{metric} is not limited to $target'
            if uid == 'memscope-fleet' and ':' not in metric and metric not in FLEET_RAW:
                yield f'{metric} is not what recording rules keep'
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
    if names != VARIABLES[dashboard['uid']]:
        yield f'variables are {names}'
    for v in dashboard['templating']['list']:
        if v.get('current'):
            yield f'${v["name"]} remembers a value of one Grafana'
    ids = [p['id'] for p in files.panels(dashboard)]
    if len(set(ids)) != len(ids):
        yield 'a panel id twice'
    yield from place_faults(dashboard['panels'])
    for row in dashboard['panels']:
        yield from place_faults(row.get('panels', []))
    yield from link_faults(dashboard)
    seen = {p['title'] for p in dashboard['panels'] if p['gridPos']['y'] + p['gridPos']['h'] <= SCREEN}
    for title in FIRST_SCREEN[dashboard['uid']]:
        if title not in seen:
            yield f'"{title}" is not on the first screen'


def link_faults(dashboard):
    """Each link into the documentation must name a page and a section that the site has."""
    linked = [re.fullmatch(r'\$\{docs\}/(\w+)\.html(?:#(.+))?', link['url']) for link in dashboard['links'] if link['type'] == 'link']
    if {link and link[1] for link in linked} != {'web', 'alerts'}:
        yield f'links to {linked} instead of web.html and alerts.html'
        return
    for page, section in (link.groups() for link in linked):
        text = (files.SOURCE / 'docs' / f'{page}.md').read_text()
        sections = {re.sub(r'[^\w-]+', '-', heading.lower()) for heading in re.findall(r'^#+ (.+)$', text, re.M)}
        if section and section not in sections:
            yield f'docs/{page}.md has no section {section}'


def place_faults(placed):
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
            faults = list(panel_faults(panel, dashboard['uid']))
            check(f'{name}: "{panel.get("title")}"', not faults, '; '.join(faults))
    check('there is one for a job and one for a fleet', sorted(d['uid'] for d in found.values()) == sorted(PICKS), list(found))


def check_recorded(check, found):
    """The fleet page queries only series that recording rules define."""
    recorded = {rule['record'] for rule in files.rules(files.RECORDING)}
    used = {m for d in found.values() for e in files.expressions(d) for m, _ in selectors(e) if ':' in m}
    check(f'its {len(used)} recorded metrics are recorded', used <= recorded, sorted(used - recorded))
    check('every recorded metric is used by a dashboard', recorded <= used, sorted(recorded - used))


def check_runbook(check, found):
    """Each panel that the runbook names must exist. The runbook may shorten a title with an ellipsis."""
    titles = [p['title'] for d in found.values() for p in files.panels(d)]
    named = files.emphasized(files.RUNBOOK.read_text()) if files.RUNBOOK.exists() else []
    lost = [n for n in named if not any(t == n or n.endswith('…') and t.startswith(n[:-1]) for t in titles)]
    check(f'{files.RUNBOOK.name}: the {len(named)} panels it names exist', named and not lost, lost or 'names none')


def check_metric_names(check, found):
    """A renamed metric must fail here, instead of leaving a panel empty in production."""
    for name, dashboard in found.items():
        used = files.metric_names(' '.join(files.expressions(dashboard)))
        check(f'{name}: its {len(used)} metrics are in docs/metrics.md', used and used <= files.known_metrics(), sorted(used - files.known_metrics()) or 'uses none')


def main():
    check = Checks()
    found = files.dashboards()
    check_dashboards(check, found)
    check_recorded(check, found)
    check_runbook(check, found)
    check_metric_names(check, found)
    return check.finish()


if __name__ == '__main__':
    sys.exit(main())
