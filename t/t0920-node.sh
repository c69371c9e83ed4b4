#!/bin/sh
# The aggregator of a node, told from a file what happened: representative executions, pairs, bounds, several users. What
# must come of each history was worked out by hand from doc/node.md.
nodesim=${STEMMA_NODESIM:-} # lib.sh takes such names out of the environment
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
SIM=${nodesim:-$BUILD/tests/stemma-nodesim}
[ -x "$SIM" ] || { echo "Bail out! no stemma-nodesim at $SIM"; exit 1; }

sim()
{ # [OPTION...]: the history on standard input; logs in node/, the store asked is that of user 1000
	rm -rf "$T/node"
	timeout 60 "$SIM" "$@" "$T/node" >"$T/stats" 2>"$err"
}
as()
{ # UID: the store to be asked
	export STEMMA_HOME="$T/node/users/$1"
}
dump()
{ # UID: its log as text, in log
	find "$T/node/users/$1/logs" -name '*.stl' -exec "$EVTEXT" dump {} + >"$T/log"
}
events()
{ # WORDS N: so many lines of the log have the words
	n=$(grep -c -- "$1" "$T/log")
	[ "$n" = "$2" ] && return 0
	echo "$n, not $2, events with $1" >>"$err"
	return 1
}
ends()
{ # when enough drains have passed for all that is over to be told
	printf 'settle t=%s\nsettle t=%s\nsettle t=%s\nsettle t=%s\ntick t=%s\nstats\n' "$1" "$1" "$1" "$1" "$(($1 + 5000))"
}
login='alive t=0 pid=1 ppid=0 exe=/sbin/init argv=init uid=0 ino=1
alive t=0 pid=50 ppid=1 exe=/usr/sbin/sshd argv=sshd uid=0 ino=2
alive t=0 pid=100 ppid=50 exe=/bin/bash argv=-bash uid=1000 ino=3 cwd=/h
settle t=1'

# ---- what a shell starts ----

redirected()
{
	cat <<END
$login
fork t=10 pid=200 ppid=100 uid=1000
exec t=12 pid=200 uid=1000 exe=/usr/bin/sort ino=4 argv=sort,in cwd=/h nexec=1
fds t=12 pid=200 uid=1000 fds=1:w:20:f nexec=1
file lo=5 hi=15 pid=200 uid=1000 ops=create,open path=/h/out ino=20 flags=exec nexec=1
file lo=5 hi=15 pid=200 uid=1000 ops=open,closer path=/h/in ino=21 size=9 mtime=-5000 flags=exec nexec=1
settle t=15
exit t=20 pid=200 uid=1000 status=0
file lo=15 hi=25 pid=200 uid=1000 ops=closew path=/h/out ino=20 size=9 mtime=19 flags=late nexec=1
END
	ends 30
}
redirected | sim && as 1000 && cmd 0 lineage /h/out && says "$out" '/h/out@{1}  (9 B' && says "$out" '? sort in' && says "$out" '/h/in@{1}' &&
	cmd 0 log && lines "$out" 2 && says "$out" 'sort in'
check "sort in >out: the file that the shell opened is what sort made, of what sort read"
cmd 0 sql "SELECT e.n FROM edge d JOIN execution e ON e.id = d.to_id WHERE d.type = 'wasGeneratedBy' ORDER BY e.n" && sed 1d "$out" >"$T/n" &&
	is "$T/n" "0
1"
check "the shell's fork opened it, and the program wrote it: two executions of one process"

script()
{
	cat <<END
$login
fork t=30 pid=300 ppid=100 uid=1000
exec t=31 pid=300 uid=1000 exe=/bin/sh ino=5 argv=/bin/sh,job.sh cwd=/h nexec=1
fork t=32 pid=301 ppid=300 uid=1000
exec t=33 pid=301 uid=1000 exe=/usr/bin/cat ino=6 argv=cat,a cwd=/h nexec=1
settle t=35
file lo=35 hi=45 pid=301 uid=1000 ops=open,closer path=/h/a ino=22 size=9 mtime=-5000 nexec=1
exit t=50 pid=301 uid=1000 status=0
settle t=55
file lo=55 hi=60 pid=300 uid=1000 ops=create,open,closew path=/h/b ino=23 size=9 mtime=58 nexec=1
exit t=61 pid=300 uid=1000 status=0
END
	ends 70
}
script | sim && as 1000 && cmd 0 lineage /h/b && says "$out" 'sh job.sh' && says "$out" '/h/a@{1}' && says_not "$out" 'cat a' &&
	dump 1000 && events '"pid":301' 0 && says "$T/stats" 'folded=1'
check "what a script's programs did counts to the script"
script | sim --keep=all && as 1000 && cmd 0 lineage /h/b && says_not "$out" '/h/a@{1}' && cmd 0 sql "SELECT argv FROM execution WHERE argv = 'cat a'" &&
	says "$out" 'cat a' && dump 1000 && events '"k":"run"' 1
check "--keep=all: each for itself, in one run"

# ---- what was told of one interval ----

loop()
{ # i0, n0, i1, n1 in one interval; n2 is open while i3 is read in the next one, and closed there before i4
	cat <<END
$login
fork t=10 pid=200 ppid=100 uid=1000
exec t=12 pid=200 uid=1000 exe=/usr/bin/python3 ino=4 argv=python3,loop.py cwd=/h nexec=1
settle t=15
file lo=15 hi=25 pid=200 uid=1000 ops=open,closer path=/h/i0 ino=20 size=9 mtime=-5000 nexec=1
file lo=15 hi=25 pid=200 uid=1000 ops=create,open,closew path=/h/n0 ino=21 size=9 mtime=18 nexec=1
file lo=15 hi=25 pid=200 uid=1000 ops=open,closer path=/h/i1 ino=22 size=9 mtime=-5000 nexec=1
file lo=15 hi=25 pid=200 uid=1000 ops=create,open,closew path=/h/n1 ino=23 size=9 mtime=20 nexec=1
settle t=25
file lo=25 hi=35 pid=200 uid=1000 ops=open,closer path=/h/i2 ino=24 size=9 mtime=-5000 nexec=1
file lo=25 hi=35 pid=200 uid=1000 ops=create,open path=/h/n2 ino=25 size=0 mtime=28 nexec=1
settle t=35
file lo=35 hi=45 pid=200 uid=1000 ops=open,closer path=/h/i3 ino=26 size=9 mtime=-5000 nexec=1
file lo=35 hi=45 pid=200 uid=1000 ops=closew path=/h/n2 ino=25 size=9 mtime=38 nexec=1
file lo=35 hi=45 pid=200 uid=1000 ops=open,closer path=/h/i4 ino=27 size=9 mtime=-5000 nexec=1
file lo=35 hi=45 pid=200 uid=1000 ops=create,open path=/h/n3 ino=28 size=0 mtime=38 nexec=1
file lo=35 hi=45 pid=200 uid=1000 ops=open,closer path=/h/i5 ino=29 size=9 mtime=-5000 nexec=1
settle t=45
fds t=50 pid=200 exit=1 uid=1000 fds=3:w:28:f nexec=1
exit t=50 pid=200 uid=1000 status=0
END
	ends 55
}
inputs()
{ # FILE WORDS [OPTION]: the answer has exactly these inputs, those that may be with ?
	f=$1 w=$2
	shift 2
	cmd 0 lineage "$@" "/h/$f" && sed -n 's,^ *[├└]─ \(? \)\{0\,1\}/h/\(i[0-9]\)@.*,\1\2,p' "$out" | tr -d ' ' | paste -s -d ' ' >"$T/n" && is "$T/n" "$w"
}
loop | sim && as 1000 && inputs n0 'i0 ?i1' && inputs n0 'i0' --certain && inputs n1 'i0 i1' && inputs n1 'i0 i1' --certain
check "reads i0, writes n0, reads i1, writes n1 within one interval: n0 is surely of i0 alone"
inputs n2 'i0 i1 i2 i3 ?i4 ?i5' && inputs n2 'i0 i1 i2 i3' --certain
check "what was closed in a later interval has surely what was opened before that line"
inputs n3 'i0 i1 i2 i3 i4 i5' --certain
check "what was open at the end has surely all"
cmd 0 lineage --down --certain /h/i1 && says "$out" /h/n1 && says_not "$out" /h/n0 && cmd 0 lineage --down /h/i1 && says "$out" '? /h/n0' && says_not "$out" '? /h/n1'
check "... and down the same"
cmd 0 lineage --json /h/n0 && "$PYTHON" - "$out" <<'END'
import json, sys
got = json.load(open(sys.argv[1]))
paths = {e["id"]: e.get("path", "") for e in got["entities"]}
used = {paths[e["to"]]: e["certainty"] for e in got["edges"] if e["type"] == "used" and paths[e["to"]].startswith("/h/i")}
sys.exit(used != {"/h/i0": "must", "/h/i1": "may"})
END
check "... and as JSON"

