#!/bin/sh
# libstemma: a program that is not stemma's asks a record, and gets what the commands print; so does Python. The truth of
# what is asked is the history made here; that JSON says it is what t03xx show of the commands.
ask=${STEMMA_ASK:-}
library=${STEMMA_LIBRARY:-}
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
ask=${ask:-$BUILD/tests/prog/library}
library=${library:-$BUILD/src/lib/libstemma.so.0}
[ -x "$ask" ] || {
	echo "1..0 # SKIP no program at $ask"
	exit
}

asked()
{ # STATUS QUESTION ARG...: of the record
	want=$1
	question=$2
	shift 2
	"$ask" "$question" "$STEMMA_HOME" "$@" >"$out" 2>"$err"
	got=$?
	[ $got = "$want" ] && return 0
	echo "status $got, not $want" >>"$err"
	return 1
}
same()
{ # COMMAND ARG...: the answer in $out is what the command prints as JSON
	mv "$out" "$T/asked"
	"$STEMMA" "$@" >"$T/told" 2>/dev/null </dev/null
	$PYTHON - "$T/asked" "$T/told" <<'END' >"$out" 2>"$err"
import json, sys
a, b = (json.load(open(p)) for p in sys.argv[1:])
if a != b: sys.exit('%s\nis not\n%s' % (json.dumps(a)[:3000], json.dumps(b)[:3000]))
END
}

history <<'END'
for k, word in enumerate(('ONE', 'TWO')):
    h = History('01AAAAAAAAAAAAAAAAAAAAA' + word, argv=['./all.sh', str(k)], start=k * 1000)
    sh = h.process(); h.exec(sh, ['/bin/sh', './all.sh', str(k)], exe='/usr/bin/dash', script='/w/all.sh')
    a = h.process(sh); h.exec(a, ['sort', '-k%d' % (k + 1), 'in'], exe='/usr/bin/sort')
    h.read(a, h.file('/w/in', size=9)); h.write(a, h.file('/w/mid'), size=9); h.exit(a)
    b = h.process(sh); h.exec(b, ['uniq', '-c', 'mid'], exe='/usr/bin/uniq')
    h.read(b, h.file('/w/mid', size=9)); h.write(b, h.file('/w/out%d' % k), size=4); h.exit(b)
    h.exit(sh); h.end(); h.save(home, evtext)
END
asked 0 why /w/out1 && same why --json /w/out1
check 'why'
asked 0 lineage /w/out1 && same lineage --json /w/out1 && asked 0 lineage /w/in 4 && same lineage --json --down /w/in &&
	asked 0 lineage /w/out1 2 && same lineage --json --certain /w/out1 && asked 0 lineage /w/out1 1 && same lineage --json --all /w/out1 &&
	asked 0 lineage /w/out1 256 && same lineage --json --stages /w/out1
check 'lineage: up, down, certain, all, by stages'
asked 0 runs && same log --json && asked 0 runs 1 && same log --json -n 1
check 'runs'
asked 0 find 'used /w/in' && same find --json 'used /w/in' && asked 0 find 'runs that used /w/in' && same find --json 'runs that used /w/in'
check 'find'
asked 0 diff @~1 @ && same diff --json @~1 @ && asked 0 diff /w/out0 /w/out1 && same diff --json /w/out0 /w/out1
check 'diff: runs, and versions'
asked 0 show @ && same show --json @ && asked 0 show /w/mid && same show --json /w/mid && asked 0 show '/w/mid@{1}' && same show --json '/w/mid@{1}' &&
	asked 0 show @ 1 && same show --json --all @ && asked 0 why /w/out1 &&
	id=$($PYTHON -c 'import json, sys; print(json.load(sys.stdin)["answers"][0]["makers"][0]["id"])' <"$out") &&
	asked 0 show "$id" && same show --json "$id" && mv "$T/asked" "$out" && says "$out" '"uniq"' && asked 1 show /w/nosuch && says "$err" nosuch
check 'show: a run, a file, a version, an execution, all'
asked 0 stat @ && same stat --json @ && asked 0 stat /w/in && same stat --json /w/in && asked 0 stat '/w/mid@{1}' 1 && same stat --json --all '/w/mid@{1}' &&
	asked 0 stat @ 0 1 && same stat --json -n 1 @ && asked 0 stat @ 32 && same stat --json --times @ && asked 0 stat @ 16 && same stat --json --hdf5 @
check 'stat: a run, a file, a version, few, over time, objects'
asked 0 resolve @ && says "$out" '0 01AAAAAAAAAAAAAAAAAAAAATWO 0 0' && asked 0 resolve '/w/mid@{1}' && says "$out" '1 v' && says "$out" ' 1 3' &&
	asked 0 resolve /w/mid && says "$out" ' 2 3'
