#!/usr/bin/env python3
"""node_compare.py A.json FOLDER B.json FOLDER - what two lineages differ in, certainty, versions and times aside.

Each is the JSON of `stemma lineage`, of a file below its folder; paths are taken relative to that. What is compared: the
files that things came from, the commands, and which command used or made which file. Channels are followed through, since
they have no names: what wrote into one is joined to what read it. Prints each difference; status 1 if there are any.
"""
import json
import os
import re
import sys

SHELLS = {'sh', 'dash', 'bash'}


def name_of(path, folder):
    """A path below folder, with what mktemp makes up taken out."""
    if path.startswith(folder + '/'):
        path = path[len(folder) + 1:]
    return re.sub(r'call\.[A-Za-z0-9]{6}', 'call.XXXXXX', path)


def facts(text, folder):
    """The set of (what, from, to)."""
    data = json.loads(text)
    names, streams, commands = {}, set(), {}
    for e in data['entities']:
        path = e.get('path') or ''
        if not path.startswith('/'):
            streams.add(e['id'])
        names[e['id']] = name_of(path, folder)
    for x in data['executions']:
        words = x['argv'] or ['(fork)']
        commands[x['id']] = ' '.join([os.path.basename(words[0])] + [name_of(w, folder) for w in words[1:]])
    found, wrote, read = set(), {}, {}
    for edge in data['edges']:
        kind, a, b = edge['type'], edge['from'], edge['to']
        if kind == 'used' and a in commands and b in names:
            if b in streams:
                read.setdefault(b, set()).add(commands[a])
            else:
                found.add(('used', commands[a], names[b]))
        elif kind == 'wasGeneratedBy' and b in commands and a in names:
            if a in streams:
                wrote.setdefault(a, set()).add(commands[b])
            else:
                found.add(('made', commands[b], names[a]))
    shells = {'(fork)'} | {commands[x['id']] for x in data['executions'] if os.path.basename(x['exe'] or '') in SHELLS}
    for stream, writers in wrote.items():
        readers = read.get(stream, set())
        for w in writers:
            for r in readers - shells or readers:
                if w != r:
                    found.add(('piped', w, r))
    return {(k, x, y) for k, x, y in found if k != 'used' or ('made', x, y) not in found}


def main():
    with open(sys.argv[1], encoding='utf-8') as a, open(sys.argv[3], encoding='utf-8') as b:
        one, two = facts(a.read(), sys.argv[2]), facts(b.read(), sys.argv[4])
    for sign, only in (('-', two - one), ('+', one - two)):
        for kind, x, y in sorted(only):
            print(f'{sign} {kind}: {x}: {y}')
    print(f'{len(one & two)} in both')
    return 1 if one != two else 0


sys.exit(main())
