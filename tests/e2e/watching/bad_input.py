#!/usr/bin/env python3
"""Wrong usage, and machines that lack something that is needed: memscope prints one line, exits with 2 and leaves nothing behind.

Such machines are simulated in private mount and PID namespaces. Needs root; takes 10 s.
MEMSCOPE names the binary (default: build/memscope below the source tree).
"""
import contextlib
import json
import os
import pathlib
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../support'))
from harness import Cgroup, Checks, GaveUp, free_port, memory_hierarchy, process, run_as_root, wait_for  # noqa: E402

SOURCE = pathlib.Path(__file__).resolve().parents[3]
MEMSCOPE = os.environ.get('MEMSCOPE', str(SOURCE / 'build' / 'memscope'))
NOBODY = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups']
PATIENCE = 10  # seconds for one command
RUN = '/run/memscope'

check = Checks()


def mounted(script, *argv):
    """The command line that runs argv in a private mount namespace, after `script` has changed the mounts."""
    return ['unshare', '-m', 'sh', '-c', f'{{ {script}; }} && exec "$@"', 'sh', *argv]


def call(argv, **popen):
    """(exit status, standard output, standard error, what it left behind), the status negative if a signal ended it."""
    popen = {'stdout': subprocess.PIPE, 'stderr': subprocess.PIPE, 'stdin': subprocess.DEVNULL, **popen}
    with process(argv, **popen) as child:
        try:
            out, err = child.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            return None, b'', b'still running', []
    left = [f'{RUN}/{child.pid}.sock', f'{memory_hierarchy()[0]}/memscope-demo-{child.pid}']
    return child.returncode, out or b'', err or b'', [path for path in left if os.path.lexists(path)]


def one_clean_line(err):
    """Exactly one line of valid UTF-8 without control characters."""
    try:
        text = err.decode()
    except UnicodeDecodeError:
        return False
    return text.endswith('\n') and text.startswith('memscope: ') and len(text) < 1000 and all(c.isprintable() for c in text[:-1])


def refused(name, argv, *words, status=2, **popen):
    """argv exits with `status`, and prints the reason in one line that contains all the words."""
    code, out, err, left = call(argv, **popen)
    missing = [word for word in words if word.encode() not in err]
    problem = (f'exit {code}, not {status}' if code != status else 'not one clean line' if not one_clean_line(err) else
               f'does not say {missing}' if missing else 'standard output is not empty' if out else
               f'left behind: {left}' if left else '')
    return check(name, not problem, f'{problem}: {err[:300]!r}')


def usage():
    m = MEMSCOPE
    refused('no arguments', [m], 'nothing to watch', '--cgroup')
    refused('an empty argument', [m, ''], 'memscope --help')
    refused('a near option', [m, '--intervall', '1s'], '--intervall', 'did you mean --interval?')
    refused('an option that is near none', [m, '--xyzzy'], '--xyzzy', 'memscope --help')
    refused('an option with control characters', [m, '--\x1b[31m\n\r'], 'unknown option')
    refused('a command without its dashes', [m, 'python3', '\x1b[31m.py'], 'python3', 'memscope -- python3')
    refused('a near command', [m, 'statsu'], 'did you mean status?')
    refused('an option without its value', [m, '--cgroup'], '--cgroup', 'needs a value')
    refused('an option as the value of another', [m, '--cgroup', '--json'], '--cgroup', '--json')
    refused('an option given twice', [m, '--cgroup', '/', '--interval', '1s', '--interval', '2s'], '--interval', 'once')
    refused('a flag with a strange value', [m, '--cgroup', '/', '--json=maybe'], '--json', 'maybe')
    refused('a word behind --cgroup NAME', [m, '--cgroup', 'a', 'b'], 'repeat --cgroup')
    refused('an option before its command', [m, '--json', 'status'], '--json')
    refused('a word too many', [m, 'doctor', 'now'], 'now', 'doctor')
    refused('a demo that does not exist', [m, 'demo', 'nosuch'], 'nosuch', 'leak')
    refused('a demo with control characters', [m, 'demo', 'a\nb\x1b[2J'], 'a\\nb\\x1b[2J')
    refused('--http-status without an address', [m, '--cgroup', '/', '--listen', 'none', '--http-status'], '--http-status')
    for option in '--interval', '--duration', '--linger':
        for value in '-1', 'abc', '1', '1d', '99999999999h', '', ' 1s', '1e3s', 'nan', 'infs', '1s\n', '9' * 4000 + 's':
            refused(f'{option} {value[:20]!r}', [m, '--cgroup', '/', option, value], option)
        if option != '--linger':  # --linger may be 0
            for value in '0', '0s':
                refused(f'{option} {value!r}', [m, '--cgroup', '/', option, value], option)
    for value in ('0', 'abc', '', ':9', '127.0.0.1', '127.0.0.1:', '127.0.0.1:65536', '127.0.0.1:-1', '::1:80', '[::1]', '[]:1',
                  'a/b:1', 'x' * 4000, '999.1.1.1:80', 'no.such.host:80', '127.0.0.1:80\n', '\x1b]0;x\x07:80'):
        refused(f'--listen {value[:20]!r}', [m, '--cgroup', '/', '--listen', value], 'listen')
    refused('an address of another machine', [m, '--cgroup', '/', '--listen', '192.0.2.1:9'], '192.0.2.1:9', '--listen')
    with socket.socket() as taken:
        taken.bind(('127.0.0.1', 0))
        taken.listen()
        address = f'127.0.0.1:{taken.getsockname()[1]}'
        refused('a port in use', [m, '--cgroup', '/', '--listen', address], address, 'in use', 'choose another address with --listen')


