#!/usr/bin/env python3
"""Makes a static site of docs/*.md, README.md and CONTRIBUTING.md, with a search that works without a server: `./dev docs site`.

    docs/site/build.py [DIRECTORY [SOURCE]]        (default: build/site, and the source tree of this file)

Needs python3-markdown from Debian. Fails if a link leads to a page or an anchor that does not exist.
"""
import html
import json
import pathlib
import posixpath
import re
import shutil
import sys
import unicodedata

import markdown

SOURCE = pathlib.Path(__file__).resolve().parents[2]
HERE = SOURCE / 'docs' / 'site'
# The order of the pages in the menu. A page that is missing here fails the build.
MENU = [
    ('Start', ['README.md', 'docs/install.md', 'docs/demo.md', 'docs/tutorial.md', 'docs/live-view.md',
               'docs/web.md']),
    ('What it says', ['docs/verdict.md', 'docs/deaths.md', 'docs/growth.md', 'docs/heap.md', 'docs/sharing.md', 'docs/gpu.md',
                      'docs/precursors.md', 'docs/reports.md', 'docs/recordings.md', 'docs/roles.md', 'docs/glossary.md']),
    ('Use it everywhere', ['docs/ci.md', 'docs/acting.md', 'docs/alerts.md', 'docs/fleet.md', 'docs/metrics.md',
                           'docs/configuration.md']),
    ('What it costs and may do', ['docs/cost.md', 'docs/security.md', 'docs/least-privilege.md', 'docs/where-it-runs.md', 'CONTRIBUTING.md']),
]


class Broken(Exception):
    """The documentation has an error."""


def slug(heading, _separator='-'):
    """The anchor of a heading, as GitHub makes it: the same links work there."""
    text = unicodedata.normalize('NFC', re.sub(r'[`*]', '', heading)).lower()
    return re.sub(r'[^\w\- ]', '', text).replace(' ', '-')


def output_name(page):
    return 'index.html' if page == 'README.md' else page.removeprefix('docs/').removesuffix('.md').replace('/', '-').lower() + '.html'


def title_of(text, page):
    found = re.search(r'^# (.+)$', text, re.M)
    if not found:
        raise Broken(f'{page}: no heading')
    return re.sub(r'[`*]', '', found[1])


class Page:
    def __init__(self, name, text):
        self.name, self.text, self.title = name, text, title_of(text, name)
        converter = markdown.Markdown(extensions=['tables', 'fenced_code', 'toc', 'sane_lists'],
                                      extension_configs={'toc': {'slugify': slug}})
        self.body = converter.convert(list_after_text(text))
        self.anchors = set(re.findall(r' id="([^"]+)"', self.body))


def list_after_text(text):
    """GitHub starts a list and a table right after a paragraph, python-markdown only after an empty line."""
    lines, fenced = [], False
    for line in text.split('\n'):
        before = lines[-1] if lines else ''
        if line.lstrip().startswith('```'):
            if not fenced and before.strip() and not re.match(r'\s*([-*]|\d+\.) ', before):
                lines.append('')
            fenced = not fenced
        elif not fenced and re.match(r'([-*]|\d+\.) |\|', line) and before.strip() and not re.match(r'\s*([-*]|\d+\.) |\s*\|| {2,}', before):
            lines.append('')
        lines.append(line)
    return '\n'.join(lines)


def resolve(link, page, pages, source):
    """The link in the site. Raises Broken if it leads nowhere."""
    if re.match(r'[a-z]+:', link):
        return link
    path, _, anchor = link.partition('#')
    target = posixpath.normpath(posixpath.join(posixpath.dirname(page.name), path)) if path else page.name
    if target not in pages:
        if (source / target).exists() and not target.endswith('.md'):
            return None
        if (source / target).exists():
            raise Broken(f'{page.name}: {link}: {target} is not in the menu of docs/site/build.py')
        raise Broken(f'{page.name}: {link}: there is no {target}')
    if anchor and anchor not in pages[target].anchors:
        raise Broken(f'{page.name}: {link}: {target} has no heading with this anchor')
    return ('' if target == page.name and anchor else output_name(target)) + (f'#{anchor}' if anchor else '')


def with_links(page, pages, source, problems):
    def replaced(found):
        try:
            link = resolve(html.unescape(found[1]), page, pages, source)
        except Broken as broken:
            problems.append(str(broken))
            return found[0]
        return f'<a href="{html.escape(link)}">{found[2]}</a>' if link else f'<code>{found[2]}</code>'
    return re.sub(r'<a href="([^"]*)">(.*?)</a>', replaced, page.body, flags=re.S)


def sections_of(page):
    """(anchor, heading, text) of each part of a page, for the search."""
    parts = re.split(r'<h([1-3]) id="([^"]+)">(.*?)</h\1>', page.body, flags=re.S)
    def plain(text):
        return ' '.join(html.unescape(re.sub(r'<[^>]+>', ' ', text)).split())
    for i in range(1, len(parts), 4):
        yield parts[i + 1], plain(parts[i + 2]), plain(parts[i + 3])


def menu(current, pages):
    lines = []
    for heading, names in MENU:
        lines.append(f'<h2>{heading}</h2><ul>')
        for name in names:
            here = ' aria-current="page"' if name == current.name else ''
            lines.append(f'<li><a href="{output_name(name)}"{here}>{html.escape(pages[name].title)}</a></li>')
        lines.append('</ul>')
    return '\n'.join(lines)


def read_pages(source):
    names = [name for _, group in MENU for name in group]
    found = {'README.md', 'CONTRIBUTING.md', *(str(path.relative_to(source)) for path in (source / 'docs').rglob('*.md'))}
    if found != set(names):
        raise Broken(f'the menu of docs/site/build.py and docs/ differ: {sorted(found ^ set(names))}')
    return {name: Page(name, (source / name).read_text()) for name in names}


def main():
    to = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else SOURCE / 'build' / 'site'
    source = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else SOURCE
    pages = read_pages(source)
    problems, index = [], []
    frame = (HERE / 'page.html').read_text()
    made = {}
    for page in pages.values():
        body = with_links(page, pages, source, problems)
        made[output_name(page.name)] = (frame.replace('{title}', html.escape(page.title)).replace('{menu}', menu(page, pages))
                                        .replace('{body}', body))
        index += [[output_name(page.name), anchor, page.title, heading, text] for anchor, heading, text in sections_of(page)]
    if problems:
        raise Broken('\n'.join(problems))
    shutil.rmtree(to, ignore_errors=True)
    to.mkdir(parents=True)
    for name, text in made.items():
        (to / name).write_text(text)
    for name in 'site.css', 'search.js':
        shutil.copy(HERE / name, to / name)
    # A script, not JSON: a browser does not load other files of a page from file://.
    (to / 'search-index.js').write_text('const searchIndex = ' + json.dumps(index, ensure_ascii=False) + ';\n')
    print(f'{len(made)} pages, {len(index)} sections: {to}/index.html')


if __name__ == '__main__':
    try:
        main()
    except Broken as broken:
        sys.exit(f'docs: {broken}')
