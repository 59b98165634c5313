#!/usr/bin/env python3
"""Checks every alert rule: it has the required texts, a runbook section, a test in which it fires and one in which it does not.

Reads files and runs promtool; no root, no Prometheus, no memscope. With --mutate it also breaks each rule in two ways, so that
it never fires and so that it always fires, and checks that the tests of the rule then fail. This takes a minute.
"""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../support'))
import dashboards as files  # noqa: E402
from harness import Checks  # noqa: E402

SEVERITIES = ('critical', 'warning')
NUMBER = re.compile(r'\|\s*(humanize\w*|printf)')
# The person on call reads these three annotations, in this order.
PARTS = ('**It means:**', '**Look at**', '**Do**')
QUIET = files.PROMETHEUS / 'tests' / 'quiet.test.yml'
# The alert of each of the eight precursors: a precursor without an alert reaches no user.
PRECURSORS = ('eta', 'near_limit', 'pressure', 'reclaim', 'refault', 'high_throttled', 'shm_full', 'host_low')


def promtool(*arguments):
    run = subprocess.run(['promtool', *map(str, arguments)], capture_output=True, text=True, timeout=60)
    return run.returncode == 0, (run.stdout + run.stderr).strip()[-600:]


def tests_of(path):
    """The file with the tests of a rule file."""
    return path.parent / 'tests' / f'{path.name.split(".")[1]}.test.yml'


def title(rule):
    return ' '.join(filter(None, (rule['alert'], rule['labels'].get('reason'))))


def sections(markdown):
    """{anchor: text} of the headings of the second level."""
    parts = re.split(r'^## +(.+?) *$', markdown, flags=re.M)
    return {name.lower(): text for name, text in zip(parts[1::2], parts[2::2])}


def faults(rule, runbook):
    """The faults of the texts of a rule."""
    notes = rule.get('annotations', {})
    if rule.get('labels', {}).get('severity') not in SEVERITIES:
        yield f'severity is none of {SEVERITIES}'
    for key in ('summary', 'description', 'runbook'):
        if not notes.get(key, '').strip():
            yield f'no {key}'
    said = notes.get('description', '') + notes.get('summary', '')
    if not NUMBER.search(said) and rule['labels'].get('reason') not in ('unreachable', 'absent'):
        yield 'no number in what it says'
    if '$labels.instance' not in said:
        yield 'does not name the machine'
    anchor = notes.get('runbook', '').removeprefix('docs/alerts.md#')
    if anchor != rule['alert'].lower() or anchor not in runbook:
        yield f'no section {anchor} in docs/alerts.md'
    else:
        yield from (f'{part} is missing in its runbook section' for part in PARTS if part not in runbook[anchor])


def seen(path):
    """(titles of alerts that fire in a test, names of alerts that do not fire in a test)."""
    firing, silent = set(), set()
    for test in files.rule_tests(path)['tests']:
        for ask in test.get('alert_rule_test', []):
            if not ask.get('exp_alerts'):
                silent.add(ask['alertname'])
            for alert in ask.get('exp_alerts', []):
                firing.add(' '.join(filter(None, (ask['alertname'], alert['exp_labels'].get('reason') if ask['alertname'] == 'MemscopeWatcherDown' else None))))
    return firing, silent


def check_rules(check):
    text = files.RUNBOOK.read_text()
    runbook = {'': text.partition('\n## ')[0], **sections(text)}
    quiet = files.rule_tests(QUIET)
    quiet_metrics = {s['series'].partition('{')[0] for s in quiet['tests'][0]['input_series']}
    check('the quiet jobs are judged by every rule file', sorted(quiet['rule_files']) == [f'../{p.name}' for p in files.ALERTS], quiet['rule_files'])
    every = []
    for path in files.ALERTS:
        ok, said = promtool('check', 'rules', path)
        check(f'{path.name}: promtool check rules', ok, said)
        firing, silent = seen(tests_of(path))
        for rule in files.rules(path):
            every.append(rule)
            wrong = list(faults(rule, runbook))
            check(f'{title(rule)}: says what it must', not wrong, '; '.join(wrong))
            check(f'{title(rule)}: a test sees it fire, and one sees it silent', title(rule) in firing and rule['alert'] in silent, (sorted(firing), sorted(silent)))
            used = files.metric_names(rule['expr'])
            check(f'{title(rule)}: silent on warm-up, spikes and a flat line', used <= quiet_metrics, sorted(used - quiet_metrics))
            used = files.metric_names(str(rule))
            check(f'{title(rule)}: its metrics are in docs/metrics.md', used <= files.known_metrics(), sorted(used - files.known_metrics()))
            row = f'| [{rule["alert"]}](#{rule["alert"].lower()}) | {rule["labels"]["severity"]} |'
            check(f'{title(rule)}: is in the table of docs/alerts.md', row in runbook[''], row)
    expressions = ' '.join(rule['expr'] for rule in every)
    for word in PRECURSORS:
        check(f'the precursor {word} has an alert', f'precursor="{word}"' in expressions)
    lost = [a for a in runbook if a.startswith('memscope') and a not in {rule['alert'].lower() for rule in every}]
    check('every section of the runbook has an alert', not lost, lost)


