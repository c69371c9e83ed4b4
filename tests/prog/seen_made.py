"""seen_made.py EVENTS FOLDER N [--read PATH]... [--possible] [--signaled N] [--killed]: what t0257 says of a record.

Each out.i of FOLDER was written by a process that read mid.i, and that by one that read in.i, i to N. Each PATH was read for sure.
Nothing went by; --possible: or it is recorded as possible; --killed: or the worker was killed. --signaled: a process was killed by
that signal.
"""
import argparse, collections, json

parser = argparse.ArgumentParser()
parser.add_argument('events')
parser.add_argument('folder')
parser.add_argument('n', type=int)
parser.add_argument('--read', action='append', default=[])
parser.add_argument('--signaled', type=int)
parser.add_argument('--possible', action='store_true')
parser.add_argument('--killed', action='store_true')
o = parser.parse_args()
with open(o.events) as f:
    events = [json.loads(line) for line in f]
paths = {e['num']: e.get('path') for e in events if e['k'] == 'file'}
read, wrote, sure = collections.defaultdict(set), collections.defaultdict(set), set()
for e in events:
    if e['k'] == 'access':
        path = paths.get(e['file'])
        if e['mode'] & 1 and e.get('sure'):
            sure.add(path)
        if o.possible or e.get('sure') or e.get('via') == 2:
            for bit, by in ((1, read), (2, wrote)):
                if e['mode'] & bit:
                    by[path].add(e['p'])
for i in range(1, o.n + 1):
    for source, made in (('in', 'mid'), ('mid', 'out')):
        if not read[f'{o.folder}/{source}.{i}'] & wrote[f'{o.folder}/{made}.{i}']:
            print(f'{made}.{i}: nobody is known who made it of {source}.{i}')
for path in o.read:
    if path not in sure:
        print(f'nobody read {path} for sure')
if o.signaled and not any(e['k'] == 'exit' and e.get('ending') == 2 and e.get('code') == o.signaled for e in events):
    print('nobody was ended by signal', o.signaled)
allowed = {7, 8} if o.killed else set()  # recorder_died, exit_unseen
for e in events:
    if e['k'] != 'gap' or e.get('reason') in allowed or 'mounted or unmounted' in e.get('text', ''):
        continue
    if o.possible and e.get('reason') == 1 and 'as possible' in e.get('text', ''):
        continue
    print('gap:', e)
