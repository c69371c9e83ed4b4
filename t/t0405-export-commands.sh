#!/bin/sh
# export: stages of DVC, read by PyYAML, and the record of datalad run.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

history <<'END'
def gen(h, p, name, **k):
    return h.write(p, h.file(name), size=k.pop('size', 1), **k)
W = work
# A script that runs a program of its own, a pipe into a file that its shell opened, and a make that does the same below sh -c.
h = History('01AAAAAAAAAAAAAAAAAAAAAAAA', argv=['make', 'all'], cwd=W)
make = h.process(); h.exec(make, ['make', 'all'], exe='/usr/bin/make', cwd=W)
h.read(make, h.file(W + '/Makefile', size=5))
odd = ['fit', '--x=a b', "it's", '', '${HOME}', '$(x)', '*', 'tab\there', 'line\nend', 'u\u0085\u2028\ufeff\u00e4', '-', '#', ': ', '!', '&a', '~', 'a=b', '=a']
p = h.process(parent=make); h.exec(p, odd, exe='/usr/bin/fit', cwd=W + '/sub', script=W + '/fit.py')
h.read(p, h.file(W + '/in.csv', size=9)); h.read(p, h.file('/data/big', size=9)); h.read(p, h.file('/usr/lib/libfit.so', size=9))
gen(h, p, W + '/model: #1'); gen(h, p, W + '/- ${odd}\u0085'); gen(h, p, W + '/tmp1'); h.exit(p)
sh = h.process(parent=make); h.exec(sh, ['sh', '-c', 'sort <in.csv | uniq >uniq.csv'], exe='/usr/bin/dash', cwd=W)
a = h.process(parent=sh); pipe = h.file('', kind=PIPE)
h.read(a, h.file(W + '/in.csv')); h.exec(a, ['sort'], exe='/usr/bin/sort', cwd=W); h.read(a, h.file(W + '/in.csv'), via=DESCRIPTOR, bytes_read=9)
h.write(a, pipe, mode=WRITE, via=DESCRIPTOR, bytes_written=3); h.exit(a)
b = h.process(parent=sh); u = h.file(W + '/uniq.csv'); h.write(b, u, size=0); h.exec(b, ['uniq'], exe='/usr/bin/uniq', cwd=W)
h.read(b, pipe, via=DESCRIPTOR, bytes_read=3); h.write(b, u, size=3, mode=WRITE, via=DESCRIPTOR, bytes_written=3); h.exit(b); h.exit(sh)
# One file changed in place, one that a later program reads, a temporary one that is removed.
q = h.process(parent=make); h.exec(q, ['update', 'db'], exe='/usr/bin/update', cwd=W)
h.read(q, h.file(W + '/model: #1')); h.read(q, h.file(W + '/db', size=4)); gen(h, q, W + '/db', size=5, mode=WRITE); h.exit(q)
h.add('name', p=make, op=5, file=h.file(W + '/tmp1'), path=W + '/tmp1')
h.exit(make, code=2); h.end(code=2); h.save(home, evtext)
# Another run in another directory, which makes one of the files again.
h2 = History('01BBBBBBBBBBBBBBBBBBBBBBBB', argv=['redo'], cwd=W + '/sub', start=5000)
p = h2.process(); h2.exec(p, ['redo'], exe='/usr/bin/redo', cwd=W + '/sub')
ino = lambda path: next(l['ino'] for l in h.lines if l['k'] == 'file' and l.get('path') == text(path))
h2.read(p, h2.file(W + '/db', ino=ino(W + '/db'))); h2.write(p, h2.file(W + '/uniq.csv', ino=ino(W + '/uniq.csv')), size=8)
h2.write(p, h2.file(W + '/sub/out'), size=8)
h2.exit(p); h2.end(); h2.save(home, evtext)
END
yaml()
{ # NAME: a Python expression of d, the stages by the first word of their names, is true; of NAME the last output
	$PYTHON -c 'import sys, yaml
with open(sys.argv[1], encoding="utf-8", newline="") as f:
	d = yaml.safe_load(f)
stages = d["stages"]
d = {k.rsplit("-", 1)[0]: v for k, v in stages.items()}
assert len(d) == len(stages), list(stages)
W = sys.argv[3]
assert eval(sys.argv[2]), d' "$out" "$1" "$T/work" 2>>"$err"
}
if $PYTHON -c 'import yaml' 2>/dev/null; then
	cmd 0 export -f dvc-stage 01AAAA && yaml 'sorted(d) == ["fit", "sh", "update"]'
	check 'a stage is what can be run again by itself'
	yaml 'd["fit"]["deps"] == ["/data/big", "fit.py", "in.csv"] and d["sh"]["deps"] == ["in.csv"]'
	check 'deps: what was used; relative where it is below the run'
	# shellcheck disable=SC2016 # no expansion is meant
	yaml 'd["fit"]["outs"] == ["- \\${odd}\u0085", "model: #1"] and "tmp1" not in str(d)'
	check 'outs: what was written and is still there'
	yaml 'd["update"] == {"cmd": "update db", "deps": ["model: #1"], "outs": [{"db": {"persist": True}}]}'
	check 'what was changed in place is an output that stays'
	$PYTHON - "$out" >"$T/words" 2>>"$err" <<'END'
