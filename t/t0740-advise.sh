#!/bin/sh
# What to ask for: each method's answer and what it would have given are those of the formulas, on histories whose needs are known.
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
submit()
{ # NAME: the tasks that the Python on standard input prints, into a record of its own
	STEMMA_HOME=$T/$1
	py >"$T/$1.jsonl" && "$STEMMA" archive --submit "$T/$1.jsonl" >"$out" 2>"$err"
}

cmd 1 advise sort x
check 'without a record'

# Against the reference: needs that follow the input, with noise; some tasks killed, one failed, some figures not known.
submit reference <<'END'
r = random.Random(11)
for i in range(180):
    size = int(r.lognormvariate(16, 1))
    memory = int(20e6 + 2 * size + r.gauss(0, 2e6))
    how = {}
    if i % 17 == 3:
        how = {'signal': 9, 'oom': i % 2 == 1}
    elif i % 29 == 5:
        how = {'exceeded': [{'name': 'memory', 'peak': memory, 'limit': memory - 10}]}
    elif i == 100:
        how = {'exit_status': 1}
    peak = memory if i % 4 else (memory, memory - 1000, memory + 4096)
    if i % 13 == 1:
        peak = None
    write([task(['sort', '-n', '-o', 'o%d' % i, 'i%d' % i], i * 100.0, round(1 + size / 1e7 + abs(r.gauss(0, .2)), 9), cores=round(r.uniform(.8, 1.9), 3),
                memory_resident_peak=peak, disk_footprint_peak=2 * size, label={'input_bytes': str(size)}, **how)], sys.stdout)
END
check 'a history is taken in'
for q in 99 90; do
	cmd 0 advise --json --quantile $q --input 30000000 sort -n -o out in && cp "$out" "$T/got.json" && py "$T/reference.jsonl" "$T/got.json" $q >"$out" 2>"$err" <<'END'
tasks = [json.loads(l) for l in open(sys.argv[1])]
got, q = json.load(open(sys.argv[2])), int(sys.argv[3]) / 100
bad = 0
def near(what, a, b):
    global bad
    if not (a is None and b is None or a is not None and b is not None and math.isclose(a, b, rel_tol=1e-7)):
        bad += 1
        print(what, a, b)
def needs(name, with_time):
    found = []
    for t in tasks:
        f = t[name]
        if 'absent' in f:
            continue
        cut = t['exit_type'] != 'normal' or t['exit_status'] != 0
        found.append(archive.Task(f.get('high', f['value']), t['wall_time']['value'] if with_time else 1.0, int(t['label']['input_bytes']), cut))
    return found
for resource, name in (('memory', 'memory_resident_peak'), ('wall', 'wall_time'), ('disk', 'disk_footprint_peak')):
    mine, theirs = needs(name, resource != 'wall'), got['resources'][resource]
    advice, tested = archive.Advice(mine, q), archive.backtest(mine, 10, q)
    near(resource + ' most', theirs['most'], max(t.need for t in mine))
    near(resource + ' censored', theirs['censored'], sum(t.censored for t in mine))
    near(resource + ' absent', theirs['absent'], 180 - len(mine))
    near(resource + ' tasks', theirs['tasks'], len(mine))
    offset, slope, margin = advice.line
    near(resource + ' slope', theirs['line']['per_byte'], slope)
    near(resource + ' offset', theirs['line']['offset'] + 1e9, offset + 1e9)
    best = None
    for m in archive.METHODS:
        a, b = theirs['methods'][m], tested[m]
        near('%s %s' % (resource, m), a['value'], advice.ask(m, 30000000))
        for i, key in enumerate(('tasks', 'failed', 'attempts', 'allocated', 'used')):
            near('%s %s %s' % (resource, m, key), a['backtest'][key], b[i])
        if b[1] <= .05 * b[0] and (best is None or b[4] / b[3] > tested[best][4] / tested[best][3]):
            best = m
    near(resource + ' value', theirs['value'], advice.ask(best, 30000000))
    if theirs['method'] != best:
        bad += 1
        print(resource, theirs['method'], best)
if got['tasks'] != 180 or got['killed'] != sum(t['exit_type'] != 'normal' for t in tasks) or got['failed'] != 1:
    bad += 1
    print(got['tasks'], got['killed'], got['failed'])
sys.exit(bad > 0)
END
	check "answers and back-test are those of the reference, $q %"
done

