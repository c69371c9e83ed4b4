#!/usr/bin/env python3
"""secrets_record.py FILE... - makes what cases of tests/redact (gone*.tsv) say happen: the commands as `true` with these
arguments, the variables in its environment, files of these names. Run it as the command of a recording. What can not be
(a name that is too long) is not counted. Prints the secrets of the cases that happened, one a line."""

import os
import sys


def decode(text):
    out, i = [], 0
    text = text.replace('\u00a6', '')
    while i < len(text):
        if text[i] == '\\' and i + 1 < len(text):
            i += 1
            out.append({'n': '\n', 't': '\t'}.get(text[i], text[i]))
        else:
            out.append(text[i])
        i += 1
    return ''.join(out)


def cases(files):
    for name in files:
        with open(name, encoding='utf-8') as lines:
            for line in lines:
                if not line.startswith('#'):
                    columns = [decode(c) for c in line.rstrip('\n').split('\t')]
                    yield columns[0], columns[1], columns[2], columns[3:]


def main():
    true = next(p for p in ('/bin/true', '/usr/bin/true') if os.path.exists(p))
    for _, place, secret, args in cases(sys.argv[1:]):
        if place == 'argv':
            os.waitpid(os.posix_spawn(true, args, os.environ), 0)
        elif place == 'env':
            name, _, value = args[0].partition('=')
            os.waitpid(os.posix_spawn(true, ['true'], {**os.environ, name: value}), 0)
        elif place == 'name':
            if len(args[0]) > 250 or '/' in args[0]:
                continue
            with open(args[0], 'w', encoding='utf-8') as out:
                out.write('x\n')
            os.waitpid(os.posix_spawn(true, ['true', args[0]], os.environ), 0)
            # Absent, moved, linked, a folder that is worked in: the other ways for a name to get into the record.
            try:
                open(args[0] + '.none', encoding='utf-8')
            except OSError:
                pass
            if len(args[0]) < 240:
                os.rename(args[0], args[0] + '.moved')
                os.link(args[0] + '.moved', args[0])
                os.mkdir(args[0] + '.d')
                os.spawnv(os.P_WAIT, '/bin/sh', ['sh', '-c', 'cd "$0" && /bin/true', args[0] + '.d'])
        else:
            continue
        print(secret.replace('\n', '\\n'))


if __name__ == '__main__':
    main()