# ---- what counts to one execution ----

turns()
{ # a script that reads a list, copies i0 to n0 and i1 to n1, each with a program of its own
	cat <<END
$login
fork t=10 pid=200 ppid=100 uid=1000
exec t=12 pid=200 uid=1000 exe=/bin/sh ino=4 argv=sh,loop.sh cwd=/h nexec=1
settle t=15
file lo=15 hi=25 pid=200 uid=1000 ops=open,closer path=/h/list ino=19 size=9 mtime=-5000 nexec=1
settle t=25
fork t=30 pid=201 ppid=200 uid=1000
exec t=32 pid=201 uid=1000 exe=/bin/cp ino=5 argv=cp,i0,n0 cwd=/h nexec=1
settle t=35
file lo=35 hi=45 pid=201 uid=1000 ops=open,closer path=/h/i0 ino=20 size=9 mtime=-5000 nexec=1
file lo=35 hi=45 pid=201 uid=1000 ops=create,open,closew path=/h/n0 ino=21 size=9 mtime=38 nexec=1
settle t=45
exit t=46 pid=201 uid=1000 status=0
fork t=50 pid=202 ppid=200 uid=1000
exec t=52 pid=202 uid=1000 exe=/bin/cp ino=5 argv=cp,i1,n1 cwd=/h nexec=1
settle t=55
file lo=55 hi=65 pid=202 uid=1000 ops=open,closer path=/h/i1 ino=22 size=9 mtime=-5000 nexec=1
file lo=55 hi=65 pid=202 uid=1000 ops=create,open,closew path=/h/n1 ino=23 size=9 mtime=58 nexec=1
settle t=65
exit t=66 pid=202 uid=1000 status=0
settle t=75
exit t=80 pid=200 uid=1000 status=0
END
	ends 85
}
turns | sim && as 1000 && inputs n1 '?i0 i1' && says "$out" '/h/i0@{1}  (9 B, 2025-12-31T23:59:55, external)  folded' && says "$out" '? /h/list@' &&
	inputs n1 i1 --certain && inputs n0 i0 && cmd 0 lineage --down /h/i0 && says "$out" '? /h/n1' && says_not "$out" '? /h/n0' &&
	cmd 0 lineage --down --certain /h/i0 && says "$out" /h/n0 && says_not "$out" /h/n1
check "a script's loop: an output is surely of what its own turn read; what another turn or the shell read is folded"
cmd 0 lineage --json /h/n1 && "$PYTHON" - "$out" <<'END'
import json, sys
got = json.load(open(sys.argv[1]))
paths = {e["id"]: e.get("path", "") for e in got["entities"]}
used = {paths[e["to"]]: (e["certainty"], e.get("folded")) for e in got["edges"] if e["type"] == "used" and paths[e["to"]].startswith("/h/")}
sys.exit(used != {"/h/i1": ("must", None), "/h/i0": ("may", True), "/h/list": ("may", True)})
END
check "... as JSON"
cmd 0 sql "SELECT f.path FROM edge g JOIN edge u ON u.from_id = g.to_id AND u.type = 'used' AND u.lo <= g.hi JOIN version v ON v.id = u.to_id JOIN file f ON f.id = v.file WHERE g.from_id = (SELECT v.id FROM version v JOIN file f ON f.id = v.file WHERE f.path = '/h/n1') AND g.type = 'wasGeneratedBy' AND f.path LIKE '/h/%' GROUP BY u.to_id HAVING sum(u.part = g.part) = 0 ORDER BY f.path" &&
	sed 1d "$out" >"$T/n" && is "$T/n" "/h/i0
/h/list"
check "... and in SQL"
turns | sim --keep=all && as 1000 && inputs n1 i1 && inputs n0 i0
check "--keep=all folds nothing"

{ cat <<END
$login
fork t=10 pid=200 ppid=100 uid=1000
file lo=11 hi=15 pid=200 uid=1000 ops=create,open,closew path=/h/sub ino=24 size=3 mtime=12
exit t=16 pid=200 uid=1000 status=0
END
	ends 20; } | sim && as 1000 && dump 1000 && events '"pid":200' 0 && events '"k":"access"' 1 && cmd 0 why /h/sub && says "$out" 'made by -bash'
check "a subshell that never was a program counts to its shell"
{ cat <<END
$login
fork t=10 pid=300 ppid=100 uid=1000
exec t=11 pid=300 uid=1000 exe=/bin/sh ino=5 argv=/bin/sh,job.sh cwd=/h nexec=1
fork t=12 pid=301 ppid=300 uid=1000
exec t=13 pid=301 uid=1000 exe=/usr/bin/mpirun ino=7 argv=mpirun,-n,2,./a.out cwd=/h nexec=1
fork t=14 pid=302 ppid=301 uid=1000
exec t=15 pid=302 uid=1000 exe=/h/a.out ino=8 argv=./a.out cwd=/h nexec=1 env=OMPI_COMM_WORLD_RANK=0,SECRET=1,SLURM_JOB_ID=77
fork t=14 pid=303 ppid=301 uid=1000
exec t=15 pid=303 uid=1000 exe=/h/a.out ino=8 argv=./a.out cwd=/h nexec=1 env=OMPI_COMM_WORLD_RANK=1,SLURM_JOB_ID=77
fork t=16 pid=304 ppid=303 uid=1000
exec t=17 pid=304 uid=1000 exe=/bin/uname ino=9 argv=uname cwd=/h nexec=1
END
	ends 20; } | sim && as 1000 && cmd 0 sql "SELECT argv, job, rank FROM execution WHERE n = 1 ORDER BY pid" && says "$out" 'mpirun -n 2 ./a.out' &&
	[ "$(grep -c '^./a.out' "$out")" = 2 ] && says_not "$out" uname && cmd 0 sql "SELECT job || ' ' || rank FROM execution WHERE argv = './a.out' ORDER BY rank" &&
	says "$out" '77 0' && says "$out" '77 1' && dump 1000 && events SECRET 0
