#!/bin/sh
# The node's daemon looks at a file when it hears that it was closed. Where another program has begun to write it by then, what is
# found is not what the first one left: its version has no size, and it keeps what it came from.
nodesim=${STEMMA_NODESIM:-} # lib.sh takes such names out of the environment
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
SIM=${nodesim:-$BUILD/tests/stemma-nodesim}
[ -x "$SIM" ] || { echo "Bail out! no stemma-nodesim at $SIM"; exit 1; }

# told FOUND NEXT...: `fill` copies /h/in to /h/out, which is looked at as FOUND says; then NEXT happens.
told()
{
	rm -rf "$T/node"
	{
		cat <<-END
			alive t=0 pid=1 ppid=0 exe=/sbin/init argv=init uid=0 ino=1
			alive t=0 pid=50 ppid=1 exe=/usr/sbin/sshd argv=sshd uid=0 ino=2
			alive t=0 pid=100 ppid=50 exe=/bin/bash argv=-bash uid=1000 ino=3 cwd=/h
			settle t=1
			fork t=110 pid=200 ppid=100 uid=1000
			exec t=112 pid=200 uid=1000 exe=/usr/bin/fill ino=4 argv=fill cwd=/h nexec=1
			file lo=113 hi=135 pid=200 uid=1000 ops=open,closer path=/h/in ino=20 size=5 mtime=1 nexec=1
			file lo=114 hi=135 pid=200 uid=1000 ops=create,open,closew path=/h/out ino=30 $1 nexec=1
			exit t=120 pid=200 uid=1000 status=0
		END
		shift
		for line; do
			echo "$line"
		done
		cat <<-END
			settle t=180
			settle t=190
			settle t=200
			settle t=210
			tick t=9000
			stats
		END
	} >story
	timeout 60 "$SIM" "$T/node" >stats 2>"$err" <story
	export STEMMA_HOME="$T/node/users/1000"
	cmd 0 lineage --json --all /h/out && cp "$out" json
	"$STEMMA" show /h/out >"$out" 2>>"$err"
}
# first ANSWER: what jq says of the version that fill made; and what fill read is in the lineage.
first()
{
	jq -e "([.entities[] | select(.path == \"/h/in\")] | length == 1) and
		([.entities[] | select(.path == \"/h/out\" and .version == 1)] | length == 1 and .[0].size == $1)" json >/dev/null
}
fork='fork t=121 pid=300 ppid=100 uid=1000'
exec='exec t=122 pid=300 uid=1000 exe=/usr/bin/next ino=5 argv=next cwd=/h nexec=1'
end='exit t=170 pid=300 uid=1000 status=0'
told 'size=0 mtime=119' "$fork" "$exec" \
	'file lo=122 hi=135 pid=300 uid=1000 ops=open path=/h/out ino=30 size=0 mtime=119 nexec=1' 'settle t=135' \
	'file lo=135 hi=160 pid=300 uid=1000 ops=closer,closew path=/h/out ino=30 size=9 mtime=150 nexec=1' 'settle t=160' "$end"
first null
check 'emptied by the next program before it is looked at'
told 'size=9 mtime=130' "$fork" "$exec" \
	'file lo=122 hi=135 pid=300 uid=1000 ops=open,closer,closew path=/h/out ino=30 size=9 mtime=130 nexec=1' 'settle t=135' "$end"
first null
check 'written by the next program before it is looked at'
told 'size=9 mtime=119 looked=138' "$fork" "$exec" 'settle t=135' \
	'file lo=136 hi=160 pid=300 uid=1000 ops=open,closer,closew path=/h/out ino=30 size=9 mtime=139 nexec=1' 'settle t=160' "$end"
first null
check 'looked at later than it was told of, when the next program writes'
told 'size=5 mtime=119' "$fork" "$exec" \
	'file lo=122 hi=135 pid=300 uid=1000 ops=open,closer path=/h/out ino=30 size=5 mtime=119 nexec=1' 'settle t=135' "$end"
first 5
check 'read by the next program: it is as it was left'
told 'size=5 mtime=119' 'settle t=135' 'fork t=141 pid=300 ppid=100 uid=1000' \
	'exec t=142 pid=300 uid=1000 exe=/usr/bin/next ino=5 argv=next cwd=/h nexec=1' \
	'file lo=142 hi=160 pid=300 uid=1000 ops=open,closer,closew path=/h/out ino=30 size=9 mtime=150 nexec=1' 'settle t=160' "$end"
first 5
check 'written by the next program after it was looked at: it is as it was left'
finish
