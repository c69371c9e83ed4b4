#!/bin/sh
# The table `input` of `stemma sql` says of each version what `stemma lineage --json --all --depth 1` says: what its makers used, how
# sure that is, whether it is so by folding alone, and what shows it.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

# Executions with parts, as a node's daemon records them, and without; uses before, while and after something is written.
history <<'END'
import random
for seed in range(6):
    r = random.Random(seed)
    h = History('01%024d' % seed, argv=['h%d' % seed], start=seed * 1000000)
    files = [h.file('/w%d/f%d' % (seed, i), size=i) for i in range(6)]
    procs = []
    for i in range(4):
        p = h.process()
        h.exec(p, ['p%d' % i], exe='/usr/bin/p%d' % i)
        procs.append(p)
    live = []
    for i in range(120):
        if live and r.random() < 0.5:
            p, f, a, writes = live.pop(r.randrange(len(live)))
            if writes:
                h.add('state', file=f, size=i, mtime=h.now)
            h.end_access(p, a, **({'evidence': r.choice((1, 2, 2)), 'state': 1} if writes else {}))
            continue
        p, f, writes = r.choice(procs), r.choice(files), r.random() < 0.4
        more = {'part': r.choice((0, 1, 2))} if seed % 2 else {}
        a = h.add('access', p=p, file=f, mode=h.with_state(f, WRITE if writes else READ), via=r.choice((DATA, DATA, DESCRIPTOR)),
                  sure=int(r.random() < 0.8), api=1, **more)
        h.now += 1000
        live.append((p, f, a, writes))
    for p in reversed(procs):
        h.exit(p)
    h.end()
    h.save(home, evtext)
END
cmd 0 sql --jsonl "SELECT v.pub version, x.pub execution, u.pub used, certainty, folded, evidence, via FROM input i
	JOIN version v ON v.id = i.version JOIN execution x ON x.id = i.execution JOIN version u ON u.id = i.used"
cp "$out" rows
cmd 0 sql --csv "SELECT pub FROM version"
sed '1d; s/\r$//' "$out" >versions
cat >compare.py <<'END'
import json, subprocess, sys
stemma = sys.argv[1]
rows = [json.loads(line) for line in open("rows")]
told = {}
for r in rows:
    told.setdefault(r['version'], set()).add((r['execution'], r['used'], r['certainty'], bool(r['folded']), r['evidence'], r['via']))
assert len(rows) == sum(len(v) for v in told.values()), 'a row stands twice'
wrong, seen = 0, {}
for version in open('versions').read().split():
    j = json.loads(subprocess.run([stemma, 'lineage', '--json', '--all', '--depth', '1', version], check=True, stdout=subprocess.PIPE).stdout)
    gens = {e['to']: e['certainty'] for e in j['edges'] if e['type'] == 'wasGeneratedBy' and e['from'] == version}
    want = {(e['from'], e['to'], 'must' if e['certainty'] == 'must' == gens[e['from']] else 'may', e.get('folded', False), e['evidence'], e['via'])
            for e in j['edges'] if e['type'] == 'used' and e['from'] in gens}
    for k in want:
        seen[k[2:4]] = seen.get(k[2:4], 0) + 1
    if want != told.get(version, set()):
        wrong += 1
        print(version, 'only in JSON', want - told.get(version, set()), 'only in the table', told.get(version, set()) - want)
print(wrong, 'versions differ;', seen)
kinds = {('must', False), ('may', False), ('may', True)}
sys.exit(bool(wrong) or set(seen) != kinds)
END
$PYTHON compare.py "$STEMMA" >"$out" 2>"$err"
check 'each version has the inputs that its lineage has'
id=$(head -n 20 versions | tail -n 1)
cmd 0 sql --csv "SELECT count(*) FROM input WHERE version = (SELECT id FROM version WHERE pub = '$id')" && cp "$out" one &&
	cmd 0 sql --csv "SELECT count(*) FROM input JOIN version v ON v.id = version + 0 WHERE v.pub = '$id'" && cmp "$out" one >>"$err" 2>&1
check 'of one version, looked up and found among all'
finish