check "a launcher inside a script: each rank for itself, with its job; of the environment what is allowed"
{ cat <<END
$login
fork t=10 pid=300 ppid=100 uid=1000
exec t=11 pid=300 uid=1000 exe=/bin/sh ino=5 argv=/bin/sh,campaign.sh cwd=/h nexec=1
fork t=12 pid=301 ppid=300 uid=1000
exec t=13 pid=301 uid=1000 exe=/usr/bin/sbatch ino=7 argv=sbatch,-J,fit,job.sh cwd=/h nexec=1
file lo=13 hi=14 pid=301 uid=1000 ops=open,closer path=/h/job.sh ino=30 size=9 mtime=-5000 nexec=1
fork t=14 pid=302 ppid=301 uid=1000
exec t=15 pid=302 uid=1000 exe=/bin/hostname ino=9 argv=hostname cwd=/h nexec=1
exit t=16 pid=302 uid=1000 status=0
exit t=17 pid=301 uid=1000 status=0
alive t=18 pid=60 ppid=1 exe=/usr/sbin/slurmstepd argv=slurmstepd uid=0 ino=10
fork t=20 pid=400 ppid=60 uid=0
exec t=21 pid=400 uid=1000 exe=/bin/sh ino=5 argv=/bin/sh,/spool/slurm_script cwd=/h nexec=1 env=SLURM_JOB_ID=77,SLURM_SUBMIT_DIR=/h,SLURM_JOB_NAME=fit
fork t=22 pid=401 ppid=400 uid=1000
exec t=23 pid=401 uid=1000 exe=/bin/fit ino=11 argv=fit cwd=/h nexec=1 env=SLURM_JOB_ID=77,SLURM_SUBMIT_DIR=/h,SLURM_JOB_NAME=fit
END
	ends 30; } | sim && as 1000 && cmd 0 sql "SELECT argv FROM execution WHERE n = 1 ORDER BY pid" && says "$out" 'sbatch -J fit job.sh' && says_not "$out" hostname &&
	cmd 0 sql "SELECT s.argv || ' -> ' || j.argv FROM execution j JOIN attribute a ON a.id = j.id AND a.kind = 'execution' AND a.name = 'SLURM_SUBMIT_DIR'
		JOIN execution s ON s.cwd = a.value AND s.argv LIKE 'sbatch %' AND s.ended < j.began WHERE j.job = '77'" && says "$out" 'sbatch -J fit job.sh -> fit'
check "a submission is an execution of its own, even in a script, and is found from the job by where it was submitted"


# What is printed of a submission is nobody's to read: place, user, host and time say which it may have been.
submissions()
{ # three submissions and what came of two of them; and one of another user, on another host's word, elsewhere, too late
	cat <<END
$login
alive t=0 pid=101 ppid=50 exe=/bin/bash argv=-bash uid=1001 ino=3 cwd=/h
alive t=0 pid=60 ppid=1 exe=/usr/sbin/slurmstepd argv=slurmstepd uid=0 ino=10
settle t=2
END
	n=301
	while read -r uid cwd args; do
		echo "fork t=$n pid=$n ppid=$((uid == 1000 ? 100 : 101)) uid=$uid"
		echo "exec t=$n pid=$n uid=$uid exe=/usr/bin/sbatch ino=7 argv=$args cwd=$cwd nexec=1"
		echo "exit t=$n pid=$n uid=$uid status=0"
		echo "settle t=$n"
		n=$((n + 1))
	done <<END
1000 /h sbatch,-J,fit,job.sh
1000 /h sbatch,plot.sh
1000 /elsewhere sbatch,-J,fit,other.sh
1001 /h sbatch,-J,fit,theirs.sh
END
	cat <<END
fork t=400 pid=400 ppid=60 uid=0
exec t=401 pid=400 uid=1000 exe=/bin/sh ino=5 argv=/bin/sh,/spool/slurm_script cwd=/h nexec=1 env=SLURM_JOB_ID=77,SLURM_SUBMIT_DIR=/h,SLURM_JOB_NAME=fit,SLURM_SUBMIT_HOST=$1
fork t=402 pid=401 ppid=400 uid=1000
exec t=403 pid=401 uid=1000 exe=/bin/fit ino=11 argv=fit cwd=/h nexec=1 env=SLURM_JOB_ID=77,SLURM_SUBMIT_DIR=/h,SLURM_JOB_NAME=fit,SLURM_STEP_ID=0,SLURM_PROCID=3,SLURM_SUBMIT_HOST=$1
fork t=404 pid=402 ppid=400 uid=1000
exec t=405 pid=402 uid=1000 exe=/usr/bin/sbatch ino=7 argv=sbatch,next.sh cwd=/h nexec=1 env=SLURM_JOB_ID=77,SLURM_SUBMIT_DIR=/h,SLURM_JOB_NAME=fit,SLURM_SUBMIT_HOST=$1
exit t=406 pid=402 uid=1000 status=0
fork t=410 pid=410 ppid=100 uid=1000
exec t=411 pid=410 uid=1000 exe=/usr/bin/sbatch ino=7 argv=sbatch,late.sh cwd=/h nexec=1
exit t=412 pid=410 uid=1000 status=0
fork t=420 pid=420 ppid=100 uid=1000
exec t=421 pid=420 uid=1000 exe=/usr/bin/salloc ino=12 argv=salloc,-n,4 cwd=/h nexec=1
fork t=422 pid=421 ppid=420 uid=1000
exec t=423 pid=421 uid=1000 exe=/bin/fit ino=11 argv=fit,by-hand cwd=/h nexec=1 env=SLURM_JOB_ID=80,SLURM_SUBMIT_DIR=/h
END
	ends 500
}
of()
{ # ARGV: the id of that execution, in id
	cmd 0 sql "SELECT pub FROM execution WHERE argv = '$1'" && id=$(sed -n 2p "$out") && [ -n "$id" ]
}
shows()
{ # PATTERN: a line of what is shown
	grep -q "$1" "$out" && return 0
	echo "no line like: $1" >>"$err"
	return 1
}
submissions sim.example.org | sim && as 1000 && of fit && cmd 0 show "$id" && says "$out" 'job          77' && says "$out" 'step         0' && says "$out" 'rank         3' &&
	shows '^submitted by x[0-9a-f]*  sbatch -J fit job.sh ?  (.*, same directory and name)$' && shows '^  *x[0-9a-f]*  sbatch plot.sh ?  (.*, same directory)$' && [ "$(grep -c 'same directory' "$out")" = 2 ]
check "who submitted a job: by the same user, there, before it began, the one of its name first; never what ran in it"
cmd 0 show --json "$id" && "$PYTHON" - "$out" 2>"$err" <<'END'
import json, sys
x = json.load(open(sys.argv[1]))['things'][0]
assert [(s['argv'], s['certainty'], s['same_name']) for s in x['submitted_by']] == [
    (['sbatch', '-J', 'fit', 'job.sh'], 'may', True), (['sbatch', 'plot.sh'], 'may', False)], x['submitted_by']
assert (x['job'], x['step'], x['rank']) == ('77', '0', '3') and 'jobs' not in x, x
END
check "... in JSON"
of 'sbatch -J fit job.sh' && cmd 0 show "$id" && shows '^jobs         77 ?  first x.*, same directory and name)$' && [ "$(grep -c 'same directory' "$out")" = 1 ] &&
	of 'sbatch -J fit other.sh' && cmd 0 show "$id" && ! grep '^jobs ' "$out" >>"$err" && of 'sbatch next.sh' && cmd 0 show "$id" && ! grep '^jobs ' "$out" >>"$err" &&
	of 'sbatch late.sh' && cmd 0 show "$id" && ! grep '^jobs ' "$out" >>"$err"
