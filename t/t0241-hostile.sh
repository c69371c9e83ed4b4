#!/bin/sh
# Programs that limit themselves, stop or kill what is around them, look at what others do to their files, and make calls that fail
# in rare ways: all that they find out is the same with a recorder as without, and the record can be read.
# shellcheck source=tests/prog/lib.sh disable=SC2086 # options and cases are words
. "$(dirname "$0")/../tests/prog/lib.sh"

# A new way to record is a word here and a row in mode().
all="complete inject count exact trace safe tree"
[ -n "$SLOW" ] || all="complete inject safe"
thorough || all=complete
MODES=${MODES:-$all}

# mode NAME: the options of stemma run, and the cases that cannot be the same.
mode()
{
	unset STEMMA_INJECT
	# The kernel takes no strict mode where there is a filter. The fallback cannot forbid to be traced, and its death shows.
	not=strict
	case $1 in
	complete) RUN_OPTIONS= ;;
	inject) RUN_OPTIONS= && export STEMMA_INJECT=always ;;
	count) RUN_OPTIONS=--count ;;
	exact) RUN_OPTIONS=--exact not= ;;
	trace) RUN_OPTIONS=--transport=trace not="strict parent-traced parent-killed" ;;
	safe) RUN_OPTIONS=--capture=safe not= ;;
	tree) RUN_OPTIONS=--capture=tree ;;
	esac
}

# once FOLDER COMMAND...: what the case does in a fresh folder, in $T/FOLDER.said; the folder's name is not in it.
once()
{
	to=$T/$1
	shift
	fresh_now "$T/d"
	(cd "$T/d" && exec "$@" "$T/d") >"$to.out" 2>"$to.err" </dev/null
	{
		echo "status $?"
		sed "s|$T|T|g" "$to.out" "$to.err"
		(cd "$T/d" && find . | sort)
	} >"$to.said"
}

[ -x "$PROGS/p-hostile" ] || {
	echo "Bail out! no p-hostile in $PROGS"
	exit 1
}
chmod 755 "$T" # one case becomes another user
for c in $("$PROGS/p-hostile"); do
	case " ${ONLY:-$c} " in
	*" $c "*) ;;
	*) continue ;;
	esac
	once plain "$PROGS/p-hostile" "$c"
	if grep -q '^status 77' "$T/plain.said"; then
		skip_ "$c" "$(sed -n 's/^skip: //p' "$T/plain.err" | head -1)"
		continue
	fi
	if ! grep -q '^status 0' "$T/plain.said"; then
		not_ok "$c: it fails without the recorder, too" "$T/plain.said"
		continue
	fi
	for m in $MODES; do
		mode $m
		case " $not " in
		*" $c "*) continue ;;
		esac
		rm -rf "${T:?}/home"
		STEMMA_HOME=$T/home once recorded timeout -k 5 120 "$STEMMA" run $RUN_OPTIONS -- "$PROGS/p-hostile" "$c"
		diff "$T/plain.said" "$T/recorded.said" >"$T/why"
		if ! events "$T/home" "$T/events"; then
			echo "the log is not whole: $(head -1 "$T/events.err")" >>"$T/why"
		elif ! grep -q '"k":"run_end"' "$T/events"; then
			echo "the run has no end" >>"$T/why"
		fi
		[ ! -s "$T/why" ]
		result $? "$m: $c" "$T/why"
	done
done

# A debugger from outside holds the worker: the job goes on meanwhile, and the record says that something is missing.
once plain true
D=$T/d
mkfifo "$D/go"
rm -rf "${T:?}/home"
(cd "$D" && STEMMA_HOME=$T/home exec timeout -k 5 120 "$STEMMA" run -- sh -c 'read line <go; cat in >copy; sort x >sorted; mv sorted done; exit 7') >"$T/why" 2>&1 &
run=$!
exec 8>"$D/go" # when the command has opened it
read -r keeper _ <"/proc/$run/task/$run/children"
worker=$(for p in $(cat "/proc/$keeper/task/$keeper/children"); do grep -qx stemma-worker /proc/$p/comm && echo "$p"; done)
"$PROGS/p-hostile" +holds "$D" "$worker" 2>"$T/holds" &
holds=$!
while [ ! -e "$D/held" ] && kill -0 $holds 2>/dev/null; do sleep 0.05; done
echo line >&8
exec 8>&-
wait $holds
held=$?
wait $run
status=$?
name="a debugger holds the worker: the job goes on"
if [ $held = 77 ]; then
	skip_ "$name" "$(sed -n 's/^skip: //p' "$T/holds")"
else
	cat "$T/holds" >>"$T/why"
	[ $held = 0 ] && [ $status = 7 ] || echo "held: $held, status $status" >>"$T/why"
	diff "$D/in" "$D/copy" >>"$T/why" 2>&1
	events "$T/home" "$T/events" || cat "$T/events.err" >>"$T/why"
	grep -q '"k":"gap".*while a tracer held the recorder' "$T/events" || echo "no gap is said" >>"$T/why"
	[ ! -s "$T/why" ]
	result $? "$name" "$T/why"
fi
finish