def names(cgroup):
    def named(what, name, *words):
        refused(f'a cgroup name {what}', [MEMSCOPE, '--listen', 'none', '--cgroup', name], *words)

    named('that does not exist', cgroup.name.replace('train', 'trian'), f"did you mean '{cgroup.name}'", '--wait')
    named('that is near none', 'qqqqwwwweeee', 'qqqqwwwweeee', '--wait')
    with Cgroup(f'{cgroup.name}-evil\x1bc\u202e', cgroup.limit):
        named('near a hostile one', f'{cgroup.name}-evil', 'evil\\x1bc\\u202e')
    named('with ..', '../../etc', '..')
    named('with .. below the hierarchy', f'{cgroup.path}/../{cgroup.name}', '..')
    named('with a newline', 'a\nb', 'a\\nb', 'control character')
    named('with an escape sequence', 'a\x1b[31mb', '\\x1b[31m')
    named('with a bidirectional override', 'a\u202eb', '\\u202e')
    named('that is no UTF-8', b'a\xff\xfe\x9b31m')
    named('of 4,000 characters', 'x' * 4000, '4000 bytes')
    named('of 5,000 characters', 'x' * 5000, '5000 bytes')
    named('of 1,300 levels', 'ab/' * 1300, 'ab/ab')
    named('that is empty', '', '--cgroup')
    named('that is a file of the cgroup', f'{cgroup.name}/cgroup.procs', 'cgroup.procs')
    named('outside of all hierarchies', '/etc/passwd', 'etc/passwd')


def another_hierarchy(cgroup, folder):
    """A simulated machine with several hierarchies: only its memory controller is real."""
    held, memory, other = f'{folder}/held', '/sys/fs/cgroup/memory', '/sys/fs/cgroup/other'
    hybrid = (f'mount --bind {cgroup.root} {held} && '
              f"awk '$3 ~ /^cgroup/ && $2 != \"{held}\" {{print $2}}' /proc/mounts | while read m; do umount -l $m || exit 1; done && "
              f'mount -t tmpfs none /sys/fs/cgroup && mkdir {memory} {other} && mount --move {held} {memory}')
    watch = [MEMSCOPE, '--listen', 'none', '--duration', '200ms', '--cgroup']
    os.mkdir(held)
    refused('a cgroup name of another hierarchy', mounted(hybrid, *watch, other), other,
            f'the memory controller is on {memory}')
    code, out, err, _ = call(mounted(hybrid, *watch, f'{memory}/{cgroup.name}'))
    check('a cgroup name of the right hierarchy', code == 0 and b'watching' in out and not err, (code, out, err))


