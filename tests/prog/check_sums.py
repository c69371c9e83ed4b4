"""check_sums.py EVENTS FOLDER TRUTH [PATH:WAY...]: of each regular file in the folder, what the log says that the first process
and the others have read and written is the truth, or is not said; of these paths at least it is said."""

import json, os, sys
folder = sys.argv[2]
files, procs, accesses = {}, [], {}
for line in open(sys.argv[1]):
    e = json.loads(line)
    k = e['k']
    if k == 'file' and e['kind'] == 1:
        files.setdefault(e['num'], e.get('path', ''))
    elif k == 'access':
        accesses[e['seq']] = [e['p'], e['file'], e['mode'], 0, 0, 0]
    elif k == 'access_end':
        accesses[e['access']][3:] = [e.get('bytes_read', 0), e.get('bytes_written', 0), e.get('known', 0)]
sums = {}
for p, f, mode, r, w, known in accesses.values():
    path = files.get(f)
    if path is None or os.path.dirname(path) != folder:
        continue
    for bit, n, way in ((1, r, 'read'), (2, w, 'written')):
        if mode & bit:
            key = (os.path.basename(path), p, way)
            old = sums.get(key, 0)
            sums[key] = None if old is None or not known & bit else old + n
first = min((p for _, p, _ in sums), default=0)
seen = {(path, p != first, way): n for (path, p, way), n in sums.items()}
truth = {}
for line in open(sys.argv[3]):
    case, path, r, w = line.split()
    for n, way in ((r, 'read'), (w, 'written')):
        truth[path, case.endswith('-child'), way] = None if n == '?' else int(n)
bad = 0
for key, n in seen.items():
    want = truth.get(key, 0)
    if n is not None and n != want:
        bad = 1
        print(f'{key}: the log says {n}, it was {want}')
for must in sys.argv[4:]:
    path, way = must.split(':')
    if seen.get((path, False, way)) is None:
        bad = 1
        print(f'{path} {way}: the log does not know it, it was {truth[path, False, way]}')
sys.exit(bad)
