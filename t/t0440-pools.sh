#!/bin/sh
# Pools of workers, and launchers that take what their commands print through files: why and lineage name what the workers read,
# and the program that the user ran. The truths were written by hand: of each program here the sources are in its text.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

rec()
{ # COMMAND...: recorded; its own output is of no interest
	"$STEMMA" run -q -- "$@" >/dev/null 2>"$err" </dev/null
}

# sources FILE SOURCE...: both commands name just these files, but for scripts.
sources()
{
	of=$1
	shift
	expected=$(printf '%s\n' "$@" | sort | tr '\n' ' ')
	cmd 0 why -j "$of" || return
	got=$(jq -r '.answers[0].inputs[] | select(.role == "data") | .path | sub(".*/"; "")' "$out" | sort | tr '\n' ' ')
	[ "$got" = "$expected" ] || {
		echo "why names '$got', not '$expected'" >>"$err"
		return 1
	}
	cmd 0 lineage "$of" || return
	for source; do
		says "$out" "$source@{1}" || return
	done
}

for i in 1 2 3; do
	echo "data $i" >in$i
done

cat >pool.py <<'E2'
import multiprocessing as m
def g(f): return open(f).read()
if __name__ == "__main__":
    with m.get_context("fork").Pool(2) as p:
        r = p.map(g, ["in1", "in2", "in3"])
    open("pool.out", "w").writelines(r)
E2
cat >executor.py <<'E2'
from concurrent.futures import ProcessPoolExecutor
import multiprocessing as m
def g(f): return open(f).read()
if __name__ == "__main__":
    o = open("executor.out", "w")
    with ProcessPoolExecutor(2, mp_context=m.get_context("fork")) as p:
        o.writelines(p.map(g, ["in1", "in2", "in3"]))
    o.close()
E2
cat >shared.py <<'E2'
import multiprocessing as m
c = m.get_context("fork")
def g(f, a, i): a[i] = len(open(f).read())
if __name__ == "__main__":
    a = c.Array('i', 2)
    ps = [c.Process(target=g, args=("in%d" % (i + 1), a, i)) for i in range(2)]
    for p in ps: p.start()
    for p in ps: p.join()
    open("shared.out", "w").write(str(list(a)))
E2
cat >one.py <<'E2'
import multiprocessing as m
c = m.get_context("fork")
def g(q): q.send(open("in1").read())
if __name__ == "__main__":
    a, b = c.Pipe(False)
    p = c.Process(target=g, args=(b,)); p.start(); t = a.recv(); p.join()
    open("in2").close()
    open("one.out", "w").write(t)
E2
rec python3 pool.py && sources pool.out in1 in2 in3 && cmd 0 why pool.out && says "$out" 'made by python3 pool.py from in'
check 'multiprocessing.Pool'
rec python3 executor.py && sources executor.out in1 in2 in3 && cmd 0 why executor.out && says "$out" 'made by python3 executor.py from in' &&
	cmd 0 why -j executor.out && json '.answers[0].openers == []'
check 'a pool whose program had opened the output before it forked: one program, which surely made it'
rec python3 shared.py && sources shared.out in1 in2
check 'workers that share memory'
rec python3 one.py && cmd 0 lineage one.out && says "$out" 'in1@{1}' && says "$out" '2 processes'
check 'one worker with a pipe'

if command -v Rscript >/dev/null; then
	cat >fork.R <<'E2'
library(parallel)
r <- mclapply(c("in1", "in3"), function(f) readLines(f), mc.cores = 2)
writeLines(unlist(r), "fork.out")
E2
	OPENBLAS_NUM_THREADS=1 rec Rscript fork.R && sources fork.out in1 in3
	check "R's mclapply"
else
	skip "R's mclapply" 'Rscript is not installed'
fi

if command -v parallel >/dev/null && parallel --version 2>/dev/null | grep -q '^GNU parallel'; then
	mkdir home
	HOME=$PWD/home rec sh -c 'parallel --will-cite cat ::: in1 in2 in3 >par.out'
	cmd 0 why par.out && says "$out" 'made by cat in' && says "$out" 'in1@{1}' && says "$out" 'in2@{1}' && says "$out" 'in3@{1}' &&
		says_not "$out" '.par' && says_not "$out" 'parallel cat ::: in1 in2 in3 ?'
	check 'GNU parallel: the commands are the makers, and what they read the inputs'
	HOME=$PWD/home rec sh -c 'ls in1 in3 | parallel --will-cite "sort {} | tr a b" >sorted.out'
	cmd 0 why -j sorted.out && json '[.answers[0].makers[].argv[0]] | unique | sort == ["sort", "tr"]' &&
		json '[.answers[0].inputs[] | select(.role == "data") | .path | sub(".*/"; "")] | sort == ["in1", "in3"]'
	check 'and pipelines of them'
else
	skip 'GNU parallel' 'it is not installed'
	skip 'and pipelines of them' 'GNU parallel is not installed'
fi

# A shell's own pipes stay its own: what it held for its programs is not shown as read by it.
rec sh -c '{ cat in1; (cat in2); } | sort >shell.out'
cmd 0 lineage shell.out && says "$out" 'in1@{1}' && says "$out" 'in2@{1}' && says_not "$out" '? pipe'
check 'a shell with subshells'

# An input whose name is another file's now.
cat in1 >edited && rec perl -pi -e 's/data/DATA/' edited
cmd 0 why edited && says "$out" 'from edited@{1} (replaced since)' && cmd 0 lineage edited && says "$out" ', replaced since)' &&
	cmd 0 lineage pool.out && says_not "$out" 'since'
check 'what was edited in place: the file before is marked'

if command -v git >/dev/null; then
	(
		git init -q repo && cd repo && echo x >a && git add a && git -c user.name=a -c user.email=a@b commit -qm m && echo y >a
	) 2>"$err"
	(cd repo && rm a && rec git checkout -q a)
	cmd 0 why repo/a && says "$out" 'made by git checkout -q a from' && says "$out" '/.git/objects/'
	check "what git checked out came from git's objects"
else
	skip "what git checked out came from git's objects" 'git is not installed'
fi
finish
