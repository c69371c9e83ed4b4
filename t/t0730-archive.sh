#!/bin/sh
# Summaries come in, from the log and from elsewhere, each task counts once, and the statistics are those of the formulas.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

py()
{
	{
		echo "import sys; sys.path[:0] = ['$here/t', '$here/tests/reference']"
		echo 'import json, math, os, random; from summaries import *; import archive'
		cat
	} >"$T/py.py"
	$PYTHON -B "$T/py.py" "$@"
}
export STEMMA
cmd 1 archive && says "$err" 'no runs have been recorded in'
check 'without a record'

# 400 tasks of two programs with long tails, some figures bounded, incomplete or not known.
py >"$T/tasks.jsonl" <<'END'
r = random.Random(7)
for i in range(400):
    sort = i % 2
    size = int(r.lognormvariate(17, 1))
    memory = 3 * size + r.randrange(10 ** 6)
    figures = {'cpu_time': round(r.expovariate(.1), 9), 'memory_resident_peak': memory}
    if i % 5 == 0:
        figures['memory_resident_peak'] = (memory, memory - 100, memory + 5000)
    if i % 7 == 0:
        figures['bytes_read'] = None
    else:
        figures['bytes_read'] = partly(size) if i % 11 == 0 else size
    command = ['/usr/bin/sort', '-n', '-o', 'out%d' % i, 'in%d' % i] if sort else ['python3', './fit.py', str(i)]
    write([task(command, i * 10.0, round(.01 + r.expovariate(1), 9), user='ann' if i % 3 else 'bob', label={'sample': 's%d' % (i % 4)},
                exit_status=int(i % 40 == 0), **figures)], sys.stdout)
END
cmd 0 archive --submit "$T/tasks.jsonl" --describe 'two programs' && is "$out" "$T/tasks.jsonl: 400 of 400 summaries added"
check 'a set is submitted'
cmd 0 archive --submit "$T/tasks.jsonl" && says "$out" '0 of 400 summaries added, 400 were already present'
check 'what is here already is not added again'

fields='wall_time cpu_time memory_resident_peak bytes_read'
# shellcheck disable=SC2086 # words
cmd 0 archive --json --by program,user $fields && cp "$out" "$T/got.json" && py "$T/tasks.jsonl" "$T/got.json" >"$out" 2>"$err" <<'END'
tasks = [json.loads(l) for l in open(sys.argv[1])]
got = json.load(open(sys.argv[2]))
bad = 0
def near(a, b):
    return a is None and b is None or a is not None and b is not None and math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)
seen = 0
for group in got['groups']:
    mine = [t for t in tasks if t['user'] == group['key']['user'] and
            ('sort' if t['command'][0].endswith('sort') else 'python3 fit.py') == group['key']['program']]
    seen += len(mine)
    if group['tasks'] != len(mine):
        bad += 1
        print('tasks', group['key'], group['tasks'], len(mine))
    for name, f in group['figures'].items():
        known = [t[name] for t in mine if name in t and 'absent' not in t[name]]
        want = archive.statistics([k['value'] for k in known])
        want.update(bounded=sum('low' in k for k in known), incomplete=sum(not k['complete'] for k in known),
                    absent=len(mine) - len(known))
        for key, value in want.items():
            if not near(f[key], value):
                bad += 1
                print(group['key'], name, key, f[key], value)
        # A value at a border may fall to either side where the border is no exact number.
        counts = archive.histogram([k['value'] for k in known], len(f['histogram']['counts']))
        off = sum(abs(a - b) for a, b in zip(counts, f['histogram']['counts']))
        if sum(f['histogram']['counts']) != len(known) or off > 2:
            bad += 1
            print(group['key'], name, counts, f['histogram']['counts'])
if seen != 400 or len(got['groups']) != 4:
    bad += 1
    print('groups', seen, len(got['groups']))
sys.exit(bad > 0)
END
check 'count, moments, quantiles and histogram are those of the reference'

# What a table of numbers is worth is that it can be checked: a set whose figures are known without a program.
STEMMA_HOME=$T/known
py >"$T/known.jsonl" <<'END'
write([task(['a'], i, w, cpu_time=5) for i, w in enumerate([2, 4, 4, 4, 5, 5, 7, 9])], sys.stdout)
END
"$STEMMA" archive --submit - <"$T/known.jsonl" >"$out" 2>"$err" && says "$out" 'standard input: 8 of 8 summaries added' && cmd 0 archive --json wall-time cpu-time &&
	json '.groups[0].figures.wall_time | .mean == 5 and ((.std_dev * .std_dev * 7 - 32) | fabs) < 1e-9 and (.skewness - 0.65625 | fabs) < 1e-9 and (.kurtosis + 0.21875 | fabs) < 1e-9 and .p50 == 4.5 and .p25 == 4 and .p75 == 5.5 and .min == 2 and .max == 9' &&
	json '.groups[0].figures.cpu_time | .mean == 5 and .std_dev == 0 and .skewness == null and .kurtosis == null and .histogram.counts[0] == 8'