import subprocess, sys, yaml
with open(sys.argv[1], encoding='utf-8', newline='') as f:
    stages = yaml.safe_load(f)['stages']
cmd = next(v['cmd'] for k, v in stages.items() if k.startswith('fit-'))
assert next(v['cmd'] for k, v in stages.items() if k.startswith('sh-')) == "sh -c 'sort <in.csv | uniq >uniq.csv'"
assert '${' not in cmd.replace('\\${', ''), cmd  # what DVC would fill in
cmd = cmd.replace('\\${', '${').replace('cd sub && fit', 'set -- fit', 1) + '; printf "%s\\0" "$@"'
words = subprocess.run(['sh', '-c', cmd], capture_output=True, check=True).stdout.decode().split('\0')[:-1]
want = ['fit', '--x=a b', "it's", '', '${HOME}', '$(x)', '*', 'tab\there', 'line\nend', 'u\u0085\u2028\ufeff\u00e4', '-', '#', ': ', '!', '&a', '~', 'a=b', '=a']
assert words == want, (words, want)
END
	check 'cmd: a shell makes the same arguments of it'
	cmd 0 export -f dvc-stage && yaml 'sorted(d) == ["fit", "redo", "update"] and d["redo"]["outs"] == ["out", W + "/uniq.csv"] and d["redo"]["wdir"] == "sub" and d["redo"]["deps"] == [W + "/db"] and "wdir" not in d["fit"]'
	check 'of several runs: each path once, by the last; each in its directory'
	cmd 0 export -f dvc-stage --since 2031-01-01 && is "$out" 'stages: {}'
	check 'nothing'
	printf 'b\na\n' >old && STEMMA_HOME=$T/replaced cmd 0 run -- sort old -o made && echo c >new && mv new old &&
		STEMMA_HOME=$T/replaced cmd 0 run -- cat old && STEMMA_HOME=$T/replaced cmd 0 export -f dvc-stage @~1 && yaml 'd["sort"]["deps"] == ["old"] and d["sort"]["outs"] == ["made"]'
	check 'deps: a file from outside that another one replaced since'
else
	skip 'stages of DVC' 'python3-yaml is not installed'
fi