check "what came of a submission, and not of one from elsewhere, from within, or after it"
of 'fit by-hand' && cmd 0 show "$id" && shows '^submitted by x[0-9a-f]*  salloc -n 4  ([^,]*)$' && [ "$(grep -c 'submitted by' "$out")" = 1 ] &&
	of 'salloc -n 4' && cmd 0 show "$id" && shows '^jobs         80  first x[0-9a-f]*  fit by-hand  ([^,]*)$'
check "a program that salloc started is of its job, without a doubt"
submissions other-login.example | sim && as 1000 && of fit && cmd 0 show "$id" && says_not "$out" 'submitted by'
check "submitted on another host: that is not in this record"
workflow()
{ # SUBMITTER PREFIX-OF-VARIABLES...: a script that submits one; the job's step writes; another user's, and a later one
	cat <<END
$login
alive t=0 pid=101 ppid=50 exe=/bin/bash argv=-bash uid=1001 ino=3 cwd=/h
alive t=0 pid=60 ppid=1 exe=/usr/sbin/slurmstepd argv=slurmstepd uid=0 ino=10
settle t=2
fork t=10 pid=200 ppid=100 uid=1000
exec t=11 pid=200 uid=1000 exe=/bin/bash ino=5 argv=/bin/bash,/h/flow.sh cwd=/h nexec=1
file lo=12 hi=13 pid=200 uid=1000 ops=open,closer path=/h/flow.sh ino=41 size=30 mtime=1 nexec=1
file lo=14 hi=15 pid=200 uid=1000 ops=open,closer path=/h/sample ino=42 size=31 mtime=1 nexec=1
fork t=20 pid=201 ppid=200 uid=1000
exec t=21 pid=201 uid=1000 exe=/usr/bin/$1 ino=7 argv=$1,/h/job.sh cwd=/h nexec=1
file lo=22 hi=23 pid=201 uid=1000 ops=open,closer path=/h/job.sh ino=43 size=32 mtime=1 nexec=1
exit t=24 pid=201 uid=1000 status=0
file lo=26 hi=27 pid=200 uid=1000 ops=open,closer path=/h/afterwards ino=46 size=9 mtime=1 nexec=1
exit t=28 pid=200 uid=1000 status=0
fork t=30 pid=202 ppid=101 uid=1001
exec t=31 pid=202 uid=1001 exe=/usr/bin/$1 ino=7 argv=$1,/h/theirs.sh cwd=/h nexec=1
file lo=32 hi=33 pid=202 uid=1001 ops=open,closer path=/h/theirs.sh ino=44 size=33 mtime=1 nexec=1
exit t=34 pid=202 uid=1001 status=0
fork t=40 pid=300 ppid=60 uid=0
exec t=41 pid=300 uid=1000 exe=/bin/sh ino=5 argv=/bin/sh,/spool/script cwd=/h nexec=1 env=$2
fork t=42 pid=301 ppid=300 uid=1000
exec t=43 pid=301 uid=1000 exe=/bin/fit ino=11 argv=fit cwd=/h nexec=1 env=$2
file lo=44 hi=45 pid=301 uid=1000 ops=create,open,closew path=/h/result ino=45 size=34 mtime=44 nexec=1
exit t=46 pid=301 uid=1000 status=0
fork t=50 pid=203 ppid=100 uid=1000
exec t=51 pid=203 uid=1000 exe=/usr/bin/$1 ino=7 argv=$1,/h/late.sh cwd=/h nexec=1
file lo=52 hi=53 pid=203 uid=1000 ops=open,closer path=/h/late.sh ino=47 size=35 mtime=1 nexec=1
exit t=54 pid=203 uid=1000 status=0
END
	ends 60
}
comes_from()
{ # what the step wrote reaches the script, its workflow and what that had read by then; nothing else
	cmd 0 lineage --json /h/result && "$PYTHON" - "$out" "$1" 2>>"$err" <<'END'
import json, sys
x = json.load(open(sys.argv[1]))
paths = {e.get('path') for e in x['entities']}
assert paths == {'/h/result', '/h/job.sh', '/h/flow.sh', '/h/sample'}, paths
submit = [e for e in x['edges'] if e.get('via') == 'submit']
names = {a['id']: a.get('argv') for a in x['executions']}
assert [(names[e['from']], names[e['to']], e['certainty']) for e in submit if names[e['from']] == ['fit']] == [
    (['fit'], [sys.argv[2], '/h/job.sh'], 'may')], submit
END
}
env=SLURM_JOB_ID=77,SLURM_SUBMIT_DIR=/h,SLURM_JOB_NAME=job.sh,SLURM_SUBMIT_HOST=sim
workflow sbatch $env | sim && as 1000 && comes_from sbatch && cmd 0 lineage /h/result && says "$out" 'sbatch /h/job.sh' && says "$out" 'via submit'
check "lineage: from a job's output to the script that was submitted, and to the workflow that did it"
cmd 0 lineage --down /h/sample && says "$out" '/h/result' && cmd 0 lineage --down /h/job.sh && says "$out" '/h/result' && cmd 0 lineage --down /h/late.sh && says_not "$out" '/h/result' &&
	cmd 0 lineage --down /h/afterwards && says_not "$out" '/h/result'
check "... and down"
cmd 0 lineage --certain /h/result && says_not "$out" 'sbatch' && says_not "$out" 'job.sh'
check "... not where only what is certain counts"
env=PBS_JOBID=12.pbs,PBS_O_WORKDIR=/h,PBS_JOBNAME=job.sh,PBS_O_HOST=sim
workflow qsub $env | sim && as 1000 && comes_from qsub && cmd 0 lineage --down /h/sample && says "$out" '/h/result' && of fit && cmd 0 show "$id" && says "$out" 'job          12.pbs' &&
	shows '^submitted by x[0-9a-f]*  qsub /h/job.sh ?  (.*, same directory and name)$'
check "the same with PBS"

# ---- questions ----

asked()
{ # PID ARGV
	echo "fork t=$1 pid=$1 ppid=100 uid=1000"
	echo "exec t=$1 pid=$1 uid=1000 exe=/usr/bin/stemma ino=90 argv=$2 cwd=/h nexec=1"
}
{ cat <<END
$login
$(asked 300 stemma,--node,log)
exit t=301 pid=300 uid=1000 status=0
$(asked 310 /usr/bin/stemma,--node,export)
file lo=313 hi=315 pid=310 uid=1000 ops=create,open,closew path=/h/lineage.json ino=24 size=3 mtime=314 nexec=1
exit t=316 pid=310 uid=1000 status=0
$(asked 320 stemma,run,--,--node)
exit t=321 pid=320 uid=1000 status=0
END
	ends 400; } | sim && as 1000 && cmd 0 log && says "$out" 'stemma run -- --node' && says "$out" 'stemma --node export' && says_not "$out" 'stemma --node log' &&
	cmd 0 log -n 1 && lines "$out" 2 && cmd 0 log --json && json '.runs | length == 2' && cmd 0 log --all && lines "$out" 4 && says "$out" 'stemma --node log'
check "log: the questions about the node are not what a user looks for there, unless they wrote a file"

# ---- pairs ----