check 'a set whose moments are known'
cmd 0 archive --csv wall_time && [ "$(tr -d '\r' <"$out" | sed -n 2p | cut -d, -f 1-7)" = wall_time,s,8,0,0,0,5 ]
check '--csv'
STEMMA_HOME=$T/record

bad= # grep counts characters of the locale; mawk would count bytes
for width in 80 50 200; do
	# shellcheck disable=SC2086 # words
	COLUMNS=$width "$STEMMA" archive $fields --by program >"$out" 2>"$err" && ! grep -q ".\{$((width + 1))\}" "$out" && says "$out" 'program=python3 fit.py: 200 tasks' skewness 'not known' || bad="$bad $width"
done
echo "columns:$bad" >>"$err"
[ -z "$bad" ]
check 'tables fit the screen'
LC_ALL=C "$STEMMA" archive wall_time >"$out" 2>"$err" && ! LC_ALL=C grep -q '[^ -~]' "$out" && says "$out" '#'
check 'ASCII where there is nothing else'

where()
{ # N EXPRESSION: so many tasks
	expected=$1
	cmd 0 archive --json wall_time --where "$2" && json ".tasks == $expected"
}
slow=$(jq -r 'select(.wall_time.value > 1.5) | 1' "$T/tasks.jsonl" | wc -l)
both=$(jq -r 'select(.wall_time.value > 1.5 and .user == "bob") | 1' "$T/tasks.jsonl" | wc -l)
either=$(jq -r 'select(.wall_time.value > 1.5 or .user == "bob") | 1' "$T/tasks.jsonl" | wc -l)
big=$(jq -r 'select(.memory_resident_peak.value >= 104857600) | 1' "$T/tasks.jsonl" | wc -l)
unread=$(jq -r 'select((.bytes_read.value // 0) < 10485760 and (.bytes_read.value != null)) | 1' "$T/tasks.jsonl" | wc -l)
where "$slow" 'wall_time > 1500ms' && where "$both" 'wall_time>1.5 user=bob' && where "$either" 'wall_time>1.5s or user=bob' && where "$big" 'memory_resident_peak>=100M' &&
	where "$unread" 'bytes_read<10M' && where $((400 - both)) 'not (wall_time>1.5 and user=bob)' && where 200 'program="python3 fit.py"' && where 200 'program=s*' && where 10 exit=1 && where 100 label:sample=s3 &&
	where 400 'set="two programs"' && where 390 exit!=1 && where 400 'start>=2026-01-01 and host=h1'
check '--where'
cmd 0 archive wall_time --json --by shape,label:sample && json '.groups | length == 4 and .[0].key["label:sample"] == "s0"' && json '[.groups[].key.shape] | unique == ["python3 fit.py *", "sort -n -o *"]'
check '--by'
py >"$T/sizes.jsonl" <<'END'
sizes = [0, 3, 4, 1000, 1024, 5000, 1 << 20, (4 << 20) - 1, 4 << 20, 70 << 30]
write([task(['a', str(n)], n / 1e9, 1, label={'input_bytes': str(n)}) for n in sizes] + [task(['b'], 0, 2)], sys.stdout)
END
STEMMA_HOME=$T/sizes
cmd 0 archive --submit "$T/sizes.jsonl" && cmd 0 archive --json --by input-size wall_time && json '[.groups[] | .key.input_size, .tasks] == ["", 1, "0B", 1, "1B-4B", 1, "4B-16B", 1, "256B-1KiB", 1, "1KiB-4KiB", 1, "4KiB-16KiB", 1, "1MiB-4MiB", 2, "4MiB-16MiB", 1, "64GiB-256GiB", 1]'
check '--by input_size'
STEMMA_HOME=$T/record

bad=
for e in 'wall_time' 'wall_time>' 'nothing=1' 'user>ann' 'wall_time>5parsecs' '(user=ann' 'not (user=ann' 'user="ann' 'user=ann)' 'memory_resident_peak>1x' 'start>yesterdayish'; do
	cmd 2 archive --where "$e" && [ -s "$err" ] && [ ! -s "$out" ] || bad="$bad [$e]"
