#!/bin/sh
# A node's daemon sees no call that sets the times of a file. Where nobody can have written it since its last write, other times
# are no change: the version stays. Where somebody may have, they are one.
nodesim=${STEMMA_NODESIM:-} # lib.sh takes such names out of the environment
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
SIM=${nodesim:-$BUILD/tests/stemma-nodesim}
[ -x "$SIM" ] || { echo "Bail out! no stemma-nodesim at $SIM"; exit 1; }

# told AFTER BETWEEN FOUND: `make` makes /h/mid (9 bytes), BETWEEN happens, `use` finds /h/mid as FOUND says, and makes /h/out.
# AFTER: what is told of the making.
told()
{
	rm -rf "$T/node"
	timeout 60 "$SIM" "$T/node" >stats 2>"$err" <<END
alive t=0 pid=1 ppid=0 exe=/sbin/init argv=init uid=0 ino=1
alive t=0 pid=50 ppid=1 exe=/usr/sbin/sshd argv=sshd uid=0 ino=2
alive t=0 pid=100 ppid=50 exe=/bin/bash argv=-bash uid=1000 ino=3 cwd=/h
settle t=1
fork t=10 pid=200 ppid=100 uid=1000
exec t=12 pid=200 uid=1000 exe=/usr/bin/make ino=4 argv=make cwd=/h nexec=1
$1
settle t=25
exit t=26 pid=200 uid=1000 status=0
settle t=35
settle t=45
settle t=55
$2
fork t=500 pid=300 ppid=100 uid=1000
exec t=502 pid=300 uid=1000 exe=/usr/bin/use ino=5 argv=use cwd=/h nexec=1
$3
file lo=520 hi=530 pid=300 uid=1000 ops=create,open,closew path=/h/out ino=30 size=3 mtime=528 nexec=1
settle t=530
exit t=531 pid=300 uid=1000 status=0
settle t=540
settle t=550
settle t=560
settle t=570
tick t=9000
stats
END
	export STEMMA_HOME="$T/node/users/1000"
	cmd 0 lineage --json /h/out && cp "$out" json
	"$STEMMA" lineage /h/out >"$out" 2>>"$err"
}
# goes_on: /h/out is surely of what make made, and that has one version; changed: of a version that nobody was seen to make
goes_on()
{
	jq -e '([.entities[] | select(.path == "/h/mid")] | length == 1 and .[0].origin == "observed") and
		([.executions[] | select(.argv == ["make"])] | length == 1)' json >/dev/null
}
changed()
{
	jq -e '[.entities[] | select(.path == "/h/mid") | .origin] | index("unobserved") != null or index("external") != null' json >/dev/null
}
made='file lo=15 hi=25 pid=200 uid=1000 ops=create,open,closew path=/h/mid ino=20 size=9 mtime=18 nexec=1'
there='file lo=15 hi=25 pid=200 uid=1000 ops=open,closew path=/h/mid ino=20 size=9 mtime=18 nexec=1'
# peek SIZE MTIME: somebody opens it, and so it is looked at
peek()
{
	cat <<-END
		fork t=200 pid=250 ppid=100 uid=1000
		exec t=202 pid=250 uid=1000 exe=/usr/bin/peek ino=6 argv=peek cwd=/h nexec=1
		file lo=205 hi=215 pid=250 uid=1000 ops=open,closer path=/h/mid ino=20 size=$1 mtime=$2 nexec=1
		settle t=215
		exit t=220 pid=250 uid=1000 status=0
		settle t=230
		settle t=240
		settle t=250
	END
}
found()
{
	echo "file lo=505 hi=515 pid=300 uid=1000 ops=open,closer path=/h/mid ino=20 size=$1 mtime=$2 nexec=1"
}
lost='lost lo=100 hi=110 count=1'
told "$made" "$(peek 9 18)" "$(found 9 18)" && goes_on
check 'a file as it was left'
told "$made" "$(peek 9 -7000)" "$(found 9 -7000)" && goes_on
check 'other times and the same length: they were set, and the version stays'
told "$made" "$(peek 9 -7000 && peek 9 -8000 | sed 's/=2\([0-5]\)/=3\1/g; s/=250/=350/')" "$(found 9 -8000)" && goes_on
check 'set twice'
told "$made" "$(peek 10 -7000)" "$(found 10 -7000)" && changed
check 'another length'
told "$there" "$(peek 9 -7000)" "$(found 9 -7000)" && changed
check 'a file that was there before anybody looked: somebody may have had it open'
told "$made" "$lost
$(peek 9 -7000)" "$(found 9 -7000)" && changed
check 'something was lost in between'
finish