bytes()
{ # LINE BEFORE-OPEN, LINE AFTER-OPEN: a program that reads, with `access` switched in between
	cat <<END
$login
fork t=10 pid=200 ppid=100 uid=1000
exec t=12 pid=200 uid=1000 exe=/h/prog ino=4 argv=prog cwd=/h nexec=1
$1
file lo=100 hi=110 pid=200 uid=1000 ops=open path=/h/in ino=21 size=9 mtime=-5000 nexec=1
$2
bytes t=300 pid=200 uid=1000 ino=21 rn=3 rb=9 rf=150 rl=250 nexec=1 ${3:-final=1}
file lo=390 hi=400 pid=200 uid=1000 ops=closer path=/h/in ino=21 size=9 mtime=-5000 nexec=1
settle t=400
exit t=500 pid=200 uid=1000 status=0
END
	ends 510
}
at()
{ # MS: that moment as the log has it
	echo "17672256$(printf %08d $((0 + $1)) | sed 's/\(.....\)\(...\)/\1\2/')" >/dev/null
	echo $((1767225600000 + $1))000000
}
bytes 'count pid=200 on=1' '# on' | sim && dump 1000 && events "\"until\":$(at 400).*\"exact\":1,\"first\":$(at 150),\"last\":$(at 250)" 1
check "First with Last: from the first byte to the last"
bytes '# off' 'count pid=200 on=1' | sim && dump 1000 && events "\"until\":$(at 250)" 1 && events '"exact":1' 0
check "Open with Last, where it was switched on after the open"
bytes 'count pid=200 on=1' '# on' 'final=0' | sim && dump 1000 && events "\"exact\":1,\"first\":$(at 150),\"last\":$(at 400)" 1
check "First with Close, where it was switched off before the close"
{ cat <<END
$login
fork t=10 pid=200 ppid=100 uid=1000
exec t=12 pid=200 uid=1000 exe=/h/prog ino=4 argv=prog cwd=/h nexec=1
file lo=390 hi=400 pid=200 uid=1000 ops=closer path=/h/in ino=21 size=9 mtime=-5000 nexec=1
exit t=500 pid=200 uid=1000 status=0
END
	ends 510; } | sim && dump 1000 && events "\"t\":$(at 12),\"k\":\"access\".*\"mode\":65,\"via\":2,\"api\":2" 1
check "a close without an open: possible, since the program began"
{ echo "$login"
	echo "fork t=10 pid=200 ppid=100 uid=1000"
	echo "exec t=12 pid=200 uid=1000 exe=/h/prog ino=4 argv=prog cwd=/h nexec=1"
	i=100
	while [ $i -lt 1100 ]; do
		echo "file lo=$i hi=$((i + 1)) pid=200 uid=1000 ops=open,closer path=/h/in ino=21 size=9 mtime=-5000 nexec=1"
		i=$((i + 1))
	done
	ends 1200; } | sim && dump 1000 && events '"count":1000' 1 && events '"k":"access",.*"mode":65' 1
check "a thousand opens are one access with a count"
{ cat <<END
$login
fork t=10 pid=200 ppid=100 uid=1000
exec t=12 pid=200 uid=1000 exe=/h/reader ino=4 argv=reader cwd=/h nexec=1
fork t=10 pid=201 ppid=100 uid=1000
exec t=12 pid=201 uid=1000 exe=/h/writer ino=5 argv=writer cwd=/h nexec=1
file lo=100 hi=110 pid=200 uid=1000 ops=open,closer path=/h/f ino=21 size=9 mtime=-5000 nexec=1
file lo=200 hi=210 pid=201 uid=1000 ops=open,closew path=/h/f ino=21 size=8 mtime=205 nexec=1
file lo=300 hi=310 pid=200 uid=1000 ops=open,closer path=/h/f ino=21 size=8 mtime=205 nexec=1
END
	ends 400; } | sim && as 1000 && cmd 0 sql "SELECT v.n FROM edge d JOIN version v ON v.id = d.to_id JOIN file f ON f.id = v.file
JOIN execution e ON e.id = d.from_id WHERE d.type = 'used' AND f.path = '/h/f' AND e.argv = 'reader' ORDER BY v.n" && sed 1d "$out" >"$T/n" && is "$T/n" "1
2"
check "repeats are not counted together across somebody's write"

# ---- names, users, sessions ----

{ cat <<END
$login
fork t=10 pid=200 ppid=100 uid=1000
exec t=12 pid=200 uid=1000 exe=/h/prog ino=4 argv=prog cwd=/h nexec=1
file lo=100 hi=110 pid=200 uid=1000 ops=create,open,closew path=/h/x.tmp ino=21 size=8 mtime=105 nexec=1
rename lo=110 hi=120 t=120 pid=200 uid=1000 ino=21 old=/h/x.tmp path=/h/x nexec=1
END
	ends 200; } | sim && as 1000 && cmd 0 why /h/x && says "$out" 'made by prog' && cmd 0 why /h/x.tmp && says "$out" '/h/x@{1} (was /h/x.tmp): made by prog'
check "written as another name, then renamed"
{ cat <<END
$login
fork t=10 pid=200 ppid=100 uid=1000
exec t=12 pid=200 uid=0 exe=/usr/bin/sudo ino=4 argv=sudo,-u,other,prog cwd=/h nexec=1
exec t=20 pid=200 uid=1001 exe=/h/prog ino=5 argv=prog,--secret-plan cwd=/h nexec=2
file lo=100 hi=110 pid=200 uid=1001 ops=create,open,closew path=/h/x ino=21 size=8 mtime=105 nexec=2
exit t=130 pid=200 uid=1001 status=0
END
	ends 200; } | sim && dump 1000 && events secret-plan 0 && dump 0 && events secret-plan 0 && dump 1001 && events '"secret-plan\|--secret-plan' 2 &&
	as 1001 && cmd 0 why /h/x && says "$out" 'made by prog' && export STEMMA_HOME="$T/node/all" && cmd 0 why /h/x && says "$out" 'made by prog'
check "a program that becomes another user goes on in that one's log; root's store has all"
{ script | sed '/^stats/d; s/^settle t=55/settle t=55\nsession t=56/'; } | sim && as 1000 && cmd 0 lineage /h/b && says "$out" 'sh job.sh' && says "$out" '/h/a@{1}'
check "the log begun again in the middle: the same answer"
{ cat <<END
$login
fork t=10 pid=200 ppid=100 uid=1000 start=5
exec t=12 pid=200 uid=1000 exe=/h/one ino=4 argv=one cwd=/h nexec=1 start=5
exit t=13 pid=200 uid=1000 status=0 start=5
fork t=14 pid=200 ppid=100 uid=1000 start=20000005
exec t=15 pid=200 uid=1000 exe=/h/two ino=5 argv=two cwd=/h nexec=1 start=20000005
file lo=16 hi=20 pid=200 uid=1000 ops=create,open,closew path=/h/x ino=21 size=8 mtime=17 nexec=1 start=20000005
END
	ends 200; } | sim && as 1000 && cmd 0 why /h/x && says "$out" 'made by two' && says_not "$out" one
check "a process number that was used again is another process"

# ---- another user, without an exec ----

