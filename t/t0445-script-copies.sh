#!/bin/sh
# A workflow system read the inputs of all jobs before it copied a script: what the job made came from its own input and the script, and from
# nothing else that the system had read. Truths by hand, upwards and downwards, with the edges beside the index and without.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

mkdir -p "$T/w/sub" && cd "$T/w" || exit 1
for n in a b c d e; do
	echo "data $n" >$n.in
done
echo 'import sys; open(sys.argv[2], "w").write(open(sys.argv[1]).read().upper())' >scale.py
cp scale.py sub/twice.py && cp scale.py twice.py && cp scale.py plot.py
cat >engine.py <<'END'
import os, subprocess, sys
os.makedirs('.snakemake/scripts', exist_ok=True)
for n in 'abcde':
    open(n + '.in').read()
scripts = {s: open(s).read() for s in ('scale.py', 'plot.py', 'sub/twice.py', 'twice.py')}
scripts['made.py'] = scripts['scale.py']
for tmp, script, n in (('1', 'scale.py', 'a'), ('2', 'scale.py', 'b'), ('3', 'plot.py', 'c'), ('4', 'twice.py', 'd'), ('5', 'made.py', 'e')):
    name = os.path.abspath('.snakemake/scripts/tmpab12c%s.%s' % (tmp, os.path.basename(script)))
    with open(name, 'w') as f:
        f.write('snakemake = None\n' + scripts[script])
    subprocess.run([sys.executable, name, n + '.in', n + '.out'], check=True)
    os.remove(name)
END
cmd 0 run -q -- python3 engine.py
check 'five scripts are copied and run'

from() { # WHAT OUTPUT...: in any order
	what=$1
	shift
	cmd 0 find --json "from $what" && json "[.entities[].path | select(endswith(\".out\")) | split(\"/\")[-1]] | unique == [$(printf '"%s.out",' "$@" | sed 's/,$//')]"
}
up() { # OUTPUT SOURCE...: those of the files that the engine read
	what=$1
	shift
	cmd 0 lineage --json "$what.out" && json "[.entities[].path | select(endswith(\".in\") or (endswith(\".py\") and (contains(\"/.snakemake/\") | not))) | ltrimstr(\"$T/w/\")] | unique | map(select(. != \"engine.py\")) == [$(printf '"%s",' "$@" | sed 's/,$//')]"
}
for edges in off all; do
	export STEMMA_ADJACENCY=$edges
	from b.in b e && from a.in a e && from c.in c e
	check "of what the system read, an input went into the output of its own job, and of the one whose script is not known (edges: $edges)"
	from scale.py a b e && from plot.py c e
	check "a script went into what its copies made (edges: $edges)"
	from twice.py d e && from sub/twice.py d e && cmd 0 find 'from twice.py' && says "$out" 'd.out@{1}?'
	check "one of two scripts of that name did, perhaps (edges: $edges)"
	up a a.in scale.py && up b b.in scale.py && up c c.in plot.py && up d d.in sub/twice.py twice.py
	check "upwards the same (edges: $edges)"
	cmd 0 lineage --json d.out && json '[.edges[] | select(.type == "wasDerivedFrom") | .certainty] | length == 2 and all(. == "may")'
	check "one of two is possible (edges: $edges)"
	up e a.in b.in c.in d.in e.in plot.py scale.py sub/twice.py twice.py
	check "a copy of what no file of that name was read for may have all that was read (edges: $edges)"
	cmd 0 lineage --json --all a.out && json '[.entities[].path | select(endswith("/b.in"))] | length == 1'
	check "--all goes through the system (edges: $edges)"
done
unset STEMMA_ADJACENCY
cmd 0 lineage a.out && says "$out" 'derived from scale.py@{1}' 'python3 engine.py' && says_not "$out" b.in
check 'as text'
cmd 0 lineage --down b.in && says "$out" b.out && says_not "$out" a.out && says_not "$out" c.out
check 'downwards as text'
finish