def check_recording(check):
    ok, said = promtool('check', 'rules', files.RECORDING)
    check(f'{files.RECORDING.name}: promtool check rules', ok, said)
    asked = ' '.join(ask['expr'] for test in files.rule_tests(tests_of_recording())['tests'] for ask in test['promql_expr_test'])
    for rule in files.rules(files.RECORDING):
        check(f'{rule["record"]}: has a test', rule['record'] in asked)
        used = files.metric_names(rule['expr'])
        check(f'{rule["record"]}: its metrics are in docs/metrics.md', used and used <= files.known_metrics(), sorted(used - files.known_metrics()))
    again = [rule['record'] for rule in files.rules(files.RECORDING)]
    check('no name is recorded twice', len(set(again)) == len(again), again)


def tests_of_recording():
    return files.PROMETHEUS / 'tests' / 'recording.test.yml'


def check_tests(check):
    for path in files.RULE_TESTS:
        ok, said = promtool('test', 'rules', path)
        check(f'promtool test rules {path.name}', ok, said)


def check_examples(check):
    """The configurations that users copy. Debian's Prometheus is built without Kubernetes discovery, so that part is removed."""
    for path in sorted(files.PROMETHEUS.glob('*prometheus.example.yml')) + sorted(files.PROMETHEUS.glob('fleet-*.example.yml')):
        content = yaml.safe_load(path.read_text())
        for job in content['scrape_configs']:
            for discovery in job.pop('kubernetes_sd_configs', []):
                known = discovery['role'] == 'pod' and discovery.keys() <= {'role', 'namespaces'}
                check(f'{path.name}: {job["job_name"]} looks for pods', known, discovery)
        content['rule_files'] = [str(files.PROMETHEUS / name) for name in content.get('rule_files', [])]
        with tempfile.NamedTemporaryFile('w', suffix='.yml') as copy:
            yaml.safe_dump(content, copy)
            copy.flush()
            ok, said = promtool('check', 'config', copy.name)
        check(f'{path.name}: promtool check config', ok, said)
    names = yaml.safe_load((files.PROMETHEUS / 'relabel.example.yml').read_text())['metric_relabel_configs']
    site = yaml.safe_load((files.PROMETHEUS / 'fleet-site.example.yml').read_text())
    check('a site gives targets the names that are tested', all(job['metric_relabel_configs'] == names for job in site['scrape_configs']))
    kept = re.compile(site['remote_write'][0]['write_relabel_configs'][0]['regex'])
    asked = {m for d in files.dashboards().values() if d['uid'] == 'memscope-fleet' for e in files.expressions(d)
             for m in re.findall(r'(?<![\w:])(?:\w+:)?memscope_[a-z0-9_:]+|\bALERTS\b|\bup(?={)', e)}
    lost = sorted(m for m in asked if not kept.fullmatch(m))
    check('the metrics that a site sends on include all of the fleet dashboard', asked and not lost, lost)


def broken(path, number, expression, tests):
    """Whether the tests pass although the rule of that number has that expression."""
    content = yaml.safe_load(path.read_text())
    [rule for group in content['groups'] for rule in group['rules']][number].update(expression)
    with tempfile.TemporaryDirectory() as folder:
        for other in files.PROMETHEUS.glob('memscope.*.yml'):
            (Path(folder) / other.name).write_text(other.read_text())
        (Path(folder) / path.name).write_text(yaml.safe_dump(content))
        (Path(folder) / 'tests').mkdir()
        copies = []
        for test in tests:
            copies.append(Path(folder) / 'tests' / test.name)
            copies[-1].write_text(test.read_text())
        return promtool('test', 'rules', *copies)[0]


def check_mutations(check):
    for path in files.ALERTS:
        for number, rule in enumerate(files.rules(path)):
            never = {'expr': f'({rule["expr"]}) and on () vector(1) == 2'}
            check(f'{title(rule)}: its tests notice when it never fires', not broken(path, number, never, [tests_of(path)]))
            always = {'expr': 'vector(1)', 'for': '0s'}
            check(f'{title(rule)}: the quiet jobs notice when it always fires', not broken(path, number, always, [QUIET]))
    for number, rule in enumerate(files.rules(files.RECORDING)):
        check(f'{rule["record"]}: its test notices another value', not broken(files.RECORDING, number, {'expr': f'({rule["expr"]}) + 1'}, [tests_of_recording()]))


def main():
    check = Checks()
    check_rules(check)
    check_recording(check)
    check_tests(check)
    check_examples(check)
    if '--mutate' in sys.argv[1:]:
        check_mutations(check)
    return check.finish()


if __name__ == '__main__':
    sys.exit(main())