# A service of root's with a helper, which becomes user 1000: what each may see.
{ echo "$login"
	echo "alive t=0 pid=60 ppid=1 exe=/bin/bash argv=-bash uid=0 ino=3 cwd=/root"
	echo "fork t=10 pid=200 ppid=60 uid=0"
	echo "exec t=12 pid=200 uid=0 exe=/bin/service ino=4 argv=service,--token-file,/root/hidden cwd=/root/folder env=SLURM_JOB_NAME=concealed nexec=1"
	echo "file lo=14 hi=15 pid=200 uid=0 ops=open path=/root/private ino=40 size=9 mtime=-5000 nexec=1"
	echo "fork t=16 pid=202 ppid=200 uid=0"
	echo "file lo=25 hi=35 pid=200 uid=0 ops=open,closer path=/root/unsure ino=41 size=9 mtime=-5000 nexec=1"
	echo "file lo=25 hi=35 pid=200 uid=0 ops=create,open,closew path=/root/unsure-new ino=46 size=9 mtime=26 nexec=1"
	echo "user t=30 pid=200 uid=1000"
	echo "settle t=40"
	echo "file lo=41 hi=45 pid=200 uid=1000 ops=closer path=/root/private ino=40 size=9 mtime=-5000 nexec=1"
	echo "file lo=50 hi=55 pid=200 uid=1000 ops=create,open,closew path=/h/after ino=42 size=9 mtime=52 nexec=1"
	echo "fork t=56 pid=203 ppid=200 uid=1000"
	echo "file lo=57 hi=58 pid=203 uid=1000 ops=create,open,closew path=/h/child ino=43 size=9 mtime=57 nexec=1"
	echo "file lo=57 hi=58 pid=202 uid=0 ops=create,open,closew path=/root/helper ino=44 size=9 mtime=57 nexec=1"
	echo "exit t=60 pid=203 uid=1000 status=0"
	echo "exit t=61 pid=202 uid=0 status=0"
	ends 200; } >"$T/service"
sim <"$T/service" && dump 1000 && says "$T/log" /h/after /h/child && says_not "$T/log" /root/ && says_not "$T/log" concealed && says_not "$T/log" token && events '"argv":\["service"\]' 2
check "a process becomes another user's without an exec: that one sees what it does from then on, and nothing from before"
dump 0 && says "$T/log" /root/private /root/helper /root/unsure && says_not "$T/log" /h/after && says_not "$T/log" /h/child
check "... the user before sees what it did up to then, and what its helper does still, and nothing from then on"
sed 's/^\(file lo=25 .*\)$/\1/; s/^user t=30 pid=200 uid=1000/&\nfile lo=25 hi=35 pid=200 uid=1000 ops=open,closer path=\/root\/late ino=45 size=9 mtime=-5000 nexec=1/' "$T/service" | sim && dump 1000 && says_not "$T/log" /root/ && dump 0 && says "$T/log" /root/late
check "... what may have been before is the user's before"
# setpriv, runuser and the like change the user and then execute what the job is.
launcher()
{ # PROGRAM,ARGUMENT...: what it executes, as a user of its own
	echo "$login"
	echo "alive t=0 pid=60 ppid=1 exe=/bin/bash argv=-bash uid=0 ino=3 cwd=/root"
	echo "fork t=10 pid=200 ppid=60 uid=0"
	echo "exec t=12 pid=200 uid=0 exe=/bin/setpriv ino=4 argv=setpriv,--reuid,1000 cwd=/root nexec=1"
	echo "user t=20 pid=200 uid=1000"
	echo "exec t=30 pid=200 uid=1000 exe=/bin/${1%%,*} ino=5 argv=$1 cwd=/h nexec=2"
}
for begun in '' 'session t=31'; do
	{ launcher env,A=b,job,first && echo "$begun"
		echo "exec t=40 pid=200 uid=1000 exe=/h/job ino=6 argv=job,first cwd=/h nexec=3"
		echo "file lo=41 hi=45 pid=200 uid=1000 ops=create,open,closew path=/h/made ino=42 size=9 mtime=42 nexec=3"
		ends 200; } | sim && as 1000 && cmd 0 log --all && lines "$out" 2 && says "$out" 'env A=b job first' && says_not "$out" setpriv &&
		cmd 0 sql "SELECT argv, cwd, began FROM run" && cp "$out" "$T/sql" && says "$T/sql" 'env A=b job first' '/h' &&
		cmd 0 log --json --all && id=$(sed -n 's/.*"id": *"\([0-9A-Z]*\)".*/\1/p' "$out" | head -n 1) && cmd 0 show "$id" && says "$out" 'env A=b job first' &&
		cmd 0 find --runs 'made /h/made' && says "$out" 'env A=b job first' && says_not "$out" setpriv &&
		cmd 0 export -f prov-n /h/made && says "$out" 'prov:label="env A=b job first"'
	check "a job is called what executes after the change of user: log, show, find, sql, export${begun:+, when the log began again}"
done
{ launcher bash,-i
	echo "fork t=40 pid=201 ppid=200 uid=1000"
	echo "exec t=41 pid=201 uid=1000 exe=/h/one ino=6 argv=one cwd=/h nexec=1"
	echo "exit t=42 pid=201 uid=1000 status=0"
	echo "fork t=43 pid=202 ppid=200 uid=1000"
	echo "exec t=44 pid=202 uid=1000 exe=/h/two ino=7 argv=two cwd=/h nexec=1"
	echo "exit t=45 pid=202 uid=1000 status=0"
	ends 200; } | sim && as 1000 && cmd 0 sql "SELECT r.argv FROM run r JOIN execution e ON e.run = r.id WHERE e.argv IN ('one', 'two') ORDER BY r.argv" &&
	sed 1d "$out" >"$T/n" && is "$T/n" "one
two"
check "what becomes another user's shell begins no run that all of the session is in"
{ echo "$login"
	echo "fork t=10 pid=200 ppid=100 uid=1000"
	echo "exec t=12 pid=200 uid=1000 exe=/bin/tool ino=4 argv=tool cwd=/h nexec=1"
	echo "user t=30 pid=200 uid=0"
	echo "file lo=25 hi=35 pid=200 uid=0 ops=create,open,closew path=/root/late ino=45 size=9 mtime=33 nexec=1"
	echo "user t=50 pid=200 uid=1001"
	echo "file lo=55 hi=56 pid=200 uid=1001 ops=create,open,closew path=/h/third ino=46 size=9 mtime=55 nexec=1"
	ends 200; } | sim && dump 1000 && says_not "$T/log" /root/ && says_not "$T/log" /h/third && dump 0 && says "$T/log" /root/late && says_not "$T/log" /h/third && dump 1001 && says "$T/log" /h/third && says_not "$T/log" /root/
check "... to root it is root's; and from there to a third"

# ---- what is missing, and bounds ----

{ echo "$login"
	echo "fork t=10 pid=200 ppid=100 uid=1000"
	echo "exec t=12 pid=200 uid=1000 exe=/h/prog ino=4 argv=prog cwd=/h nexec=1"
	echo "lost lo=20 hi=30 count=17"
	ends 200; } | sim && dump 1000 && events "\"k\":\"gap\",\"reason\":1,\"count\":17,\"from\":$(at 20)" 1 && dump 0 && events '"count":17' 1
check "what was lost stands in the log of everybody who had a process, with count and interval"
{ echo "$login"
	echo "clock t=5000 back=1"
	echo "clock t=6000 back=3600000"
	ends 6100; } | sim && dump 1000 && events '"k":"gap"' 1 && events "\"t\":$(at 3606000),\"k\":\"gap\",\"reason\":12,\"from\":$(at 6000),\"text\":\"the clock was set back by 3600000 ms" 1 && dump 0 && events 'set back by 3600000 ms' 1
check "a clock that is set back: everybody is told of which hour the order is not sure; one that is slowed is none"
{ echo "$login"
	echo "fork t=10 pid=200 ppid=100 uid=1000"
	echo "exec t=12 pid=200 uid=1000 exe=/h/prog ino=4 argv=prog cwd=/h nexec=1"
	i=1000
	while [ $i -lt 3000 ]; do
		echo "file lo=100 hi=110 pid=200 uid=1000 ops=open path=/h/f$i ino=$i size=9 mtime=-5000 nexec=1"
		i=$((i + 1))
	done
	ends 200; } | sim --accesses=100 --files=500 && dump 1000 && events '"k":"gap","reason":16' 1 && says "$T/stats" 'accesses=80 '