def configs(folder):
    generator = random.Random(1)
    files = [
        ('an unknown key', '\nintervall = "1s"', ':2: intervall', 'did you mean interval?'),
        ('a hostile key', '"a\\u001b[31m\\n" = 1', ':1: a\\x1b[31m\\n'),
        ('a number for a duration', 'interval = 1', ':1: interval', 'a number', '"1s"'),
        ('a string for a flag', 'json = "yes"', ':1: json', 'json = true'),
        ('a number among the cgroups', 'cgroup = ["a", 5]', ':1: cgroup', 'a number'),
        ('an empty cgroup', 'cgroup = ""', ':1: cgroup', 'empty'),
        ('a NUL in a name', 'cgroup = "a\\u0000b"', ':1: cgroup', 'NUL'),
        ('a duration out of range', 'cgroup = "/"\ninterval = "1ms"', ':2: interval', '50ms'),
        ('a bad address', 'listen = "nowhere"', ':1: listen', 'nowhere'),
        ('a syntax error in line 3', 'json = true\n\ninterval = = 1', ':3: '),
        ('a key given twice', 'json = true\njson = true', ':2: '),
        ('an open string with control characters', 'cgroup = "\x1b[31m', ':1: '),
        ('no UTF-8', b'cgroup = "\xff\xfe"', ':1: '),
        ('lists in lists', 'cgroup = ' + '[' * 30_000, ':1: '),
        ('keys in keys', '.'.join('a' * 60_000) + ' = 1', '32 KiB'),
        ('1 MiB of garbage', generator.randbytes(1 << 20)),
        ('1 MiB less one byte of one letter', 'a' * ((1 << 20) - 1)),
        ('2 MiB of comments', '# x\n' * (1 << 19), 'too large'),
        ('an unknown role', '[[role]]\nrole = "boss"\ncomm = "x"', ':2: role', 'boss', 'dataloader_worker'),
        ('a rule without role', '[[role]]\ncomm = "x"', 'the rule has no role'),
        ('a rule that matches everything', '[[role]]\nrole = "helper"', 'every process'),
        ('a rule with an unknown key', '[[role]]\nrole = "helper"\ncom = "x"', ':3: com', 'did you mean comm?'),
        ('a rule that is no list', '[role]\nrole = "helper"', '[[role]]'),
    ]
    for number, (what, text, *words) in enumerate(files):
        path = f'{folder}/{number}.toml'
        pathlib.Path(path).write_bytes(text if isinstance(text, bytes) else text.encode())
        refused(f'a config file with {what}', [MEMSCOPE, '--listen', 'none', '--config', path], path, *words)
    refused('an empty config file', [MEMSCOPE, '--config', '/dev/null'], 'nothing to watch')
    refused('a config file that is a directory', [MEMSCOPE, '--config', folder], folder, 'directory')
    refused('a config file that does not exist', [MEMSCOPE, '--config', '/no/such.toml'], '/no/such.toml', 'No such file')
    refused('a config file without end', [MEMSCOPE, '--config', '/dev/zero'], '/dev/zero', 'too large')
    secret = f'{folder}/secret.toml'
    pathlib.Path(secret).write_text('json = true')
    os.chmod(secret, 0)
    refused('a config file of mode 000, not root', [*NOBODY, f'{folder}/memscope', '--config', secret], secret, 'Permission denied')


def machines(folder):
    watch = [MEMSCOPE, '--cgroup', '/', '--listen', 'none', '--duration', '200ms']
    doctor = [MEMSCOPE, 'doctor']
    no_types = 'mount -t tmpfs none /sys/kernel/btf'
    locked = "mount -t tmpfs none /sys/kernel/security && echo 'none integrity [confidentiality]' >/sys/kernel/security/lockdown"
    no_cgroups = "awk '$3 ~ /^cgroup/ {print $2}' /proc/mounts | while read m; do umount -l $m || exit 1; done"
    no_memory = f'umount -l {memory_hierarchy()[0]}'
    unprivileged = [*NOBODY, f'{folder}/memscope']
    in_namespace = ['unshare', '--pid', '--fork', '--mount-proc']
    cases = [
        ('not root', lambda argv: [*unprivileged, *argv[1:]], 'root', 'sudo'),
        ('no BTF', lambda argv: mounted(no_types, *argv), '/sys/kernel/btf/vmlinux', 'CONFIG_DEBUG_INFO_BTF'),
        ('no cgroups', lambda argv: mounted(no_cgroups, *argv), 'no cgroup hierarchy is mounted', 'mount'),
        ('another PID namespace', lambda argv: [*in_namespace, *argv], 'PID namespace', '--pid=host'),
    ]
    if os.path.isdir('/sys/kernel/security'):
        cases.append(('lockdown', lambda argv: mounted(locked, *argv), 'confidentiality', 'lockdown=integrity'))
    if memory_hierarchy()[1] == 1:  # elsewhere there is only one hierarchy
        cases.append(('no memory controller', lambda argv: mounted(no_memory, *argv), 'memory controller', 'cgroup_enable=memory'))
    for what, on, *words in cases:
        refused(f'watching, {what}', on(watch), *words)
        code, out, err, _ = call(on(doctor))
        says = all(word.encode() in out for word in words)
        check(f'doctor, {what}: exit 2, and the whole report', code == 2 and not err and b'hooks' in out and says, (code, err, out[-200:]))
        code, out, err, _ = call(on([*doctor, '--json']))
        report = {'works': True}  # used if the output is not JSON
        with contextlib.suppress(ValueError):
            report = json.loads(out)
        says = not report['works'] and words[0] in report['obstacle']
        check(f'doctor --json, {what}', code == 2 and not err and says, (code, err, out[:200]))
    refused('demo, not root', [*unprivileged, 'demo'], 'sudo')
    code, out, err, _ = call(mounted('umount -l /sys/kernel/tracing; umount -l /sys/kernel/debug; true', *watch), stderr=subprocess.PIPE)
    watched = [line for line in err.splitlines() if not line.startswith(b'umount: ')]
    check('watching works without tracefs', code == 0 and b'watching' in out and not watched, (code, out, err))
    code, out, _, _ = call(doctor)
    check('doctor here: exit 0', code == 0 and b'Watching works here' in out, (code, out[-200:]))