check 'what a word means: a run, a version, a file that is gone'
asked 1 why /w/nosuch && says "$err" "'/w/nosuch'" && [ ! -s "$out" ] && asked 1 resolve @~9 && asked 1 diff @ /w/nosuch && asked 1 summaries
check 'what is not recorded: status, and a sentence'
asked 2 find 'used' && [ -s "$err" ] && asked 2 diff @ /w/out1 && says "$err" 'different kinds' && asked 2 summaries /w/out1
check 'what makes no sense'
"$ask" runs "$T/nowhere" >"$out" 2>"$err"
[ $? = 1 ] && says "$err" 'no runs have been recorded' && [ ! -e "$T/nowhere" ]
check 'no record, and none is made'
READ_ONLY=1 "$ask" why "$STEMMA_HOME" /w/out1 >"$out" 2>"$err" && same why --json /w/out1
check 'only read'
"$ask" why '' /w/out1 >"$out" 2>"$err" && same why --json /w/out1
check 'where the record is, from the settings'
AGAIN=1 "$ask" lineage "$STEMMA_HOME" /w/out1 >"$out" 2>"$err" && same lineage --json /w/out1
check 'a hundred questions, and a hundred looks for what is new'
if command -v cc >/dev/null 2>&1; then
	printf '#include "zero.h"\nint main(void) { return ZERO; }\n' >zero.c
	printf '#define ZERO 0\n' >zero.h
	cmd 0 cc -- zero.c -o zero && asked 0 show zero && same show --json zero && asked 0 show zero 64 && same show --json --sources zero &&
		printf '#define ZERO 1\n' >zero.h && asked 0 show zero 64 && same show --json --sources zero && mv "$T/asked" "$out" && says "$out" '"now": "changed"'
	check 'show: how a program was built, and whether its sources changed'
else
	skip 'show: how a program was built' 'no cc'
