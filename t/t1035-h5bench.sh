#!/bin/sh
# The example examples/h5bench: patterns of input and output, with a parallel HDF5 where there is one (HDF5=hdf5-serial: a file for
# each rank). How often each call was made, what was under way at some time, which parts were used most and who changed a dataset
# is what the program counted itself.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

unset LD_PRELOAD HDF5_PLUGIN_PATH HDF5_VOL_CONNECTOR
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_btl=self,vader OMPI_MCA_plm=isolated OMPI_MCA_btl_vader_single_copy_mechanism=none
export TMPDIR="$T"
example=$here/examples/h5bench
if [ -z "${HDF5:-}" ]; then
	pkg-config --exists hdf5-openmpi 2>"$err" && HDF5=hdf5-openmpi || HDF5=hdf5-serial
fi
# Or another compiler and another way to start ranks, and --hdf5=vol: the connector instead of the library (t1012).
MPICC=$(command -v "${STEMMA_H5MPICC:-mpicc.openmpi}") && LAUNCH=$(command -v "${STEMMA_H5LAUNCH:-mpirun.openmpi}") && pkg-config --exists "$HDF5" && command -v make >"$out" || {
	echo "1..0 # SKIP no mpicc.openmpi, mpirun.openmpi, make or $HDF5"
	exit
}
LAUNCH="timeout 100 $LAUNCH -n"
export MPICC LAUNCH HDF5 HOW="${STEMMA_H5HOW:---hdf5}"
echo '#include <mpi.h>
int main(int argc, char **argv) { return MPI_Init(&argc, &argv) || MPI_Finalize(); }' >"$T/none.c"
"$MPICC" -o "$T/none" "$T/none.c" >"$out" 2>&1 && $LAUNCH 2 "$T/none" >"$out" 2>&1 || {
	echo "1..0 # SKIP programs of Open MPI do not run here: $(head -n 1 "$out")"
	exit
}
echo "# $HDF5, $HOW"
[ "$HDF5" = hdf5-serial ] && files='particles.h5.0 particles.h5.1' || files=particles.h5

STEMMA='' sh "$example/run.sh" "$T/plain" 2 2 4096 20 >"$T/said" 2>"$err" && [ ! -e "$STEMMA_HOME" ] && [ "$(wc -l <"$T/said")" = 4 ]
check 'the four patterns without stemma'
export STEMMA
DID="$T/did" sh "$example/run.sh" "$T/work/bench" 2 2 4096 20 >"$out" 2>"$err" && head -n 4 "$out" | cmp - "$T/said" >>"$err" && says "$out" '== who changed' 'H5Dread'
check 'and with it'
cd bench || exit 1
bad=
for f in $files; do cmp "$f" "$T/plain/$f" >>"$err" 2>&1 || bad="$bad $f"; done
[ -z "$bad" ]
check 'the same bytes'

# Scenario 1 and 2: each call, how often, how long. What the program timed has what was timed inside of it.
cmd 0 sql --csv "SELECT DISTINCT CASE WHEN x.argv LIKE '%h5bench write%' THEN 'write' WHEN x.argv LIKE '%overwrite%' THEN 'overwrite' WHEN x.argv LIKE '%append%' THEN 'append' ELSE 'read' END AS pattern,
	x.rank, CASE WHEN api = 'data' THEN CASE direction WHEN 'read' THEN 'H5Dread' ELSE 'H5Dwrite' END
		ELSE 'H5' || CASE WHEN f.path LIKE '%//' THEN 'F' WHEN f.kind = 'group' THEN 'G' ELSE 'D' END || CASE api WHEN 'create' THEN 'create' WHEN 'extent' THEN 'set_extent' ELSE 'open' END END AS call,
	sum(calls), sum(failed), sum(spent) FROM io JOIN file f ON f.id = io.file JOIN execution x ON x.id = io.execution WHERE f.path LIKE '$T/work/bench/particles.h5%//%' GROUP BY 1, 2, 3"
tr -d '\r' <"$out" | sed 1d >"$T/io"
cat >"$T/calls.py" <<'END'
import glob, sys
truth, seen = {}, {}
for name in glob.glob(sys.argv[1] + '.*.*'):
    _, pattern, rank = name.rsplit('.', 2)
    for line in open(name):
        if line.startswith('did '):
            _, call, n, spent = line.split()
            key = pattern, rank, call
            before = truth.get(key, (0, 0))
            truth[key] = before[0] + int(n), before[1] + int(spent)
for line in open(sys.argv[2]):
    pattern, rank, call, n, failed, spent = line.strip().split(',')
    assert failed == '0', line
    seen[pattern, rank, call] = int(n), int(spent)
assert len(truth) == 28, sorted(truth)
for key in sorted(set(truth) | set(seen)):
    a, b = truth.get(key), seen.get(key)
    if not a or not b or a[0] != b[0] or not 0 < b[1] <= a[1]:
        print(key, 'did', a, 'recorded', b)
        sys.exit(1)
END
$PYTHON -B "$T/calls.py" "$T/did" "$T/io" >"$out" 2>>"$err"
check 'scenario 1 and 2: every call of every rank is counted, and the time that it took'