done
for o in '--by nothing' nothing '--json --csv' '--describe x' '--submit --by user x' --submit; do
	# shellcheck disable=SC2086 # words
	cmd 2 archive $o && [ -s "$err" ] || bad="$bad [$o]"
done
echo "not refused:$bad" >"$out"
[ -z "$bad" ]
check 'mistakes are told'

# Broken and foreign texts.
printf '{"format":1,"command":["x"' >"$T/torn.json"
printf '{"format":99}' >"$T/newer.json"
: >"$T/empty.json"
bad=
for f in torn newer empty absent; do
	cmd 1 archive --submit "$T/$f.json" && [ -s "$err" ] || bad="$bad $f"
done
cmd 0 archive --json wall_time && json '.tasks == 400' || bad="$bad count"
cmd 1 archive --submit "$T/torn.json" "$T/known.jsonl" && says "$out" '8 of 8' && cmd 0 archive --json wall_time && json '.tasks == 408' || bad="$bad others"
[ -z "$bad" ]
check 'a text that is no summary is told, and adds nothing'
cat >"$T/rm.json" <<'END'
{"executable_type":"dynamic","monitor_version":"9.0.0","host":"n7","command":"blastn -query q.fa","exit_status":0,"exit_type":"normal","start":[1767230000.5,"s"],"end":[1767230010.5,"s"],"wall_time":[10,"s"],"cpu_time":[9.5,"s"],"memory":[300,"MB"],"cores":[0.95,"cores"]}
END
cmd 0 archive --submit "$T/rm.json" && cmd 0 archive --json --by source,program memory_resident_peak --where source=resource-monitor && json '.tasks == 1 and .groups[0].key.program == "blastn" and .groups[0].figures.memory_resident_peak.max == 314572800'
check 'a summary of resource_monitor'

# A secret in a command goes no further.
printf '%s\n' '{"format":1,"command":["tool","--password","hunter2","x"],"wall_time":{"value":1,"unit":"s","method":"m","complete":true}}' >"$T/secret.json"
cmd 0 archive --submit "$T/secret.json" && cmd 0 sql "SELECT argv FROM summary WHERE argv LIKE 'tool%'" && says "$out" '***' && says_not "$out" hunter2 && ! holds hunter2
check 'what is secret in a command is not kept'

# Late logs: one of the recorder's own sessions, one submitted, and one that grows.
py "$T" "$EVTEXT" 2>"$err" <<'END'
from history import *
top, evtext = sys.argv[1:3]
def own(run, wall, more=()):
    t = task(['fit', run[-1]], 0, wall, run=run, memory_resident_peak=wall * 1000)
    return json.dumps(t)
def look(segment, home):
    os.system('%s sql --store %s --csv "SELECT count(*) FROM summary" >/dev/null' % (os.environ['STEMMA'], home))
def build(home, names):
    for name in names:
        if name == 'A':
            h = History('01AAAAAAAAAAAAAAAAAAAAAAAA', argv=['fit', 'A'])
            p = h.process(); h.exec(p, ['fit', 'A'], exe='/usr/bin/fit'); h.read(p, h.file('/w/in', size=5)); h.exit(p)
            h.add('summary', run='01AAAAAAAAAAAAAAAAAAAAAAAA', text=own('01AAAAAAAAAAAAAAAAAAAAAAAA', 3)); h.end()
        elif name == 'B':
            h = History('', session=77, start=50)
            h.add('summary', run='01AAAAAAAAAAAAAAAAAAAAAAAA', text=own('01AAAAAAAAAAAAAAAAAAAAAAAA', 8), source='stemma', set='told')
            h.add('summary', run='01CCCCCCCCCCCCCCCCCCCCCCCC', text=own('01CCCCCCCCCCCCCCCCCCCCCCCC', 5), source='stemma', set='told')
            h.add('summary', text='no summary at all', source='stemma')
            h.end()
        elif name == 'C':
            h = History('01DDDDDDDDDDDDDDDDDDDDDDDD', argv=['fit', 'D'], start=90)
            h.add('summary', run='01DDDDDDDDDDDDDDDDDDDDDDDD', text=own('01DDDDDDDDDDDDDDDDDDDDDDDD', 1))
            look(h.save(home, evtext), home)
            h.lines = []  # the rest of the session comes later, in another segment
            h.add('summary', run='01DDDDDDDDDDDDDDDDDDDDDDDD', text=own('01DDDDDDDDDDDDDDDDDDDDDDDD', 2)); h.end()
        look(h.save(home, evtext), home)
for i, names in enumerate(('ABC', 'CBA', 'BCA', 'BAC')):
    build('%s/late%d' % (top, i), names)
