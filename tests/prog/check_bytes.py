"""check_bytes.py EVENTS FOLDER TRUTH - the bytes of each regular file in the folder, by process, as the log has them and as the
program said (p-io). Says nothing where they agree. "?" where not known."""

import json, os, sys
folder = sys.argv[2]
files, procs, accesses = {}, {}, {}
for line in open(sys.argv[1]):
    e = json.loads(line)
    k = e['k']
    if k == 'file' and e['kind'] == 1:
        files.setdefault(e['num'], e.get('path', ''))
    elif k == 'access':
        accesses[e['seq']] = [e['p'], e['file'], e['mode'], 0, 0, None]
    elif k == 'access_end':
        a = accesses[e['access']]
        a[3:] = [e.get('bytes_read', 0), e.get('bytes_written', 0), e.get('known', 0)]
sums = {}
for p, f, mode, r, w, known in accesses.values():
    path = files.get(f)
    if path is None or os.path.dirname(path) != folder:
        continue
    s = sums.setdefault((os.path.basename(path), p), [0, 0])
    if mode & 1:
        s[0] = None if s[0] is None or not (known or 0) & 1 else s[0] + r
    if mode & 2:
        s[1] = None if s[1] is None or not (known or 0) & 2 else s[1] + w
first = min((p for _, p in sums), default=0)
truth = {}
for line in open(sys.argv[3]):
    case, path, r, w = line.split()
    truth[path, case.endswith('-child')] = [None if x == '?' else int(x) for x in (r, w)]
seen = {}
for (path, p), s in sums.items():
    if s != [0, 0]:
        seen[path, p != first] = s
want = {k: v for k, v in truth.items() if v != [0, 0]}
if seen != want:
    sys.exit(f'the log says {seen},\nbut it was    {want}')