# ... and which calls were under way at a time: in the middle of each phase of each rank.
: >"$T/want" && : >"$T/got"
for name in "$T"/did.*.*; do
	rank=${name##*.}
	while read -r word time phase step; do
		[ "$word" = at ] || continue
		case $phase in
		compute) ;;
		read) printf '%s x\n%s y\n%s z\n' "$time" "$time" "$time" ;;
		*) printf "$time %s\n" energy id px py pz x y z ;;
		esac | sed "s|\$| /step-$step rank $rank|" >>"$T/want"
		"$STEMMA" sql --no-index --csv "SELECT DISTINCT $time || ' ' || substr(f.path, instr(f.path, '//step') + 9) || ' ' || substr(f.path, instr(f.path, '//step') + 1, 7) || ' rank ' || x.rank FROM io JOIN file f ON f.id = io.file JOIN execution x ON x.id = io.execution
			WHERE io.api = 'data' AND io.first <= $time AND io.last >= $time AND x.rank = '$rank' AND f.path LIKE '%//step-%'" 2>>"$err" | tr -d '\r"' | sed 1d >>"$T/got"
	done <"$name"
done
sort "$T/want" >"$T/w" && sort "$T/got" >"$T/g" && [ "$(wc -l <"$T/w")" -gt 100 ] && diff "$T/w" "$T/g" >"$out" 2>>"$err"
check 'scenario 2: what was under way at a time'
iso() { date -u -d "@${1%?????????}" "+%Y-%m-%dT%H:%M:%S.${1#"${1%?????????}"}Z"; }
bad=
for phase in read compute; do
	time=$(sed -n "s/^at \([0-9]*\) $phase 1$/\1/p" "$T/did.read.0")
	"$STEMMA" stat --hdf5 --json --at "$(iso "$time")" @ >"$out" 2>>"$err"
	grep "^$time .*rank 0" "$T/want" | sed "s/.* \(.*\) \(.*\) rank 0/\2\/\1/" | sort >"$T/w"
	jq -r '.under_way[] | select(.rank == "0" and .api == "data") | .path' "$out" | sed 's|.*//||; s|^|/|' | sort | diff "$T/w" - >>"$err" || bad="$bad $phase"
done
[ -z "$bad" ]
check '... by stat --at'
cmd 0 stat --hdf5 --times --json @ && json '([.over_time[].read.calls] | add) == .total.calls.read.calls and ([.over_time[].read.bytes] | add) == .total.calls.read.bytes and (.total.calls.read.bytes > 0)'
check '... and how it lies over time'
cmd 0 stat --hdf5 @ && sed -n '/^parts of/,$p' "$out" >"$T/parts" && says "$T/parts" '//step-0/energy[0:255]' && if [ "$HDF5" = hdf5-serial ]; then
	[ "$(sed -n '3,4p' "$T/parts" | awk '{ print $1, $2, $3 }' | sort -u)" = '8 2048 read' ]
else
	[ "$(sed -n 3p "$T/parts" | awk '{ print $1, $2, $3 }')" = '16 4096 read' ]
fi
check 'which part is used most'

# Scenario 3: who changed a dataset, as which rank, on which thread's behalf.
who() { # PATH: pattern, rank and user of all that changed it
	cmd 0 sql --csv "SELECT DISTINCT substr(x.argv, instr(x.argv, 'h5bench ') + 8, 5), x.rank, x.user FROM edge e JOIN version v ON v.id = e.from_id JOIN file f ON f.id = v.file JOIN execution x ON x.id = e.to_id WHERE e.type = 'wasGeneratedBy' AND f.path = '$T/work/bench/$1' ORDER BY 1, 2" && tr -d '\r' <"$out" | sed 1d >"$T/who"
}
u=$(id -un)
if [ "$HDF5" = hdf5-serial ]; then
	who particles.h5.1//step-1/px && printf '%s,1,%s\n' appen "$u" overw "$u" write "$u" | diff - "$T/who" >>"$err"
else
	who particles.h5//step-1/px && printf '%s,%s,%s\n' appen 0 "$u" appen 1 "$u" overw 0 "$u" overw 1 "$u" write 0 "$u" write 1 "$u" | diff - "$T/who" >>"$err"
fi
check 'scenario 3: who changed a dataset'
first=${files%% *}
stat_who() { # the same by stat, of all that wrote to it
	cmd 0 stat --hdf5 --json "$1//step-1/px" && jq -r '.executions[] | select(.writes > 0) | [(.argv[] | select(. == "append" or . == "overwrite" or . == "write") | .[:5]), .rank, .user] | join(",")' "$out" | sort -u
}
: >"$T/all" && for f in $files; do stat_who "$f" >>"$T/all"; done
if [ "$HDF5" = hdf5-serial ]; then
	for r in 0 1; do printf 'appen,%s,%s\noverw,%s,%s\nwrite,%s,%s\n' $r "$u" $r "$u" $r "$u"; done | sort | diff - /dev/fd/3 3<<END >>"$err"
$(sort -u "$T/all")
END
else
	diff "$T/who" "$T/all" >>"$err"
fi
check '... by stat'
cmd 0 stat --hdf5 "$first//step-1/px" && says "$out" RANK BY "$u@" 'h5bench append'
check '... for people'
cmd 0 why "$first//step-0/x" && says "$out" 'h5bench app' "by $u@"
check '... last'
cmd 0 lineage --json "$first//step-0/x" && json '[.executions[].argv | select(.[0] // "" | endswith("h5bench")) | .[1]] | unique == ["append", "overwrite", "write"]'
check 'and how it came about'
cmd 0 sql "SELECT text FROM gap WHERE reason = 'hdf5'" && lines "$out" 0
check 'nothing of HDF5 was missed'
finish
