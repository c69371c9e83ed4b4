#!/bin/sh
# What a program opens, makes and names through an io_uring is recorded as if it had made a call for each; what cannot be
# seen of a ring is said, and nothing else is.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

PROGS=${PROGS:-${STEMMA_PROGS:-$BUILD/tests/prog}}
ring=$PROGS/p-ring
echo input >in
echo older >older
options=

# rings WORD...: p-ring does that in a new folder `here`, recorded, and ends as without a recorder. 77: this kernel has
# no io_uring, or not that of it.
rings()
{
	rm -rf there here "$STEMMA_HOME"
	mkdir there here
	cp in older there && cp in older here
	(cd there && exec "$ring" "$@") >plain 2>&1 </dev/null
	status=$?
	[ $status != 77 ] || return 77
	sleep 0.03
	# shellcheck disable=SC2086
	(cd here && exec "$STEMMA" run $options -- "$ring" "$@") >"$out" 2>"$err" </dev/null
	got=$?
	[ $got = $status ] || {
		echo "status $got, not $status" >>"$err"
		return 1
	}
	(cd there && find . -type f -exec cat {} + | sort) >plain.files
	(cd here && find . -type f -exec cat {} + | sort) >files
	cmp plain.files files >>"$err" 2>&1
}

# sources FILE: one line for each file that FILE was made from, with its certainty; gaps: those of the record.
sources()
{
	"$STEMMA" lineage --json "here/$1" >json 2>>"$err" || {
		echo "no answer"
		return 1
	}
	$PYTHON -c "
import json
j = json.load(open('json'))
name = {e['id']: e['path'].rsplit('/', 1)[1] for e in j['entities']}
for e in j['edges']:
    if e['type'] == 'used' and e['to'] in name:
        print(name[e['to']], e['certainty'])
" | sort -u
}
gaps()
{
	"$STEMMA" sql --csv "SELECT DISTINCT reason FROM gap WHERE reason = 'io_uring'" | sed '1d; s/\r$//'
}

# whole WHAT FILE SOURCES WORD...: it was made from those, for sure, and nothing is said to be unseen
whole()
{
	what=$1
	file=$2
	want=$3
	shift 3
	rings "$@"
	status=$?
	if [ $status = 77 ]; then
		count=$((count + 1))
		echo "ok $count - $what # SKIP this kernel has no such io_uring"
		return
	fi
	{
		echo "$want: $*"
		sources "$file"
		gaps
	} >>"$err" 2>&1
	[ $status = 0 ] && [ "$(sources "$file" | tr '\n' ' ')" = "$want" ] && [ -z "$(gaps)" ]
	check "$what"
}

# unseen WHAT WORD...: something may have been opened unseen, and the record says so
unseen()
{
	what=$1
	shift
	rings "$@"
	status=$?
	if [ $status = 77 ]; then
		count=$((count + 1))
		echo "ok $count - $what # SKIP this kernel has no such io_uring"
		return
	fi
	[ $status = 0 ] && [ "$(gaps)" = io_uring ]
	check "$what"
}

copy='in in read out made write close'
# shellcheck disable=SC2086 # words
{
	whole "a copy, each call alone" made "in must " $copy
	whole "all with the same user data" made "in must " same $copy
	whole "openat2" made "in must " how $copy
	whole "a ring without an array of submissions" made "in must " flags 0x10000 $copy
	whole "results that come when the program asks" made "in must " flags 0x3000 $copy
	whole "two opens at once" made "in must " together 2 in in out made read write close
	whole "two opens at once, with the same user data" made "in must " same together 2 in in out made read write close
	whole "more calls than the queue holds results" made "in must " noise 700 $copy
	whole "into the ring's own table, where no descriptor tells of it" made "in must " direct $copy
	whole "a ring that is known by a number" made "in must " registered $copy
	whole "its parent's ring, in a child" made "in must " noise 1 fork $copy
	whole "a file that is not there" made "in must " try absent $copy
	whole "a new name" last "in must " in in read out made write mv made last close
	whole "a second name, and the first taken" last "in must " in in read out made write ln made last rm made close
	whole "in a new folder" sub/made "in must " in in read md sub out sub/made write close
	whole "a folder that is removed again" made "in must " md sub rmdir sub $copy
	whole "through a link" made "in must " sym in link in link read out made write close
	whole "what is opened and fails is no source" made "" try absent out made write close
	whole "what was emptied may be empty because of what was read before" made "in may " in in read out made write close out made
	options=--exact
	whole "under --exact" made "in must " $copy
	options=--count
	whole "under --count" made "in must " $copy
	options=--transport=trace
	whole "under --transport=trace" made "in must " $copy
	options=
	unseen "a thread of the kernel takes the calls" flags 2 $copy
	unseen "what the kernel has said of the ring was changed" lie $copy
	STEMMA_IO_URING=off && export STEMMA_IO_URING
	unseen "it is not wanted: io_uring=off" $copy
	unset STEMMA_IO_URING
}

rm -rf "$STEMMA_HOME"
mkdir -p here
rings try absent in in >/dev/null 2>&1
if [ $? != 77 ]; then
	cmd 0 sql --csv "SELECT count(*) FROM file WHERE kind = 'absent' AND path LIKE '%/here/absent'" && says "$out" 1
	check "an absent file is recorded as such"
fi

# a real program
if command -v fio >/dev/null && "$ring" noise 1; then
	rm -rf "$STEMMA_HOME" real
	cmd 0 run -q -- fio --name=x --ioengine=io_uring --rw=write --size=64k --bs=4k --iodepth=8 --thread --filename=real --output=said
	"$STEMMA" why real >"$out" 2>"$err" && says "$out" "made by fio" && says_not "$out" incomplete && [ -z "$(gaps)" ]
	check "fio"
else
	skip "fio" "no fio here, or no io_uring"
fi
finish