check "more open files than there is room for: a gap that counts them, and no more memory"
{ echo "$login"
	echo "fork t=10 pid=200 ppid=100 uid=1000"
	echo "exec t=12 pid=200 uid=1000 exe=/h/prog ino=4 argv=prog cwd=/h nexec=1"
	echo "alive t=0 pid=101 ppid=50 exe=/bin/bash argv=-bash uid=1001 ino=3 cwd=/h"
	echo "fork t=10 pid=201 ppid=101 uid=1001"
	echo "exec t=12 pid=201 uid=1001 exe=/h/other ino=5 argv=other cwd=/h nexec=1"
	i=1000
	while [ $i -lt 1500 ]; do
		echo "file lo=100 hi=110 pid=200 uid=1000 ops=open path=/h/f$i ino=$i size=9 mtime=-5000 nexec=1"
		i=$((i + 1))
	done
	echo "file lo=120 hi=130 pid=201 uid=1001 ops=create,open,closew path=/h/theirs ino=7000 size=9 mtime=125 nexec=1"
	echo "exit t=140 pid=201 uid=1001 status=0"
	ends 200; } | sim --accesses=100 --files=2000 && dump 1000 && events '"k":"gap","reason":16' 1 && dump 1001 && events '"k":"gap"' 0 && says "$T/log" /h/theirs
check "... another user's files have room, and no gap"
# 100 files that are open pin their places; there is room for 40, and for as many again while places are looked for.
{ echo "$login"
	echo "fork t=10 pid=200 ppid=100 uid=1000"
	echo "exec t=12 pid=200 uid=1000 exe=/h/prog ino=4 argv=prog cwd=/h nexec=1"
	echo "alive t=0 pid=101 ppid=50 exe=/bin/bash argv=-bash uid=1001 ino=3 cwd=/h"
	echo "fork t=10 pid=201 ppid=101 uid=1001"
	echo "exec t=12 pid=201 uid=1001 exe=/h/other ino=5 argv=other cwd=/h nexec=1"
	i=1000
	while [ $i -lt 1100 ]; do
		echo "file lo=100 hi=110 pid=200 uid=1000 ops=open path=/h/f$i ino=$i size=9 mtime=-5000 nexec=1"
		i=$((i + 1))
	done
	echo "file lo=120 hi=130 pid=201 uid=1001 ops=create,open,closew path=/h/theirs ino=7000 size=9 mtime=125 nexec=1"
	echo "settle t=150"
	ends 200; } | sim --accesses=1000 --files=40 && dump 1001 && says_not "$T/log" /h/theirs && events '"k":"gap","reason":1,.*more files were in use at the same time' 1
check "the table of files is full of open ones: what another user's file is missing for is told"
{ echo "$login"
	i=1000
	while [ $i -lt 3000 ]; do
		echo "fork t=10 pid=$i ppid=$((i == 1000 ? 100 : i - 1)) uid=1000"
		i=$((i + 1))
	done
	ends 200; } | sim --keep=all --processes=500 && dump 1000 && events '"k":"gap","reason":16' 1 && [ "$(grep -c '"k":"process"' "$T/log")" -lt 510 ]
check "more processes than there is room for: likewise"
{ echo "$login"
	echo "fork t=10 pid=200 ppid=100 uid=1000"
	awk 'BEGIN { printf "exec t=12 pid=200 uid=1000 exe=/h/prog ino=4 cwd=/h nexec=1 argv=prog,%%1b]0;x%%07,%%ff%%fe,--password=hunter2"; for (i = 0; i < 9000; i++) printf ",a%d", i; print "" }'
	ends 200; } | sim && as 1000 && cmd 0 log && says "$out" prog && ! grep -q "$(printf '\033')" "$out" && dump 1000 && events hunter2 0 && events '"a8999"' 2
check "hostile arguments: kept whole, without secrets, and harmless on the screen"
{ echo "$login"
	i=0
	while [ $i -lt 300 ]; do
		echo "fork t=$((10 + i)) pid=$((1000 + i)) ppid=$((i ? 999 + i : 100)) uid=1000"
		[ $i -gt 0 ] && echo "exit t=$((10 + i)) pid=$((999 + i)) uid=1000 status=0"
		echo "settle t=$((10 + i))"
		i=$((i + 1))
	done
	echo stats; } | sim --keep=all && says "$T/stats" 'live=4 '
check "a chain of forks whose parents end leaves nothing behind"

# ---- a subshell has the pipe of x=$(...) between the program and who reads it ----

subshell()
{ # ORDER: x=$(true; read y <secret; echo $y), or the program after the reading
	cat <<END
$login
fork t=10 pid=300 ppid=100 uid=1000
exec t=11 pid=300 uid=1000 exe=/bin/sh ino=5 argv=/bin/sh,job.sh cwd=/h nexec=1
fork t=20 pid=301 ppid=300 uid=1000
END
	[ "$1" = before ] || echo "file lo=41 hi=42 pid=301 uid=1000 ops=open,closer path=/h/secret ino=20 size=9 mtime=-5000"
	cat <<END
fork t=50 pid=302 ppid=301 uid=1000
exec t=51 pid=302 uid=1000 exe=/bin/true ino=6 argv=true cwd=/h nexec=1
fds t=51 pid=302 uid=1000 fds=1:w:60000:p nexec=1
exit t=52 pid=302 uid=1000 status=0
settle t=53
END
	[ "$1" = after ] || echo "file lo=54 hi=55 pid=301 uid=1000 ops=open,closer path=/h/secret ino=20 size=9 mtime=-5000"
	cat <<END
fds t=60 pid=301 uid=1000 exit=1 fds=1:w:60000:p
exit t=60 pid=301 uid=1000 status=0
settle t=61
file lo=70 hi=71 pid=300 uid=1000 ops=create,open,closew path=/h/out ino=22 size=9 mtime=70 nexec=1
exit t=80 pid=300 uid=1000 status=0
END
	ends 90
}
for order in before after; do
	subshell $order | sim --keep=all && as 1000 && cmd 0 lineage --all --depth 5 /h/out && says "$out" "/h/secret@{1}"
	check "a subshell that wrote to whom it was forked by, its program $order it read: its input is not missed"
done

# ---- while read line; do true; ... done < <(cat secret) ----

{ cat <<END
$login
fork t=10 pid=300 ppid=100 uid=1000
exec t=11 pid=300 uid=1000 exe=/bin/sh ino=5 argv=/bin/sh,job.sh cwd=/h nexec=1
fork t=20 pid=301 ppid=300 uid=1000
exec t=21 pid=301 uid=1000 exe=/bin/cat ino=6 argv=cat,secret cwd=/h nexec=1
fds t=21 pid=301 uid=1000 fds=1:w:60000:p nexec=1
file lo=22 hi=23 pid=301 uid=1000 ops=open,closer path=/h/secret ino=20 size=9 mtime=-5000 nexec=1
fork t=30 pid=302 ppid=300 uid=1000
exec t=31 pid=302 uid=1000 exe=/bin/true ino=7 argv=true cwd=/h nexec=1
fds t=31 pid=302 uid=1000 fds=0:r:60000:p nexec=1
exit t=32 pid=302 uid=1000 status=0
exit t=33 pid=301 uid=1000 status=0
fork t=40 pid=303 ppid=300 uid=1000
exec t=41 pid=303 uid=1000 exe=/bin/true ino=7 argv=true cwd=/h nexec=1
fds t=41 pid=303 uid=1000 fds=0:r:60000:p nexec=1
exit t=42 pid=303 uid=1000 status=0
settle t=43
file lo=70 hi=71 pid=300 uid=1000 ops=create,open,closew path=/h/out ino=22 size=9 mtime=70 nexec=1
exit t=80 pid=300 uid=1000 status=0
END
	ends 90; } | sim --keep=all && as 1000 && cmd 0 lineage --all --depth 5 /h/out && says "$out" "/h/secret@{1}"