END
rows='SELECT session, seq, ulid, source, submitted, argv, wall_time, memory_resident_peak, run IS NULL AS none FROM summary ORDER BY session, seq'
figures='SELECT s.session, s.seq, f.name, f.value, f.low, f.high, f.unit, f.complete, f.method, f.absent FROM figure f JOIN summary s ON s.id = f.summary ORDER BY s.session, s.seq, f.name'
same=true
for i in 0 1 2 3; do
	for q in "$rows" "$figures"; do
		STEMMA_HOME=$T/late$i "$STEMMA" sql --csv "$q" >>"$T/late$i.csv" 2>>"$err" || same=false
	done
	STEMMA_HOME=$T/late$i "$STEMMA" index --rebuild >/dev/null 2>>"$err" || same=false
	for q in "$rows" "$figures"; do
		STEMMA_HOME=$T/late$i "$STEMMA" sql --csv "$q" >>"$T/again$i.csv" 2>>"$err" || same=false
	done
	cmp "$T/late0.csv" "$T/late$i.csv" >>"$err" 2>&1 && cmp "$T/late$i.csv" "$T/again$i.csv" >>"$err" 2>&1 || same=false
done
cp "$T/late0.csv" "$out"
$same && [ "$(grep -c '^[0-9a-f]*,[0-9]*,01' "$out")" = 3 ]
check 'late logs give the same rows, and so does a rebuild'
STEMMA_HOME=$T/late0
# A: what its own recorder said holds; D: what it said last; C: no run of this record.
cmd 0 archive --json wall_time --by run && json '.tasks == 3 and [.groups[].figures.wall_time.max] == [3, 5, 2] and .repeated == 2'
check 'a task counts once'
cmd 0 sql --csv 'SELECT wall_time FROM summary ORDER BY ulid' && [ "$(tr -d '\r' <"$out" | paste -sd,)" = wall_time,3000000000,5000000000,2000000000 ] &&
	cmd 0 sql --csv "SELECT count(*) AS n FROM figure WHERE name = 'wall_time'" && [ "$(tr -d '\r' <"$out" | paste -sd,)" = n,3 ]
check 'and stands once in the views'
cmd 0 sql --csv 'SELECT ulid FROM run' && [ "$(tr -d '\r' <"$out" | sort | paste -sd,)" = 01AAAAAAAAAAAAAAAAAAAAAAAA,01DDDDDDDDDDDDDDDDDDDDDDDD,ulid ]
check 'a run of elsewhere is no run of this record'
cmd 0 forget 01DDDDDDDDDDDDDDDDDDDDDDDD && cmd 0 archive --json wall_time --by run && json '.tasks == 2' && ! grep -rqa '01DDDDDDDDDDDDDDDDDDDDDDDD.*wall_time' "$STEMMA_HOME/logs" && cmd 0 index --rebuild && cmd 0 archive --json wall_time && json '.tasks == 2'
check 'a run that is forgotten takes its summary along'
py >"$T/back.json" <<'END'
write([task(['fit', 'D'], 0, 2, run='01DDDDDDDDDDDDDDDDDDDDDDDD')], sys.stdout)
END
cmd 0 archive --submit "$T/back.json" && says "$out" '0 of 1 summary added, 1 is of what was forgotten here' && cmd 0 archive --json wall_time && json '.tasks == 2'
check 'and it does not come back'

# A file that is forgotten goes out of the commands of summaries, too, where that is asked for.
py "$T/secret" "$EVTEXT" 2>"$err" <<'END'
from history import *
top, evtext = sys.argv[1:3]
run = '01EEEEEEEEEEEEEEEEEEEEEEEE'
h = History(run, argv=['fit', '--in=/w/patient7.csv', 'x'])
p = h.process(); h.exec(p, ['fit', '--in=/w/patient7.csv', 'x'], exe='/usr/bin/fit'); h.read(p, h.file('/w/patient7.csv', size=5)); h.exit(p)
t = task(['fit', '--in=/w/patient7.csv', 'x'], 0, 3, run=run, memory_resident_peak=77, label={'of': '/w/patient7.csv', 'kind': 'a'})
h.add('summary', run=run, text=json.dumps(t), set='of /w/patient7.csv'); h.end(); h.save(top, evtext)
END
STEMMA_HOME=$T/secret
cmd 0 forget --redact-arguments /w/patient7.csv && ! holds patient7 && cmd 0 sql --csv 'SELECT argv, labels, submitted, wall_time, memory_resident_peak FROM summary' &&
	[ "$(tr -d '\r' <"$out" | tail -n 1)" = 'fit --in=*** x,of=*** kind=a,***,3000000000,77' ]
check 'forgetting a file takes it out of summaries, and leaves their figures'
finish
