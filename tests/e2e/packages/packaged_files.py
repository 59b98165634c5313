#!/usr/bin/env python3
"""The packaged files agree with the program: manual, completions, config file, systemd units.

Needs bash, zsh, fish, man and systemd-analyze, no root. MEMSCOPE names the binary."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../support'))
from harness import Checks, exit_on_signals  # noqa: E402

SOURCE = pathlib.Path(__file__).resolve().parents[3]
MEMSCOPE = os.environ.get('MEMSCOPE', str(SOURCE / 'build' / 'memscope'))
FILES = SOURCE / 'packaging'
EXPOSURE = 2.7  # the highest allowed exposure by `systemd-analyze security`, of 10

check = Checks()


def run(*argv, **kw):
    return subprocess.run(argv, capture_output=True, text=True, timeout=60, **kw)


COMMANDS = ['status', 'growth', 'heap', 'verdict', 'report', 'recordings', 'export', 'replay', 'compare', 'web', 'doctor', 'demo']


def help_words():
    """Long options, commands and demos of --help."""
    text = run(MEMSCOPE, '--help').stdout
    options = set(re.findall(r'--[a-z][a-z-]+', text))
    commands = set(re.findall(r'^  memscope ([a-z]+)', text, re.M))
    demos = set(''.join(re.search(r'demo \[([a-z|\s]+)\]', text)[1].split()).split('|'))
    return options, commands, demos


def manual(options, commands, demos):
    source = (FILES / 'files' / 'memscope.1').read_text().replace('\\-', '-')
    check('the manual has the options of --help, and no other', set(re.findall(r'--[a-z][a-z-]+', source)) == options, set(re.findall(r'--[a-z][a-z-]+', source)) ^ options)
    check('the manual has all commands', all(f'.B {c}\n' in source for c in commands), commands)
    check('the manual has all demos', all(d in source for d in demos), demos)
    page = run('man', '--warnings', '-l', str(FILES / 'files' / 'memscope.1'), env={**os.environ, 'MANWIDTH': '100', 'LC_ALL': 'C.UTF-8'})
    check('man shows it without a warning', page.returncode == 0 and not page.stderr and 'EXIT STATUS' in page.stdout, page.stderr)


BASH = '''
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); compopt() { :; }
_memscope; printf '%s\\n' "${COMPREPLY[@]}"
'''


def bash(*words):
    return set(run('bash', '-c', BASH, 'bash', str(FILES / 'completions' / 'memscope.bash'), 'memscope', *words).stdout.split())


def fish(line):
    done = run('fish', '--no-config', '-c', f'source {FILES}/completions/memscope.fish; complete -C "{line}"')
    return {word.split('\t')[0] for word in done.stdout.splitlines()}


def completions(options, commands, demos):
    watching = options - {'--target', '--since', '--at', '--stacks', '--top', '--format', '--limit', '--again', '--type',
                          '--from', '--to', '--speed', '--output', '--remove', '--html', '--with-commands', '--no-browser',
                          '--time', '--value', '--unit', '--gpu', '--scenario-seconds'}
    check('bash offers commands and options', bash('') == commands | watching, bash('') ^ (commands | watching))
    check('bash: of status', bash('status', '--') == {'--target', '--json', '--help'}, bash('status', '--'))
    check('bash: of growth', bash('growth', '--') == {'--target', '--since', '--at', '--stacks', '--top', '--format', '--help'}, bash('growth', '--'))
    check('bash: of heap', bash('heap', '--') == {'--target', '--pid', '--again', '--type', '--top', '--format', '--help'}, bash('heap', '--'))
    check('bash: formats', bash('growth', '--format', '') == {'text', 'json', 'folded', 'pprof'}, bash('growth', '--format', ''))
    check('bash: of verdict', bash('verdict', '--') == {'--time', '--value', '--unit', '--gpu', '--interval', '--limit', '--warmup', '--json', '--fail-on', '--help'}, bash('verdict', '--'))
    check('bash: formats of export', bash('export', '--format', '') == {'csv', 'json', 'openmetrics', 'perfetto', 'recording'}, bash('export', '--format', ''))
    check('bash: of report', bash('report', '--') == {'--json', '--report-dir', '--target', '--record', '--html', '--with-commands', '--help'}, bash('report', '--'))
    check('bash: of replay', bash('replay', '--') == {'--from', '--speed', '--target', '--record', '--help'}, bash('replay', '--'))
    check('bash: of web', bash('web', '--') == {'--target', '--listen', '--no-browser', '--record', '--help'}, bash('web', '--'))
    check('bash: verdicts', 'leaking' in bash('verdict', '--fail-on', ''), bash('verdict', '--fail-on', ''))
    check('bash: demos', bash('demo', '') == demos | {'--scenario-seconds', '--help'}, bash('demo', ''))
    check('bash: nothing of ours behind --', bash('--', 'python', '--') == set(), bash('--', 'python', '--'))
    check('bash: users', 'root' in bash('--user', 'ro'), bash('--user', 'ro'))
    check('fish offers the options', fish('memscope --') == watching, fish('memscope --') ^ watching)
    check('fish offers the commands', fish('memscope ') == commands, fish('memscope ') ^ commands)
    check('fish: demos', fish('memscope demo ') == demos, fish('memscope demo '))
    check('fish: of status', {'--target', '--json'} <= fish('memscope status --') and '--pid' not in fish('memscope status --'), fish('memscope status --'))
    check('fish: of growth', {'--target', '--since', '--at', '--stacks', '--top', '--format'} <= fish('memscope growth --') and '--json' not in fish('memscope growth --'), fish('memscope growth --'))
    check('fish: of heap', {'--pid', '--again', '--top', '--format'} <= fish('memscope heap --') and '--json' not in fish('memscope heap --'), fish('memscope heap --'))
    check('fish: of verdict', {'--time', '--value', '--unit', '--gpu', '--interval', '--limit', '--warmup', '--fail-on', '--json'} <= fish('memscope verdict --'), fish('memscope verdict --'))
    check('fish: of report', {'--json', '--report-dir'} <= fish('memscope report --') and '--pid' not in fish('memscope report --'), fish('memscope report --'))
    check('fish: of web', {'--target', '--listen', '--no-browser', '--record'} <= fish('memscope web --') and '--pid' not in fish('memscope web --'), fish('memscope web --'))
    zsh = (FILES / 'completions' / '_memscope').read_text()
    check('zsh can read its file', run('zsh', '-n', str(FILES / 'completions' / '_memscope')).returncode == 0)
    check('zsh offers the same', set(re.findall(r'--[a-z][a-z-]+(?=\[)', zsh)) == options, set(re.findall(r'--[a-z][a-z-]+(?=\[)', zsh)) ^ options)
    check('zsh: commands and demos', f'({" ".join(COMMANDS)})' in zsh and all(d in zsh for d in demos) and commands == set(COMMANDS), commands)


def config():
    example = FILES / 'files' / 'memscope.toml'
    # The file names cgroups that do not exist here. Without root memscope fails after it has read the file.
    said = run('setpriv', '--reuid=65534', '--clear-groups', '--bounding-set=-all', '--inh-caps=-all', MEMSCOPE, '--config', str(example)) if os.geteuid() == 0 else run(MEMSCOPE, '--config', str(example))
    check('the example of a config file is accepted', said.returncode == 2 and 'CAP_BPF' in said.stderr, said)
    with tempfile.NamedTemporaryFile('w', suffix='.toml') as wrong:
        wrong.write(example.read_text() + 'no-such-key = 1\n')
        wrong.flush()
        said = run(MEMSCOPE, '--config', wrong.name)
        check('a configuration with an unknown key is refused', said.returncode == 2 and 'no-such-key' in said.stderr, said)


def checksums():
    """The files with which a user checks a download."""
    script = str(FILES / 'checksums.sh')
    with tempfile.TemporaryDirectory() as folder:
        packages, keys = pathlib.Path(folder) / 'packages', pathlib.Path(folder) / 'keys'
        packages.mkdir(), keys.mkdir(mode=0o700)
        for name in ('memscope-1-linux-amd64.tar.gz', 'memscope_1_amd64.deb', 'memscope-1-1.x86_64.rpm'):
            (packages / name).write_text(name)
        bare = {key: value for key, value in os.environ.items() if key != 'MEMSCOPE_SIGNING_KEY'} | {'GNUPGHOME': str(keys)}
        verify = lambda: run('sha256sum', '--check', '--strict', 'SHA256SUMS', cwd=packages)
        check('checksums are written', run('sh', script, str(packages), env=bare).returncode == 0 and verify().returncode == 0 and len(verify().stdout.splitlines()) == 3)
        check('no signature is written without a key', not (packages / 'SHA256SUMS.asc').exists())
        said = run('sh', script, str(packages), env=bare | {'MEMSCOPE_SIGNING_KEY': 'nobody@example.invalid'})
        check('a key that does not exist is an error', said.returncode != 0 and not (packages / 'SHA256SUMS.asc').exists(), said)
        made = run('gpg', '--batch', '--passphrase', '', '--quick-generate-key', 'packager@example.invalid', 'ed25519', 'sign', '1d', env=bare)
        signed = run('sh', script, str(packages), env=bare | {'MEMSCOPE_SIGNING_KEY': 'packager@example.invalid'})
        verified = run('gpg', '--verify', str(packages / 'SHA256SUMS.asc'), str(packages / 'SHA256SUMS'), env=bare)
        check('with a key the checksums are signed', signed.returncode == 0 and verified.returncode == 0, (made.stderr, signed.stderr, verified.stderr))
        (packages / 'memscope_1_amd64.deb').write_text('changed')
        check('a changed package is found', verify().returncode != 0, verify())
        run('gpgconf', '--kill', 'all', env=bare)


def units():
    service = FILES / 'systemd' / 'memscope.service'
    with tempfile.TemporaryDirectory() as root:
        # systemd checks that the program exists under its installed name.
        for unit in service, service.with_suffix('.slice'):
            (pathlib.Path(root) / unit.name).write_text(unit.read_text().replace('/usr/bin/memscope', MEMSCOPE))
        said = run('systemd-analyze', 'verify', '--man=no', '--recursive-errors=no', f'{root}/memscope.service', f'{root}/memscope.slice')
        ours = [line for line in (said.stdout + said.stderr).splitlines() if 'memscope' in line]
        check('systemd-analyze verify has nothing to say', said.returncode == 0 and not ours, said)
    said = run('systemd-analyze', 'security', '--offline=true', '--no-pager', str(service))
    level = re.search(r'Overall exposure level for memscope.service: ([0-9.]+)', said.stdout)
    check(f'systemd-analyze security: at most {EXPOSURE}', level and float(level[1]) <= EXPOSURE, said.stdout[-200:])
    text = service.read_text()
    listed = {key: set(re.search(rf'^{key}=(.*)$', text, re.M)[1].split()) for key in ('AmbientCapabilities', 'CapabilityBoundingSet')}
    doctor = set(re.findall(r'(?:ok|--) +(CAP_\w+)', run(MEMSCOPE, 'doctor').stdout))
    check('the service has the capabilities that doctor knows, and no other', listed['AmbientCapabilities'] == listed['CapabilityBoundingSet'] == doctor, (listed, doctor))
    page = (SOURCE / 'docs' / 'least-privilege.md').read_text()
    check('the documentation lists the capabilities that doctor reports', set(re.findall(r'^\| `(CAP_\w+)`', page, re.M)) == doctor, doctor)


def main():
    exit_on_signals()
    words = help_words()
    manual(*words)
    completions(*words)
    config()
    checksums()
    units()
    return check.finish()


if __name__ == '__main__':
    sys.exit(main())