check "a loop whose programs are seen with the pipe that it reads: what was written to it is not missed"

# ---- read line < <(cat secret): the shell does not wait for it ----

gone()
{ # SETTLES: so many drains after the shell's end the program ends
	cat <<END
$login
fork t=10 pid=300 ppid=100 uid=1000
exec t=11 pid=300 uid=1000 exe=/bin/bash ino=5 argv=/bin/bash,job.sh cwd=/h nexec=1
fork t=20 pid=301 ppid=300 uid=1000
exec t=21 pid=301 uid=1000 exe=/bin/cat ino=6 argv=cat,secret cwd=/h nexec=1
fds t=21 pid=301 uid=1000 fds=1:w:60000:p nexec=1
file lo=22 hi=23 pid=301 uid=1000 ops=open,closer path=/h/secret ino=20 size=9 mtime=-5000 nexec=1
file lo=30 hi=31 pid=300 uid=1000 ops=create,open,closew path=/h/out ino=22 size=9 mtime=30 nexec=1
exit t=40 pid=300 uid=1000 status=0
END
	i=0
	while [ $i -lt "$1" ]; do
		i=$((i + 1))
		echo "settle t=$((40 + i))"
	done
	echo "exit t=80 pid=301 uid=1000 status=0"
	ends 90
}
for settles in 0 1 10; do
	for keep in all representative; do
		# shellcheck disable=SC2046 # no option, or one
		gone $settles | sim $([ $keep = representative ] || echo --keep=all) && as 1000 && cmd 0 lineage --all --depth 5 /h/out && says "$out" "/h/secret@{1}"
		check "the shell is over before the program it read from, $settles drains, keep=$keep"
	done
done

# ---- x=$(echo "$(cat secret)"), typed: the subshell between is neither the shell nor a program ----

{ cat <<END
$login
fork t=20 pid=301 ppid=100 uid=1000
fork t=22 pid=302 ppid=301 uid=1000
exec t=23 pid=302 uid=1000 exe=/bin/cat ino=6 argv=cat,secret cwd=/h nexec=1
fds t=23 pid=302 uid=1000 fds=1:w:60000:p nexec=1
file lo=24 hi=25 pid=302 uid=1000 ops=open,closer path=/h/secret ino=20 size=9 mtime=-5000 nexec=1
exit t=26 pid=302 uid=1000 status=0
fds t=28 pid=301 uid=1000 exit=1 fds=1:w:60001:p
exit t=28 pid=301 uid=1000 status=0
settle t=29
file lo=70 hi=71 pid=100 uid=1000 ops=create,open,closew path=/h/out ino=22 size=9 mtime=70 nexec=1
END
	ends 90; } | sim && as 1000 && cmd 0 lineage --all --depth 6 /h/out && says "$out" "/h/secret@{1}"
check "a subshell of an interactive shell reads from a program: its input is not missed"

# ---- a shell that calls thousands of programs for their output ----

outputs()
{ # N: each writes to a pipe whose other end nobody was seen to have; the pipe of the first has another writer at the end
	cat <<END
$login
fork t=10 pid=300 ppid=100 uid=1000
exec t=11 pid=300 uid=1000 exe=/bin/sh ino=5 argv=/bin/sh,job.sh cwd=/h nexec=1
END
	awk -v n="$1" '
	function cat(t, pid, pipe, path, ino) {
		printf "fork t=%d pid=%d ppid=300 uid=1000\nexec t=%d pid=%d uid=1000 exe=/usr/bin/cat ino=6 argv=cat,%s cwd=/h nexec=1\n", t, pid, t + 1, pid, path
		printf "fds t=%d pid=%d uid=1000 fds=1:w:%d:p nexec=1\n", t + 1, pid, pipe
		printf "file lo=%d hi=%d pid=%d uid=1000 ops=open,closer path=%s ino=%d size=9 mtime=-5000 nexec=1\n", t + 1, t + 2, pid, path, ino
		printf "exit t=%d pid=%d uid=1000 status=0\nsettle t=%d\n", t + 4, pid, t + 5
	}
	BEGIN {
		for (i = 0; i < n; i++) {
			cat(20 + 10 * i, 10000 + i, 50000 + i, i ? "/h/in" : "/h/first", i ? 21 : 20)
			if (i % 100 == 99)
				printf "tick t=%d\n", 26 + 10 * i
		}
		t = 20 + 10 * n + 5000
		printf "tick t=%d\n", t - 2
		cat(t, 9000, 50000, "/h/late", 23)
		printf "file lo=%d hi=%d pid=300 uid=1000 ops=create,open,closew path=/h/out ino=22 size=9 mtime=%d nexec=1\nsettle t=%d\n", t + 6, t + 7, t + 6, t + 8
		printf "tick t=%d\ntick t=%d\ntick t=%d\nstats\nexit t=%d pid=300 uid=1000 status=0\n", t + 9, t + 5000, t + 10000, t + 10001
	}'
	ends $((20 + 10 * $1 + 16000))
}
figure()
{ # WORD: the first figure of that name
	sed -n "s/.* $1=\([0-9]*\).*/\1/p" "$T/stats" | head -1
}
outputs 3000 | sim --keep=all --accesses=1000 && [ "$(figure lost)" = 0 ] && dump 1000 && events '"k":"gap"' 0
check "a script that calls 3,000 programs for their output, with room for 1,000 accesses: none is refused"
[ "$(figure accesses)" -lt 20 ] && [ "$(figure swept)" -lt 20000 ]
check "... what is over is let go of, and not all are passed at each: $(figure accesses) are left, $(figure swept) were passed"
as 1000 && cmd 0 lineage --depth 4 /h/out && says "$out" '/h/first@{1}' && says "$out" '/h/in@{1}' && says "$out" '/h/late@{1}'
check "... and what it made may be of all that they wrote, the late one too"

{ cat <<END
$login
fork t=10 pid=200 ppid=100 uid=1000
exec t=12 pid=200 uid=1000 exe=/h/first ino=4 argv=first cwd=/h nexec=1
file lo=13 hi=14 pid=200 uid=1000 ops=open path=/h/in ino=20 size=9 mtime=-5000 nexec=1
fork t=10 pid=201 ppid=100 uid=1000
exec t=12 pid=201 uid=1000 exe=/h/second ino=5 argv=second cwd=/h nexec=1
fork t=30 pid=200 ppid=100 uid=1000 start=777
exec t=31 pid=200 uid=1000 exe=/h/third ino=6 argv=third cwd=/h nexec=1 start=777
exit t=40 pid=201 uid=1000 flags=unseen
settle t=41
END
	ends 50; } | sim && says "$T/stats" 'live=4 ' && as 1000 && cmd 0 sql "SELECT argv || ' ' || ending || ' ' || ifnull(code, '-') || ' ' || ifnull(cpu, '-') FROM execution e WHERE n = 1 ORDER BY began, argv" &&
	cp "$out" "$T/endings" && says "$out" 'first unknown' && says "$out" 'second unknown' && says_not "$out" 'exited'
check "ends that were lost: the process is over, nobody knows how; its number being another's shows it, too"
finish