record()
{ # a filter of jq says true of the record in the last output
	sed -n '/^=== Do not change lines below ===$/,/^^^^ Do not change lines above ^^^$/p' "$out" | sed '1d;$d' >"$T/run.json"
	jq -e "$1" "$T/run.json" >"$T/jq" 2>>"$err" || {
		echo "not so: $1" >>"$err"
		return 1
	}
}
mkdir .git sub && cmd 0 export -f datalad-run 01AAAA && [ "$(head -n 1 "$out")" = '[DATALAD RUNCMD] make all' ] && [ -z "$(sed -n 2p "$out")" ] && says "$out" '/data/big'
check 'datalad run: the message'
record '.cmd == ["make", "all"] and .dsid == null and .exit == 2 and .chain == [] and .pwd == "." and (keys == ["chain", "cmd", "dsid", "exit", "extra_inputs", "inputs", "outputs", "pwd"])' &&
	record '.inputs == ["Makefile", "db", "in.csv"] and .extra_inputs == ["fit.py"] and (.outputs | length == 4) and (.outputs | index("db") and index("uniq.csv") and index("model: #1"))'
check 'datalad run: the record'
cmd 0 export -f datalad-run 01BBBB && record '.cmd == "redo" and .pwd == "sub" and .inputs == ["../db"] and .outputs == ["out", "../uniq.csv"] and .exit == 0'
check 'datalad run: in a directory of the dataset'
rmdir .git && mkdir sub/.datalad && cmd 0 export -f datalad-run 01BBBB && record '.pwd == "." and .inputs == [] and .outputs == ["out"]' && says "$out" "  \"$T/work/db\""
check 'datalad run: what is outside of the dataset'
if $PYTHON -c 'import datalad.local.rerun' 2>/dev/null; then
	$PYTHON - "$out" "$T/run.json" 2>"$err" <<'END'
import json, sys
from datalad.local.rerun import get_run_info
message, record = get_run_info(None, open(sys.argv[1]).read())
assert message.split('\n')[0] == 'redo' and record == json.load(open(sys.argv[2])), (message, record)
END
	check 'datalad run: DataLad reads the same'
else
	skip 'datalad run: DataLad reads the same' 'python3-datalad is not installed'
fi
history <<'END'
h = History('01CCCCCCCCCCCCCCCCCCCCCCCC', argv=['awk', '{print $1}', 'a[1]*?.txt'], cwd=work, start=9000)
p = h.process(); h.exec(p, ['awk', '{print $1}', 'a[1]*?.txt'], exe='/usr/bin/awk', cwd=work)
h.read(p, h.file(work + '/a[1]*?.txt', size=3)); h.write(p, h.file(work + '/{x}', size=3)); h.exit(p); h.end(); h.save(home, evtext, 'C')
END
cmd 0 export -f datalad-run 01CCCC && record '.cmd == ["awk", "{{print $1}}", "a[1]*?.txt"] and .inputs == ["a[[]1][*][?].txt"] and .outputs == ["{{x}}"]'
check 'datalad run: what DataLad would take for its own is none'
if $PYTHON -c 'import datalad.core.local.run' 2>/dev/null; then
	touch 'a[1]*?.txt' 'a1xx.txt' && $PYTHON - "$T/run.json" "$T/work" >"$out" 2>"$err" <<'END'
import json, shlex, sys
from datalad.core.local.run import SequenceFormatter, normalize_command
from datalad.support.globbedpaths import GlobbedPaths
r = json.load(open(sys.argv[1]))
f = SequenceFormatter()
assert shlex.split(f.format(normalize_command(r['cmd']))) == ['awk', '{print $1}', 'a[1]*?.txt'], r
assert GlobbedPaths([f.format(p) for p in r['inputs']], pwd=sys.argv[2]).expand() == ['a[1]*?.txt'], r
assert [f.format(p) for p in r['outputs']] == ['{x}'], r
END
	check 'datalad run: as DataLad takes it'
else
	skip 'datalad run: as DataLad takes it' 'python3-datalad is not installed'
fi
cmd 125 export -f datalad-run && says "$err" 'several' && cmd 125 export -f datalad-run --since 2031-01-01 && says "$err" 'no run' && [ ! -s "$out" ]
check 'datalad run: of one run'
finish