# Remission times of a trial of 1963 (Freireich and others), the usual example of Kaplan and Meier's estimate: half of the
# patients had one of up to 23 weeks; the estimate stays above 0.44, so that a tenth is beyond what was seen.
submit weeks <<'END'
weeks = '6 6 6 6+ 7 9+ 10 10+ 11+ 13 16 17+ 19+ 20+ 22 23 25+ 32+ 32+ 34+ 35+'.split()
for i, w in enumerate(weeks):
    cut = {'signal': 9, 'oom': True} if w.endswith('+') else {}
    write([task(['treat', '-x'], i, 1, memory_resident_peak=int(w.rstrip('+')) << 20, **cut)], sys.stdout)
END
cmd 0 advise --json --quantile 50 --method quantile treat -x && json '.resources.memory.value == 23 * 1048576 and .resources.memory.beyond_history == false and .resources.memory.censored == 12' &&
	cmd 0 advise --json --quantile 55 --method quantile treat -x && json '.resources.memory.value == 23 * 1048576' &&
	cmd 0 advise --json --quantile 56 --method quantile treat -x && json '.resources.memory.value == 70 * 1048576 and .resources.memory.beyond_history == true and .ask.memory == 70 * 1048576'
check 'tasks that were killed: an example with a known answer'
cmd 0 advise --json --method maximum treat -x && json '.resources.memory.value == 42 * 1048576 and .resources.memory.beyond_history == true'
check 'who had the most was killed there: to ask for a fifth more is a guess, and that is said'

# Nine tasks in ten need 10 MiB, one 100 MiB: to ask all for 100 wastes 81 parts; to ask for 10 first wastes 10 in one of ten.
submit two <<'END'
for i in range(200):
    write([task(['two', '--seed', str(i)], i, 1, memory_resident_peak=(100 if i % 10 == 5 else 10) << 20)], sys.stdout)
END
cmd 0 advise --json two --seed 5 && json '.resources.memory.methods | .waste.value == 10485760 and .throughput.value == 10485760 and .quantile.value == 104857600 and .maximum.value == 125829120' &&
	json '.resources.memory.method == "quantile" and .resources.memory.methods.quantile.backtest == {tasks: 190, failed: 0, attempts: 190, allocated: (190 * 104857600), used: (171 * 10485760 + 19 * 104857600), waste_percent: 81}' &&
	json '.resources.memory.methods.waste.backtest | .failed == 19 and .attempts == 209 and .allocated == 190 * 10485760 + 19 * 104857600' &&
	cmd 0 advise --json --failures 15 two --seed 5 && json '.resources.memory.method == "waste" and .ask.memory == 10485760'
check 'the waste of two ways to ask, counted by hand'

submit kinds <<'END'
for i in range(30):
    write([task(['tool', 'sort', '-o', 'out', 'in%d' % i], i, 2, memory_resident_peak=10 << 20)], sys.stdout)
for i in range(12):
    write([task(['tool', 'index', 'in%d' % i], 100 + i, 2, memory_resident_peak=20 << 20)], sys.stdout)
for i in range(3):
    write([task(['tool', 'view', 'x'], 200 + i, 2, memory_resident_peak=30 << 20)], sys.stdout)
for i in range(4):
    write([task(['fails', 'x'], 300 + i, 2, memory_resident_peak=5 << 20, exit_status=1)], sys.stdout)
END
cmd 0 advise --json tool sort -o a b && json '.key == "shape" and .like == "tool sort -o *" and .tasks == 30' && cmd 0 advise --json -- tool sort -m a && json '.key == "command" and .tasks == 30' &&
	cmd 0 advise --json /opt/bin/tool view x && json '.key == "program" and .tasks == 45 and .resources.memory.most == 30 * 1048576'
check 'which tasks are like it'
cmd 0 advise --json fails x && json '.tasks == 4 and .failed == 4 and .resources.memory.censored == 0 and .resources.memory.method == "maximum" and .resources.memory.value == 6 * 1048576 and .resources.memory.methods.maximum.backtest == null' &&
	cmd 0 advise fails x && says "$err" 'few tasks: with'
check 'few tasks: the most seen, and a fifth more'
cmd 1 advise nobody && says "$err" "no task like 'nobody'" && [ ! -s "$out" ]
check 'a command without a history'

