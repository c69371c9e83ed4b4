#!/usr/bin/env python3
"""examples.py [-n COUNT] [FOLDER...] - command lines of the EXAMPLES sections of manual pages, for `redact_corpus --stays`.

Reads man1 and man8 of each FOLDER (default /usr/share/man), takes the lines of sections called EXAMPLE or EXAMPLES that
look like commands, splits them as a shell would, and prints each once, arguments with TABs between. Pages in the order of
their names, lines in the order of the page; at most COUNT lines, at most 1200 of one program.
"""

import argparse
import gzip
import os
import re
import shlex

SECTION = re.compile(r'^\.S[Hh]\s+"?(.*?)"?\s*$')
FONT = re.compile(r'\\f(?:\(..|\[[^]]*\]|.)|\\m\[[^]]*\]|\\[sv][+-]?\d')
TOKENS = [(r'\-', '-'), (r'\(aq', "'"), (r'\(dq', '"'), (r'\e', '\\'), (r'\(rs', '\\'), (r'\&', ''), (r'\ ', ' '),
          (r'\(ti', '~'), (r'\(ha', '^'), (r'\(ga', '`'), (r'\*(Aq', "'"), (r'\c', ''), (r'\/', ''), (r'\,', ''),
          (r'\(bu', ''), (r'\|', ''), (r'\^', ''), (r'\(lq', '"'), (r'\(rq', '"'), (r'\(oq', "'"), (r'\(cq', "'")]
FIRST = re.compile(r'^(?:[$%#>]\s+|\w+@?\w*[$%#]\s+)?((?:[A-Z_]+=\S*\s+)*(?:sudo\s+|env\s+)?[a-z./][\w./+-]*)(\s|$)')


def plain(line):
    line = FONT.sub('', line)
    for old, new in TOKENS:
        line = line.replace(old, new)
    return re.sub(r'\\\*?\(..|\\\*.|\\\[[^]]*\]', '', line)


def text_of(page):
    try:
        opened = gzip.open(page, 'rt', encoding='utf-8', errors='replace') if page.endswith('.gz') else open(
            page, encoding='utf-8', errors='replace')
        with opened as lines:
            return lines.read().split('\n')
    except (OSError, EOFError):
        return []


def lines_of(page, names):
    """The command lines of a page: those that begin with the name of a page."""
    inside = False
    before = ''
    for line in text_of(page):
        section = SECTION.match(line)
        if section:
            inside = section.group(1).upper().startswith('EXAMPLE')
            continue
        if not inside:
            continue
        if line.startswith(('.B ', '.BR ', '.BI ', '.I ', '.RB ')):
            line = ' '.join(w for w in line.split(' ')[1:])
        elif line.startswith(('.', "'")):
            continue
        line = before + plain(line).strip()
        before = ''
        if line.endswith('\\'):
            before = line[:-1] + ' '
            continue
        match = FIRST.match(line)
        if not match:
            continue
        command = re.sub(r'^(?:[$%#>]\s+|\w+@?\w*[$%#]\s+)', '', line)
        words = command.split()
        name = next((w for w in words if '=' not in w and w not in ('sudo', 'env')), '')
        if os.path.basename(name) not in names or len(words) < 2:
            continue
        try:
            args = shlex.split(command)
        except ValueError:
            args = words
        # A sentence is no command.
        if not any(re.search(r'[-=/.:@<|"\'0-9]', w) for w in words[1:]) or words[-1].endswith((',', ':')):
            continue
        yield [a.replace('\\', '\\\\').replace('\t', '\\t').replace('\n', '\\n') for a in args]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('-n', type=int, default=5000)
    parser.add_argument('folders', nargs='*', default=['/usr/share/man'])
    options = parser.parse_args()
    pages = []
    for folder in options.folders:
        for section in ('man1', 'man8'):
            where = os.path.join(folder, section)
            if os.path.isdir(where):
                pages += sorted(os.path.join(where, p) for p in os.listdir(where))
    names = {os.path.basename(p).split('.')[0] for p in pages}
    seen = set()
    of_program = {}
    for page in pages:
        if os.path.islink(page):
            continue
        for args in lines_of(page, names):
            line = '\t'.join(args)
            if line in seen:
                continue
            program = os.path.basename(next((a for a in args if '=' not in a and a not in ('sudo', 'env')), ''))
            of_program[program] = of_program.get(program, 0) + 1
            if of_program[program] > 1200:
                continue
            seen.add(line)
            print(line)
            if len(seen) >= options.n:
                return


if __name__ == '__main__':
    main()
