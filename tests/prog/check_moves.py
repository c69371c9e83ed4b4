"""check_moves.py EVENTS TRUTH all | [NAME:WAY...]: of each file, pipe, socket and terminal that the program told of (p-moves), the
bytes that the log says its first process and its child have moved are those, or are not said; of these names, or all of them,
they are said. Says nothing then."""

import json, os, sys

files, accesses, mapped = {}, {}, {}
for line in open(sys.argv[1]):
    e = json.loads(line)
    if e['k'] == 'file':
        files.setdefault(e['num'], e.get('path', ''))
    elif e['k'] == 'access':
        accesses[e['seq']] = [e['p'], e['file'], e['mode'], 0, 0, 0]
    elif e['k'] == 'access_end':
        accesses[e['access']][3:] = [e.get('bytes_read', 0), e.get('bytes_written', 0), e.get('known', 0)]
    elif e['k'] == 'io' and e.get('api') == 10:
        mapped[e['access']] = e['bytes']
must = sys.argv[3:]
first = min(a[0] for a in accesses.values())
sums, lengths = {}, {}
for seq, (p, f, mode, *moved, known) in accesses.items():
    name = files.get(f, '')
    lengths[name] = max(lengths.get(name, 0), mapped.get(seq, 0))
    for i, bit in enumerate((1, 2)):
        if mode & bit:
            key = (name, p != first, i)
            old = sums.get(key, 0)
            sums[key] = None if old is None or not known & bit else old + moved[i]
bad = []
for line in open(sys.argv[2]):
    case, name, *figures = line.split()
    if name[0] != '/' and ':' not in name:
        name = os.path.join(os.path.dirname(sys.argv[2]), 'd', name)
    base = os.path.basename(name)
    if case == 'mapped-bytes':
        if must == ['all'] and lengths.get(name) != int(figures[0]):
            bad.append(f'{name}: {lengths.get(name)} bytes mapped, it was {figures[0]}')
        continue
    for i, (figure, way) in enumerate(zip(figures, ('read', 'written'))):
        # Of a socket both ends.
        parts = [sums.get((n, case.endswith('-child'), i), 0) for n in name.split('|')]
        said = None if None in parts else sum(parts)
        wanted = must == ['all'] or f'{base}:{way}' in must
        if figure == '?':
            if said:
                bad.append(f'{case} {base} {way}: {said} is said, and no call can tell')
        elif said is None and wanted:
            bad.append(f'{case} {base} {way}: the log does not know it, it was {figure}')
        elif said is not None and said != int(figure) and (wanted or said):
            bad.append(f'{case} {base} {way}: {said}, it was {figure}')
print('\n'.join(bad), end='\n' if bad else '')