STEMMA_HOME=$T/reference
ask()
{ # FORMAT LINE...: these lines
	format=$1
	shift
	cmd 0 advise --method maximum --format "$format" --where 'start>=2026-01-01' sort -n -o out in && printf '%s\n' "$@" >"$T/lines" && cmp "$T/lines" "$out" >>"$err"
}
cmd 0 advise --json --method maximum sort -n -o out in && mib=$(jq '.ask.memory / 1048576' "$out") && disk=$(jq '.ask.disk / 1048576' "$out") && wall=$(jq .ask.wall "$out") && cores=$(jq .ask.cores "$out") &&
	json '.resources.memory.value <= .ask.memory and .resources.memory.value > .ask.memory - 1048576 and .resources.wall.value <= .ask.wall and .resources.wall.value > .ask.wall - 60 and .ask.wall % 60 == 0 and .ask.cores == 2' &&
	minutes=$(((wall + 59) / 60)) && time=$(printf '%d:%02d:%02d' $((wall / 3600)) $((wall / 60 % 60)) $((wall % 60))) &&
	ask slurm "#SBATCH --mem=${mib}M" "#SBATCH --cpus-per-task=$cores" "$(printf '#SBATCH --time=%d:%02d:00' $((minutes / 60)) $((minutes % 60)))" "#SBATCH --tmp=${disk}M" &&
	ask pbs "#PBS -l select=1:ncpus=$cores:mem=${mib}mb" "#PBS -l walltime=$time" &&
	ask htcondor "request_memory = ${mib}MB" "request_cpus = $cores" "request_disk = ${disk}MB" "allowed_execute_duration = $wall" &&
	ask nextflow "memory '$mib MB'" "cpus $cores" "time '${wall}s'" "disk '$disk MB'" &&
	ask snakemake "threads: $cores" resources: "    mem_mb=$(((mib * 1048576 + 999999) / 1000000))," "    runtime=$minutes," "    disk_mb=$(((disk * 1048576 + 999999) / 1000000))" &&
	ask stemma "--limit memory=${mib}M,wall=${wall}s,footprint=${disk}M"
check 'in the words of schedulers and workflow systems'
COLUMNS=80 "$STEMMA" advise sort -n -o out in >"$out" 2>"$err" && ! grep -q '.\{81\}' "$out" && says "$out" 'request' 'FAILED FIRST' 'quantile' 'lower bounds' && says "$err" 'the input size improves the request: use --input SIZE, or name existing files'
check 'the text fits 80 columns'

# Input: by the files that the command names, which are there; what a run of the command made is no input.
head -c 30000000 /dev/zero >in && cmd 0 advise --json sort -n -o out in && json '.input == 30000000 and .resources.memory.methods.regression.value > 0' && cp "$out" "$T/a.json" &&
	cmd 0 advise --json --input 30000000 sort -n -o out in && cmp "$out" "$T/a.json" >>"$err"
check 'input: the files that a command names'
history <<'END'
import json
for i in range(14):
    run = '01AAAAAAAAAAAAAAAAAAAAAAA' + 'ABCDEFGHJKMNPQ'[i]
    h = History(run, argv=['fit', 'in.csv', 'out'], start=1000 * i)
    p = h.process()
    h.exec(p, ['fit', 'in.csv', 'out'], exe='/usr/bin/fit')
    h.read(p, h.file('/usr/lib/libc.so.6', size=999999999))
    h.read(p, h.file('/w/in.csv', size=1000 * (i + 1)))
    h.read(p, h.file('/w/table', size=50))
    h.write(p, h.file('/w/out'), size=7)
    h.read(p, h.file('/w/out'))
    h.exit(p)
    one = lambda v, u: {'value': v, 'unit': u, 'method': 'made', 'complete': True}
    h.add('summary', run=run, text=json.dumps({'format': 1, 'run': run, 'command': ['fit', 'in.csv', 'out'], 'cwd': '/w', 'user': 'ann', 'exit_type': 'normal', 'exit_status': 0,
          'start': one(1767225600 + 1000 * i, 's'), 'wall_time': one(2, 's'), 'memory_resident_peak': one(5000 + 3 * (1000 * (i + 1) + 50), 'B')}))
    h.end(); h.save(home, evtext)
END
# 14 runs read 1,000 to 14,000 bytes and a table of 50; the memory is 5,000 and 3 for each byte of what they read.
cmd 0 advise --json --like @ && json '.input == 14050 and .tasks == 14 and (.resources.memory.line.per_byte - 3 | fabs) < 1e-9 and (.resources.memory.line.offset - 5000 | fabs) < 1e-3 and .resources.memory.methods.regression.value == 47150' &&
	cmd 0 advise --json --like @~13 && json '.input == 1050 and .resources.memory.methods.regression.value == 8150'
check 'input: what the record says was read, without the machine and the results'

bad=
for o in '' '--like @ sort' '--quantile 0 sort' '--quantile 100 sort' '--quantile x sort' '--method most sort' '--format lsf sort' '--input many sort' '--json --format pbs sort' '--where wall>1 sort'; do
	# shellcheck disable=SC2086 # words
	cmd 2 advise $o && [ -s "$err" ] && [ ! -s "$out" ] || bad="$bad [$o]"
done
cmd 1 advise --like 01ZZZZZZZZZZ || bad="$bad run"
echo "not refused:$bad" >"$out"
[ -z "$bad" ]
check 'mistakes are told'
finish
