#!/usr/bin/env python3
"""The site of the documentation: it can be built, and a dead link, a missing anchor or a forgotten page fails the build.

With --search also its search, which needs node. Uses /usr/bin/python3 with python3-markdown.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../support'))
from harness import Checks  # noqa: E402

SOURCE = pathlib.Path(__file__).resolve().parents[3]
SEARCH = '''
const fs = require('fs');
const { find } = require(process.argv[1] + '/search.js');
const text = fs.readFileSync(process.argv[1] + '/search-index.js', 'utf8');
const index = JSON.parse(text.slice('const searchIndex = '.length, text.lastIndexOf(';')));
for (const query of process.argv.slice(2)) {
  const best = find(index, query)[0];
  console.log(best ? `${best[0]}#${best[1]}` : 'nothing');
}
'''
check = Checks()


def build(to, source=SOURCE):
    return subprocess.run(['/usr/bin/python3', '-B', SOURCE / 'docs/site/build.py', to, source], capture_output=True, text=True, timeout=60)


def broken(folder, name, page, text, said):
    """A copy of the documentation with an error cannot be built."""
    copy = folder / name
    shutil.copytree(SOURCE / 'docs', copy / 'docs')
    for root in 'README.md', 'CONTRIBUTING.md', 'LICENSE', 'CHANGELOG.md':
        shutil.copy(SOURCE / root, copy / root)
    for linked in 'dashboards', 'packaging', 'tests', 'userspace':
        (copy / linked).symlink_to(SOURCE / linked)
    with open(copy / page, 'a') as f:
        f.write(text)
    done = build(folder / 'broken-site', copy)
    check(f'{name}: the build fails and says why', done.returncode == 1 and said in done.stderr and not (folder / 'broken-site').exists(), done)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        done = build(folder / 'site')
        check('the site is built', done.returncode == 0, done)
        index = (folder / 'site/search-index.js').read_text() if done.returncode == 0 else ''
        check('the search knows every page', all(f'"{page.name}"' in index for page in (folder / 'site').glob('*.html')))
        text = (folder / 'site/tutorial.html').read_text() if index else ''
        check('links lead to pages of the site', 'href="verdict.html#heap-censuses"' in text and '.md"' not in text)
        check('tables, lists and code are recognized', all(part in (folder / 'site/live-view.html').read_text() for part in
                                                           ('<table>', '<li>', '<pre><code>')))
        broken(folder, 'a dead link', 'docs/demo.md', '\n[gone](nosuchpage.md)\n', 'docs/demo.md: nosuchpage.md: there is no docs/nosuchpage.md')
        broken(folder, 'a missing anchor', 'docs/demo.md', '\n[gone](heap.md#nosuchheading)\n', 'docs/heap.md has no heading')
        broken(folder, 'a page outside the menu', 'docs/orphan.md', '# Orphan\n', 'docs/orphan.md')
        if '--search' in sys.argv:
            found = subprocess.run(['node', '-e', SEARCH, folder / 'site', 'full /dev/shm', 'somebody OOM', 'copy-on-write un-sh', 'nosuchword'],
                                   capture_output=True, text=True, timeout=30)
            check('the search finds the right section', found.stdout.split('\n')[:4] == [
                'tutorial.html#a-full-devshm', 'tutorial.html#an-oom-kill-that-another-process-causes',
                'sharing.html#copy-on-write-sharing-and-un-sharing', 'nothing'], found)
    return check.finish()


if __name__ == '__main__':
    sys.exit(main())