def status(cgroup, folder):
    alone = 'mount -t tmpfs none /run'
    refused('status with no watcher', mounted(alone, MEMSCOPE, 'status'), 'no watcher is running', 'memscope --cgroup', status=1)
    refused('status of a target with no watcher', mounted(alone, MEMSCOPE, 'status', '--target', 'x'), 'no watcher', status=1)
    with process([MEMSCOPE, '--cgroup', cgroup.name, '--cgroup', '/', '--quiet', '--listen', f'127.0.0.1:{free_port()}']) as watcher:
        if not wait_for(lambda: os.path.exists(f'{RUN}/{watcher.pid}.sock'), PATIENCE):
            raise GaveUp('the watcher has no socket')
        refused('status of an unknown target', [MEMSCOPE, 'status', '--target', 'no\x1bsuch'], "'no\\x1bsuch'", cgroup.name)
        refused('status, not allowed', [*NOBODY, f'{folder}/memscope', 'status'], 'may not use its socket', 'sudo', status=1)
        unwritable()


def unwritable():
    """Output that cannot be written is a failure with a message."""
    # The output of the last command is larger than any buffer.
    for words in ['--help'], ['doctor'], ['doctor', '--json'], ['status', '--target', '/'], ['status', '--json', '--target', '/']:
        name = ' '.join(words)
        with open('/dev/full', 'wb') as full:
            refused(f'{name} on a full device', [MEMSCOPE, *words], 'standard output', status=1, stdout=full)
        refused(f'{name} on a closed standard output', ['sh', '-c', 'exec "$@" >&-', 'sh', MEMSCOPE, *words], 'standard output', status=1)
    with open('/dev/full', 'wb') as full:
        code, _, _, _ = call([MEMSCOPE, '--nosuch'], stderr=full)
        check('an error that cannot be written: exit 2', code == 2, code)
    began = time.monotonic()
    code, _, err, _ = call(['sh', '-c', 'exec "$@" >&-', 'sh', MEMSCOPE, '--cgroup', '/', '--listen', 'none', '--duration', '1s'])
    whole = code == 0 and time.monotonic() - began >= 1
    check('watching with a closed standard output: to its end, or not at all', whole or (code == 2 and one_clean_line(err)), (code, err))
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, 'wb') as broken:
        code, _, _, left = call([MEMSCOPE, 'demo'], stdout=broken)
        check('a demo without reader leaves nothing behind', not left, (code, left))
    for path in left:
        os.rmdir(path)
    code, _, _, _ = call(['sh', '-c', 'exec "$@" 2>&-', 'sh', MEMSCOPE, '--nosuch'])
    check('an error with a closed standard error: exit 2', code == 2, code)


def main():
    with tempfile.TemporaryDirectory() as folder, Cgroup(f'ms-bad-{os.getpid()}-train', 64 << 20) as cgroup:
        os.chmod(folder, 0o755)
        shutil.copy(MEMSCOPE, f'{folder}/memscope')  # other users can run it there
        usage()
        names(cgroup)
        another_hierarchy(cgroup, folder)
        configs(folder)
        machines(folder)
        status(cgroup, folder)


if __name__ == '__main__':
    run_as_root(check, main, MEMSCOPE, 120)
