#!/bin/sh
# Annotations: what a program says of itself stands in the record, the same from each language; it survives fork, exec and
# SIGKILL; nothing of it harms the program; a file that was forged harms nobody.
progs=${STEMMA_PROGS:-}
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
progs=${progs:-$BUILD/tests/prog}
lib=$BUILD/src/capture/app
[ -x "$progs/p-app" ] || {
	echo "1..0 # SKIP no p-app in $progs"
	exit
}
app=$progs/p-app

# What was said, in order of name. Times and ids are not what the list is about.
cat >"$T/said.sql" <<'END'
SELECT a.kind, a.name, CASE WHEN length(a.value) > 100 THEN length(a.value) || ' of ' || a.whole ELSE a.value END AS value,
 a.number, a.step, a.version, (SELECT b.name FROM annotation b WHERE b.kind = 'activity' AND b.activity = a.within AND b.execution = a.execution) AS within,
 a.ended IS NOT NULL AS ended, (SELECT count(*) FROM execution x WHERE x.id = a.execution) AS executions
 FROM annotation a ORDER BY a.kind, a.name, a.step
END
cat >"$T/list" <<'END'
kind,name,value,number,step,version,within,ended,executions
activity,batch,,,,,epoch,1,1
activity,epoch,,,,,,1,1
activity,worker,,,,,,1,1
config,batch size,32,,,,,0,1
config,large,65536 of 1048576,,,,,0,1
config,learning_rate,0.01,,,v2,,0,1
config,words,"Grüße
日本",,,,,0,1
generated,model.bin,,,,,,0,1
metric,accuracy,,0.5,1,,,0,1
metric,accuracy,,0.75,2,,,0,1
metric,accuracy,,0.625,3,,,0,1
metric,loss,,0.25,,,,0,1
metric,threaded,,1.0,0,,worker,0,1
tag,purpose,test,,,,,0,1
type,training,,,,,,0,1
used,input.csv,,,,,batch,0,1
END
said()
{
	cmd 0 sql --csv "$(cat "$T/said.sql")" && tr -d '\r' <"$out" >"$T/got" && diff "$T/list" "$T/got" >"$err"
}
fresh()
{
	rm -rf "$STEMMA_HOME"
}
# run_list COMMAND...: outside of a run it says that nobody is there and ends well; inside it says the list.
run_list()
{
	fresh
	"$@" >"$out" 2>"$err" && is "$out" '0 -' || return 1
	cmd 0 run -q -- "$@" && id=$(sed -n 's/^1 //p' "$out") && [ ${#id} = 26 ] && said && cmd 0 log --json && json ".runs[0].id == \"$id\""
}

run_list "$app" list
check 'the list in C'
for p in "p-app-c-as-cxx list:C, compiled as C++" "p-app-cxx:C++" "p-app-f:Fortran"; do
	name=${p#*:} words=${p%%:*}
	if [ -x "$progs/${words%% *}" ]; then
		# shellcheck disable=SC2086 # words
		run_list "$progs/"$words
		check "the list in $name"
	else
		skip "the list in $name" 'there was no compiler for it'
	fi
done
PYTHONPATH=$here/bindings/python STEMMA_APP_LIBRARY=$lib/libstemma-app.so.1 STEMMA_COMMAND=$STEMMA PYTHONDONTWRITEBYTECODE=1
export PYTHONPATH STEMMA_APP_LIBRARY STEMMA_COMMAND PYTHONDONTWRITEBYTECODE
run_list $PYTHON "$here/tests/prog/p_app.py"
check 'the list in Python'
if [ -f "$progs/p-app.jar" ] && command -v java >/dev/null; then
	run_list java -Xshare:auto -XX:TieredStopAtLevel=1 -Xmx256m "-Dstemma.library=$BUILD/bindings/libstemma-app-jni.so" -cp "$BUILD/bindings/stemma-app.jar:$progs/p-app.jar" PApp
	check 'the list in Java'
else
	skip 'the list in Java' 'there is no Java, or it was not built'
fi
cat >readers.py <<'END'
import stemma, types
m = stemma.metrics('@')
rows = m.to_dict('records') if hasattr(m, 'to_dict') else m
assert [(r['name'], r['value']) for r in rows if r['name'] == 'accuracy'] == [('accuracy', .5), ('accuracy', .75), ('accuracy', .625)], rows
c = stemma.configuration()
rows = c.to_dict('records') if hasattr(c, 'to_dict') else c
assert {r['name']: r['value'] for r in rows}['learning_rate'] == '0.01', rows
t = stemma.table('loss', 'batch size')
rows = t.to_dict('records') if hasattr(t, 'to_dict') else t
assert rows[0]['loss'] == .25 and rows[0]['batch size'] == '32' and len(rows) == 1, rows
assert len(stemma.runs()) == 1
assert len(stemma.table('no such name')) == 0
print('read')
END
fresh && cmd 0 run -q -- "$app" list && $PYTHON readers.py >"$out" 2>"$err" && is "$out" 'read'
check 'Python reads the record'

for way in '' --capture=safe --transport=trace --transport=proc --exact --count --capture=tree; do
	fresh
	# shellcheck disable=SC2086 # no word where there is none
	cmd 0 run -q $way -- "$app" list && said
	check "the list, recorded by ${way:-the usual way}"
done
fresh && cmd 0 run -q --capture=off -- "$app" list && cmd 0 show --json @ && json '.things[0].annotations | (.metrics | length) == 5 and .type == "training" and .configuration[0].name == "learning_rate"'
check 'and where nothing else is recorded'

fresh && cmd 0 run -q -- "$app" list && cmd 0 show @ && says "$out" 'type         training' 'learning_rate = 0.01  version v2' 'accuracy = 0.625  at step 3  (the last of 3: 0.5 to 0.75)' 'purpose = test' 'annotated as used' 'annotated as made model.bin' 'words = Grüße\n日本' &&
	! grep -q 'stemma-app-' "$out" && cmd 0 show --all @ && ! grep -q 'stemma-app-' "$out" && cmd 0 show --json @ &&
	json '.things[0].annotations | .configuration[0].version == "v2" and (.configuration | map(select(.name == "large"))[0] | .cut_from == 1048576 and (.value | length) == 65536) and (.activities | length) == 3 and (.used[0].within == 2)' && ! grep -q 'stemma-app-' "$out"
check 'show, and none of the files that it went through'
cmd 0 sql --csv 'SELECT * FROM annotation ORDER BY time, name, step' && cp "$out" "$T/before" && cmd 0 index --rebuild && cmd 0 sql --csv 'SELECT * FROM annotation ORDER BY time, name, step' && cmp "$out" "$T/before" && cmd 0 fsck
check 'a rebuilt index says the same'
# Both are slot 0 of this host and day: the second goes into the folder of another host, for a log that is overwritten is a log that is lost.
cp -r "$STEMMA_HOME" "$T/one" && fresh && cmd 0 run -q -- "$app" fork && mkdir "$T/one/logs/other" && cp -r "$STEMMA_HOME"/logs/*/* "$T/one/logs/other/" &&
	STEMMA_HOME=$T/one cmd 0 sql --csv 'SELECT ulid, kind, name FROM annotation ORDER BY time, kind, name' && lines "$out" 23
check 'logs of two runs beside each other'

fresh && cmd 0 run -q -- "$app" fork && cmd 0 sql --csv "SELECT kind, name, value, execution IN (SELECT id FROM execution WHERE n > 0) AS own, (SELECT count(*) FROM annotation b WHERE b.execution = a.execution AND b.activity = a.within) AS within, ended IS NOT NULL FROM annotation a ORDER BY own, kind, name, value" && cat >"$T/want" <<'END'
activity,inner,,0,0,1
metric,in child,,0,1,0
tag,who,child,0,0,0
activity,outer,,1,0,1
tag,who,parent after,1,1,0
tag,who,parent before,1,0,0
END
tr -d '\r' <"$out" | tail -n +2 | diff "$T/want" - >"$err"
check 'after a fork each says its own'
fresh && cmd 0 run -q -- "$app" exec "$app" list && cmd 0 sql --csv "SELECT count(DISTINCT execution), count(DISTINCT (SELECT pid FROM execution x WHERE x.id = execution)) FROM annotation WHERE execution IS NOT NULL" && says "$out" '2,' &&
	cmd 0 sql --csv "SELECT x.n FROM annotation a JOIN execution x ON x.id = a.execution WHERE a.value IN ('before exec', 'test') ORDER BY a.time" && [ "$(tr -d '\r' <"$out" | tr '\n' ' ')" = 'n 1 2 ' ]
check 'what was said before an exec stays, and is that program'\''s'
fresh && "$STEMMA" run -q -- "$app" kill >"$out" 2>"$err"
[ $? = 137 ] && cmd 0 sql --csv 'SELECT kind, name, number, step, ended FROM annotation ORDER BY kind' && tail -n +2 "$out" | tr -d '\r' | diff - /dev/fd/3 3<<'END' >"$err"
activity,going on,,,
metric,last words,1.0,7,
END
check 'and before a SIGKILL'
fresh && cmd 0 run -q -- "$app" threads 8 3000 && cmd 0 sql --csv 'SELECT count(*), count(DISTINCT thread), count(DISTINCT name), sum(step), min(number = step) FROM annotation' && says "$out" '24000,8,8,35988000,1'
check 'eight threads, none lost'
fresh && cmd 0 run -q -- sh -c "'$app' list >/dev/null & '$app' list >/dev/null & '$app' fork; wait" && cmd 0 sql --csv "SELECT count(*), count(DISTINCT execution) FROM annotation WHERE name = 'training'" && says "$out" '2,2'
check 'several programs at once'

fresh && cmd 0 run -q -- "$STEMMA" run -q -- "$app" list && cmd 0 log --json && inner=$(jq -r '.runs[] | select(.command[0] | endswith("p-app")) | .id' "$out") && [ -n "$inner" ] &&
	cmd 0 sql --csv "SELECT DISTINCT ulid FROM annotation" && [ "$(sed -n 2p "$out" | tr -d '\r')" = "$inner" ] && lines "$out" 2
check 'in a run inside a run it is the inner one'\''s'

fresh && cmd 0 run -q -- "$app" hostile && is "$out" 1
check 'hostile words: the program keeps its errno, and ends well'
cmd 0 show --json @ && json '.things[0].annotations | .dropped > 0 and (.configuration | map(select(.value | startswith("long name"))) | length) == 1' &&
	json '.things[0].annotations.tags[0].value == "***"' && json '.things[0].annotations.metrics | map(.value) == ["nan", "inf"] and .[1].step == -9223372036854775807' &&
	json '[.things[0].annotations.configuration[] | select(.name_base64)][0] | (.name_base64 | length) == 344 and (.value_base64 | @base64d | utf8bytelength) > 200' &&
	cmd 0 show @ && ! grep -q "$(printf '\033')" "$out" && says "$out" 'words left out for lack of space' && cmd 0 sql --csv "SELECT length(name), length(version) FROM annotation WHERE value = 'long name'" && says "$out" '1024,1024' && ! holds sk-01234
check 'they stand in the record as far as they go, and no secret does'
cmd 0 table && ! grep -q "$(printf '\033')" "$out" && cmd 0 table --csv && cmd 0 table --json && cmd 0 table --svg --x step nan >"$out" || cmd 1 table --svg --x step nan
check 'tables of them'

# Files that no library wrote: of every wrong size, links, pipes, folders; of a size that nobody could read.
cat >forge.py <<'END'
import os, random, struct, sys
where, ulid = os.environ['STEMMA_APP'].rsplit(':', 1)
random.seed(int(sys.argv[1]))
def name(serial, image=7): return f'{where}/a-{os.getpid():x}-{image:x}-{serial:x}'
def head(**k):
    h = dict(magic=0x3170706161746553, size=20480, used=20480, dropped=2**63, image=7, pidns=os.stat('/proc/self/ns/pid').st_ino, started=1, born=2**62, pid=os.getpid(), serial=1, run=ulid.encode(), tool=b'\xff\x1b[31m' * 10)
    h.update(k)
    return struct.pack('<QQQQQQqqII32s64s', *h.values()).ljust(4096, b'\0')
def entry(kind, name=b'', value=b'', size=None, time=1, **k):
    body = name + value
    n = (72 + len(body) + 7) // 8 * 8
    return struct.pack('<IHHqQQqQIIIIQ', n if size is None else size, kind, k.get('flags', 0), time, k.get('id', 0), k.get('activity', 0), 0, 0, k.get('nname', len(name)), 0, k.get('nvalue', len(value)), 0, len(value)) + body.ljust(n - 72, b'\0')
def chunk(at, entries, n=1): return (struct.pack('<IIQII', 0x6b6e6863, n, at, 1, 0) + entries).ljust(8192 * min(n, 9), b'\0')[:8192 * min(n, 9)]
def put(serial, *parts, **k): open(name(serial, **k), 'wb').write(b''.join(parts))
put(1, head(), chunk(4096, entry(8, b'forged', b'yes') + entry(8, b'beyond', b'x', nvalue=2**32 - 1) + entry(3, b'x', size=2**32 - 8)), chunk(0, b''))
put(2, head(image=8), chunk(4096, entry(8, b'not its own', b'')))           # of another image than its name says
put(3, head(serial=3, run=b'01ARZ3NDEKTSV4RRFFQ69G5FAV'), chunk(4096, entry(4, b'a', id=7 << 32 | 2**31) + entry(5, id=7 << 32 | 5) + entry(8, b'another run', b'')))
put(4, head(serial=4)[:4095])
put(5, b'')
os.symlink('/etc/passwd', name(6)); os.mkfifo(name(9)); os.mkdir(name(10))
with open(name(11), 'wb') as f: f.write(head(serial=11)); f.truncate(1 << 40)
for i in range(20, 60): # anything
    data = bytearray(head(serial=i) + chunk(4096, b''.join(entry(random.randrange(12), b'n' * random.randrange(40), b'v' * random.randrange(80), id=7 << 32 | random.randrange(4)) for _ in range(30)), random.choice([1, 1, 0, 9, 2**31])) + chunk(12288, b''))
    for _ in range(random.randrange(60)): data[random.randrange(len(data))] = random.randrange(256)
    open(name(i), 'wb').write(data[:random.randrange(len(data))] if random.random() < .3 else data)
open(f'{where}/a-zz-1-1', 'w').write('x'); open(f'{where}/..x', 'w').write('x'); open(f'{where}/q-1-1-1', 'w').write('x')
END
fresh
bad=
for seed in 1 2 3; do cmd 0 run -q -- $PYTHON forge.py $seed && cmd 0 show --json @ && jq -e '[.things[0].annotations.tags[] | select(.name == "forged" and .value == "yes")] | length == 1' "$out" >/dev/null && ! grep -q 'not its own\|root:x' "$out" || bad="$bad $seed"; done
cmd 0 fsck && cmd 0 sql --csv 'SELECT DISTINCT ulid FROM annotation' && lines "$out" 4 && [ -z "$bad" ] && ! ls -d /dev/shm/stemma-app-"$(id -u)"-* 2>/dev/null | while read -r d; do [ -f "$d/q-1-1-1" ] && echo "$d"; done | grep .
check "forged files harm nobody, and what is whole in them is the run's own${bad:+; not so with$bad}"

# The folder goes with the run; where it was never made, or is another machine's, nobody is there.
fresh && cmd 0 run -q -- sh -c 'echo "${STEMMA_APP%:*}"; ls -ld "${STEMMA_APP%:*}" >&2' && dir=$(cat "$out") && [ -n "$dir" ] && ! [ -e "$dir" ] && if [ "$(id -u)" = 0 ]; then says "$err" 'drwx-wx-wt'; else says "$err" 'drwx------'; fi
check 'the folder is its own, and goes with the run'
# Another user of the machine, who is none of the run's, looks for the folder and tells the record what it likes.
if [ "$(id -u)" = 0 ] && setpriv --reuid=65534 --regid=65534 --clear-groups test -x "$app" 2>/dev/null; then
	# shellcheck disable=SC2016
	stranger='d=$0; for d in "$d" "$d"/*; do STEMMA_APP=$d:01ARZ3NDEKTSV4RRFFQ69G5FAV "$1" list >/dev/null; done; ls "$0"/* >/dev/null 2>&1 && echo listed; : >"$0/a-1-7-1" && echo written'
	# shellcheck disable=SC2016
	fresh && cmd 0 run -q -- sh -c 'd=${STEMMA_APP%:*}; case ${d%/*} in */stemma-app-*) d=${d%/*} ;; esac; echo "$d" >"$0"; while ! [ -e "$0.done" ]; do sleep 0.05; done' "$T/told" &
	run=$!
	while ! [ -s "$T/told" ]; do sleep 0.05; done
	setpriv --reuid=65534 --regid=65534 --clear-groups sh -c "$stranger" "$(cat "$T/told")" "$app" >"$T/stranger" 2>/dev/null
	: >"$T/told.done"
	wait $run
	[ ! -s "$T/stranger" ] && cmd 0 sql --csv 'SELECT count(*) FROM annotation' && tr -d '\r' <"$out" | grep -qx 0
	check 'no other user of the machine finds it in a run of root'"'"'s'
else
	skip 'no other user of the machine finds it in a run of root'"'"'s' 'only root has programs of other users'
fi
STEMMA_APP=/nowhere/at/all:01ARZ3NDEKTSV4RRFFQ69G5FAV "$app" list >"$out" 2>"$err" && is "$out" '0 -' && STEMMA_APP=garbage "$app" list >"$out" 2>"$err" && is "$out" '0 -' && STEMMA_APP='' "$app" list >"$out" && is "$out" '0 -' &&
	STEMMA_APP="$(printf '/%0300d:x' 0)" "$app" list >"$out" && is "$out" '0 -'
check 'a variable that leads nowhere'
fresh && cmd 0 run -q -- sh -c 'rm -rf "${STEMMA_APP%:*}"; exec "$0" list' "$app" && is "$out" '0 -' && fresh && cmd 0 run -q -- sh -c 'd=${STEMMA_APP%:*}; "$0" fork; chmod 0500 "$d" 2>/dev/null; "$0" list >/dev/null; "$0" fork' "$app"
check 'a folder that is taken away'

fresh && cmd 0 run -q -- "$app" list && id=$(sed -n 's/^1 //p' "$out") && cmd 0 run -q -- "$app" fork && cmd 0 forget "$id" && cmd 0 sql --csv 'SELECT count(*) FROM annotation' && says "$out" 6 && ! holds learning_rate && cmd 0 fsck && cmd 0 index --rebuild && cmd 0 sql --csv 'SELECT count(*) FROM annotation' && says "$out" 6
check 'forget takes it along'
echo secret >input.csv && fresh && cmd 0 run -q -- sh -c '"$0" list; cat input.csv' "$app" && cmd 0 forget --redact-arguments input.csv && cmd 0 sql --csv "SELECT name FROM annotation WHERE kind IN ('used', 'generated') ORDER BY kind" && [ "$(tail -n +2 "$out" | tr -d '\r' | tr '\n' ' ')" = 'model.bin *** ' ] && cmd 0 fsck
check 'a file that is forgotten with its arguments is no word any more'
fresh && cmd 0 run -q -- "$app" list && cmd 0 export -f prov-json && jq -c '.activity[] | select(.["stemma:runType"]) | [.["stemma:runType"], .["stemma:configurationVersion"], .["stemma:metric"], .["stemma:saidUsed"], .["stemma:tag"], (.["stemma:configuration"] | fromjson | length)]' "$out" >"$T/got" && cat >"$T/want" <<'END'
["training","[\"learning_rate=v2\"]","[\"accuracy=0.625\",\"loss=0.25\",\"threaded=1\"]","[\"input.csv\"]","[\"purpose=test\"]",4]
END
diff "$T/want" "$T/got" >"$err" && for f in prov-n turtle prov-jsonld; do cmd 0 export -f $f -o doc.$f && cmd 0 import doc.$f || break; done
check 'exports have it as attributes of the run'
fresh && cmd 0 run -q -- "$app" list && cmd 0 run -q -- "$app" list && cmd 1 diff @~1 @ && says "$out" 'environment   same' && ! grep -q STEMMA_APP "$out"
check 'two runs do not differ by it'

# While a program tells: its file is read-only for whoever else comes, and nothing is put where the folder was.
rm -rf "$STEMMA_HOME" && mkdir elsewhere && cat >tells.py <<'PY' && cmd 0 run -q -- "$PYTHON" tells.py "$BUILD/src/capture/app/libstemma-app.so" && [ "$(cat "$out")" = "['0o100400'] []" ]
import ctypes, glob, os, sys
app = ctypes.CDLL(sys.argv[1])
app.stemma_app_type(b'first')
folder = os.environ['STEMMA_APP'].rsplit(':', 1)[0]
modes = [oct(os.stat(f).st_mode) for f in glob.glob(folder + '/a-*')]
os.rename(folder, folder + '.moved')
os.symlink(os.path.abspath('elsewhere'), folder)
for i in range(20):
    app.stemma_app_config(b'name', b'x' * 60000, b'')
os.unlink(folder)
os.rename(folder + '.moved', folder)
print(modes, os.listdir('elsewhere'))
PY
check 'a program writes to no folder that came in the place of the run'"'"'s'
finish