fi
printf 'b\na\n' >words
if cmd 0 run -q --exact -- sort words -o counted; then
	asked 0 stat @ 32 && same stat --json --times @ && mv "$T/asked" "$out" && says "$out" '"api": "read"' && says "$out" over_time
	check 'stat: calls that were counted'
	moment=$($PYTHON -c 'import json, sys, calendar, time
t = [c["first"] for c in json.load(sys.stdin)["calls"]][0]
print("%d%s" % (calendar.timegm(time.strptime(t[:19], "%Y-%m-%dT%H:%M:%S")), t[20:29]))' <"$out")
	asked 0 stat-at @ 0 "$moment" && same stat --json --at "$($PYTHON -c 'import sys, time
t = int(sys.argv[1]); print("%s.%09dZ" % (time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(t // 10**9)), t % 10**9))' "$moment")" @ &&
		mv "$T/asked" "$out" && says "$out" '"argv"' && asked 0 stat-at @ 0 5 && says "$out" '"under_way": []'
	check 'stat: what was under way at a moment; nothing was'
else
	check 'a run whose calls are counted'
fi
if cmd 0 run -q --summary "$T/summary" -- sort words -o sorted; then
	asked 0 summaries @ && $PYTHON - "$out" "$T/summary" <<'END' 2>"$err"
import json, sys
got, told = json.load(open(sys.argv[1])), json.load(open(sys.argv[2]))
assert got['format'] == 1 and len(got['summaries']) == 1, got
one = got['summaries'][0]
assert one['command'] == told['command'] == ['sort', 'words', '-o', 'sorted'], one
figures = [name for name, figure in told.items() if isinstance(figure, dict) and 'value' in figure]
assert 'cpu_time' in figures, told
for name in figures:
    assert one[name] == told[name], (name, one[name], told[name])
END
	check 'what a run used is what its summary said'
else
	check 'a run with a summary'
fi
if [ -e "$library" ]; then
	STEMMA_LIBRARY=$library PYTHONPATH=$here/bindings/python PYTHONDONTWRITEBYTECODE=1 $PYTHON - "$STEMMA_HOME" <<'END' >"$out" 2>"$err"
import json, subprocess, sys, os
from stemma.record import Record, NotRecorded, RecordError
with Record(sys.argv[1]) as r:
    answer = r.why('/w/out1')
    assert [m['argv'] for m in answer['makers']] == [['uniq', '-c', 'mid']], answer
    assert [(i['path'], i['certainty']) for i in answer['inputs']] == [('/w/mid', 'must')], answer
    paths = {e['path'] for e in r.lineage('/w/out1')['entities']}
    assert {'/w/in', '/w/mid', '/w/out1'} <= paths and '/w/out0' not in paths, paths
    paths = {e['path'] for e in r.lineage('/w/in', down=True)['entities']}  # of the file that has the name now
    assert '/w/out1' in paths and '/w/out0' not in paths, paths
    assert [x['command'] for x in r.runs(count=1)] == [['sort', 'words', '-o', 'sorted']]
    assert '/w/out1' in {e['path'] for e in r.find('from /w/in')}
    assert r.resolve('/w/mid') == {**r.resolve('/w/mid'), 'kind': 'file', 'version': 2, 'disk': 'gone'}
    assert r.diff('/w/out0', '/w/out1')['differs'] is True
    sums = r.stat('/w/mid')
    assert sums['total']['reads'] == sums['total']['writes'] == 1, sums
    assert {e['argv'][0] for e in sums['executions']} == {'sort', 'uniq'}, sums
    run = r.show('@~1')
    assert [t['kind'] for t in run] == ['run'] and run[0]['exit'] == {'status': 0}, run
    claim = r.claim('@')
    assert r.trust('@', claim=claim)['judged'] in (True, False) and r.verify()['seals'] == 0, claim
    assert r.trust('@', '@~1')['runs'] == r.trust('@', '@~1', '@')['runs'] and len(r.trust('@', '@~1')['runs']) == 2
    assert len(r.stat('/w/mid', count=1)['executions']) == 1 and r.stat_at('/w/mid', 5) == []
    assert r.summaries('@')[0]['command'][0] == 'sort'
    r.update()
    try:
        r.why('/w/nosuch')
        sys.exit('no error')
    except NotRecorded as error:
        assert '/w/nosuch' in str(error), error
    try:
        r.find('used')
        sys.exit('no error')
    except NotRecorded:
        sys.exit('the wrong error')
    except RecordError:
        pass
try:
    r.why('/w/out1')
    sys.exit('asked a closed record')
except RecordError:
    pass
END
	check 'Python'
else
	skip Python 'no libstemma'
fi
# Traces: of calls, which every program leaves.
printf 'b\na\n' >words
if cmd 0 run -q --trace-calls -- sort words && printf 'c\nb\na\n' >words && cmd 0 run -q --trace-calls -- sort words; then
	asked 0 diff-trace @~1 @ && same diff --trace --json @~1 @ && mv "$T/asked" "$out" && json '.threads | length == 1 and .[0].verdict != "same"' &&
		asked 0 diff-trace @~1 @ 1 && same diff --trace --all --json @~1 @ && asked 0 diff @~1 @ && same diff --json @~1 @ && mv "$T/asked" "$out" &&
		says "$out" '"lines"' && asked 1 diff-trace /w/out0 @ && [ -s "$err" ] && asked 1 diff-trace 01AAAAAAAAAAAAAAAAAAAAAONE @ && says "$err" 'no trace'
	check 'diff: traces, and the category lines'
else
	check 'runs with traces of calls'
fi
# Trust: what the record shows, a claim, the chain of seals.
printf 'b\na\n' >words
if cmd 0 run -q --digest -- sort words -o sorted; then
	asked 0 trust @ && same trust --json @ && asked 0 trust && same trust --json && asked 0 claim @ && same trust --report @ && cp "$T/asked" claim.json &&
		asked 0 trust @ "$(cat claim.json)" && same trust --json --claim claim.json @ && asked 0 trust '' "$(cat claim.json)" 5% &&
		same trust --json --claim claim.json -t 5% && asked 2 trust @ nonsense && [ -s "$err" ] && asked 2 trust @ "$(cat claim.json)" much && asked 1 trust 'bench:nosuch'
	check 'trust: what is shown, a claim, what makes no sense'
	asked 0 verify && same trust --verify --json && cmd 0 trust --seal --json && head=$(jq -r .head "$out") && asked 0 verify "$head" &&
		same trust --verify --json "$head" && mv "$T/asked" "$out" && says "$out" '"sound": true' && asked 2 verify abc
	check 'trust: the chain of seals'
else
	check 'a run with digests'
fi
# A page of the index is checked when it is read: whichever is damaged, an answer is the right one, or it is said. One that
# no question reads is no hindrance.
if [ -e "$library" ]; then
	cp -R "$STEMMA_HOME" "$T/pages"
	STEMMA_LIBRARY=$library PYTHONPATH=$here/bindings/python PYTHONDONTWRITEBYTECODE=1 $PYTHON - "$T/pages" <<'END' >"$out" 2>"$err"
import errno, glob, os, sys
from stemma.record import Record, RecordError, READ_ONLY
home, PAGE = sys.argv[1], 16384
index = os.path.join(home, 'index.db')
questions = [lambda r: r.why('/w/out1'), lambda r: r.lineage('/w/in', down=True), lambda r: r.runs(), lambda r: r.show('/w/mid'),
             lambda r: r.find('used /w/in'), lambda r: r.diff('/w/out0', '/w/out1'), lambda r: r.stat('/w/mid', all=True),
             lambda r: r.resolve('/w/mid')]
with Record(home) as r:
    truth = [q(r) for q in questions]
good = open(index, 'rb').read()
def damage(page):
    bad = bytearray(good)
    bad[page * PAGE + 37 * page % PAGE] ^= 4
    for f in glob.glob(index + '*'):
        os.unlink(f)
    open(index, 'wb').write(bad)
refused = answered = mended = 0
for page in range(len(good) // PAGE):
    damage(page)
    for k, q in enumerate(questions):  # alone: the next one may read another page
        try:
            with Record(home, READ_ONLY) as r:
                answer = q(r)
            assert answer == truth[k], ('read only', page, k, answer)
            answered += 1
        except RecordError as error:
            assert error.code == -errno.ENOTRECOVERABLE and error.hint, (page, k, error, error.code)
            refused += 1
    k = page % len(questions)
    with Record(home) as r:
        for q, right in list(zip(questions, truth))[k:] + list(zip(questions, truth))[:k]:
            answer = q(r)
            assert answer == right, ('page %d' % page, answer, right)
    mended += open(index, 'rb').read()[page * PAGE + 37 * page % PAGE] == good[page * PAGE + 37 * page % PAGE]
print(len(good) // PAGE, refused, answered, mended)
assert refused > 20 and answered > 20 and mended > 5, (refused, answered, mended)
END
	check 'damaged pages of the index'
else
	skip 'damaged pages of the index' 'no libstemma'
fi
# The manual's example, as a user would compile it.
if command -v cc >/dev/null 2>&1 && command -v mandoc >/dev/null 2>&1 && [ -e "$library" ]; then
	mandoc -T ascii "$here/man/libstemma.3" | sed 's/.\x08//g' | sed -n '/^EXAMPLES/,$p' |
		sed -n '/#include <stemma/,/The same in Python/p' | sed '$d' >example.c
	cc -I "$here/include" -o example example.c -L "$(dirname "$library")" -lstemma >"$out" 2>"$err" &&
		LD_LIBRARY_PATH=$(dirname "$library") ./example /w/out1 >"$out" 2>"$err" && same why --json /w/out1 && mv "$T/asked" "$out" && says "$out" uniq
	check 'the example of the manual'
else
	skip 'the example of the manual' 'no cc, mandoc or libstemma'
fi
# A record that somebody else made: what stands where the index belongs is no file that may be written, or waited for.
refuses()
{ # the library and a command say so; index --rebuild puts an index there
	asked 2 why /w/out1 && says "$err" 'not a regular file' && ! READ_ONLY=1 "$ask" why "$STEMMA_HOME" /w/out1 >"$out" 2>"$err" &&
		says "$err" 'not a regular file' && cmd 125 why /w/out1 && says "$err" 'not a regular file' && cmd 0 index --rebuild &&
		[ -f "$STEMMA_HOME/index.db" ] && [ ! -L "$STEMMA_HOME/index.db" ] && asked 0 why /w/out1
}
kept=$STEMMA_HOME
cp -R "$STEMMA_HOME" "$T/received"
STEMMA_HOME=$T/received
: >"$T/mine"
for kind in link dangling fifo; do
	rm -f "$STEMMA_HOME"/index.db*
	case $kind in
	link) ln -s "$T/mine" "$STEMMA_HOME/index.db" ;;
	dangling) ln -s "$T/not-mine" "$STEMMA_HOME/index.db" ;;
	fifo) mkfifo "$STEMMA_HOME/index.db" ;;
	esac
	refuses && [ -f "$T/mine" ] && [ ! -s "$T/mine" ] && [ ! -e "$T/not-mine" ]
	check "a received record whose index is not a file: $kind"
done
rm -f "$STEMMA_HOME/index.db.lock"
ln -s "$T/not-mine" "$STEMMA_HOME/index.db.lock"
"$ask" why "$STEMMA_HOME" /w/out1 >"$out" 2>"$err"
[ ! -e "$T/not-mine" ]
check 'a received record whose lock is a link'
ln -s "$kept" "$T/way"
STEMMA_HOME=$T/way
asked 0 why /w/out1 && same why --json /w/out1
check 'a record that is reached by a link'
STEMMA_HOME=$kept
# The symbols are those of the header, and no others.
nm -D --defined-only "$library" 2>/dev/null | sed -n 's/^[0-9a-f]* T \([a-z_]*\).*/\1/p' | sort >"$out"
sed -n 's/^.*[ *]\(stemma_[a-z_]*\)(.*/\1/p' "$here/include/stemma/stemma.h" | grep -v '^stemma_free$' | sort -u >"$T/declared"
echo stemma_free | sort - "$T/declared" >"$T/all"
is "$out" "$(cat "$T/all")"
check 'the library shows what the header declares'
finish
