#!/bin/sh
# Arguments and environments of every length and number, and in any order, are recorded as they were given.
# shellcheck source=tests/prog/lib.sh
. "$(dirname "$0")/../tests/prog/lib.sh"

cat >"$T/words.py" <<'END'
import json, os, random, sys
seed = int(sys.argv[1])
r = random.Random(seed)
def word():
    n = r.choice([0, 1, 5, 20, 255, 256, 257, 300, 700, 4000]) if r.random() < .5 else r.randrange(40)
    return ''.join(r.choice('abcdefghijklmnop') for _ in range(n))
true = '/bin/true'
def start(args, env):
    print(json.dumps([args, sorted(f'{k}={v}' for k, v in env if k.startswith('LC_'))]), flush=True)
    pid = os.fork()
    if pid == 0:
        os.execve(true, args, dict(env))
    os.waitpid(pid, 0)
def name(j):
    return ('LC_' if r.random() < .3 else 'Q') + str(j)
for i in range(30):
    args = ['words'] + [word() for _ in range(r.choice([0, 1, 3, 10, 62, 63, 64, 65, 127, 128, 129, 200]))]
    start(args, [(name(j), word()) for j in range(r.choice([0, 1, 5, 40, 63, 64, 65, 100, 140]))])
# One that is the last again, or nearly.
env = [(name(j), word()[:60]) for j in range(r.choice([1, 20, 50, 62]))]
for i in range(60):
    at, how = r.randrange(len(env)), r.randrange(8)
    key, value = env[at]
    if how == 0:
        env[at] = key, word()[:300]
    elif how == 1:
        env[at] = key, value[:-1]
    elif how == 2:
        env[at] = key, value + 'x'
    elif how == 3 and len(env) > 1:
        del env[at]
    elif how == 4:
        env.insert(at, (name(1000 + i), word()[:60]))
    elif how == 5:
        env[at] = name(2000 + i), value
    elif how == 6:
        r.shuffle(env)
    start(['words', str(i)], env)
END
cat >"$T/compare.py" <<'END'
import json, sys
truth = [json.loads(line) for line in open(sys.argv[1])]
seen = [e for e in map(json.loads, open(sys.argv[2])) if e['k'] == 'exec' and e['argv'][:1] == ['words']]
if len(truth) != 90 or len(seen) != len(truth):
    print(len(truth), 'were run,', len(seen), 'were recorded')
for (args, env), e in zip(truth, seen):
    kept = sorted(v for v in e.get('env', []) if v.startswith('LC_'))
    if e['argv'] != args:
        print('arguments:', [len(a) for a in args], [len(a) for a in e['argv']])
    if kept != env:
        print('environment:', [len(v) for v in env], [len(v) for v in kept])
END
# words WHAT SEED OPTION...
words()
{
	what=$1
	seed=$2
	shift 2
	STEMMA_HOME="$T/home.$seed" "$STEMMA" run "$@" -- $PYTHON "$T/words.py" "$seed" >"$T/truth" 2>"$T/why" &&
		events "$T/home.$seed" "$T/events" && $PYTHON "$T/compare.py" "$T/truth" "$T/events" >>"$T/why" 2>&1 && [ ! -s "$T/why" ]
	result $? "$what" "$T/why"
}
words "as they are" 1
words "others" 2
if STEMMA_HOME=$T/home "$STEMMA" run --transport=trace -- true 2>"$T/err" && [ ! -s "$T/err" ]; then
	words "by ptrace" 3 --transport=trace
else
	skip_ "by ptrace" "$(cat "$T/err")"
fi
finish
