#!/bin/sh
# Programs with HDF5 inside themselves: what they do with objects is not seen, and is said not to be.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

unset LD_PRELOAD HDF5_PLUGIN_PATH HDF5_VOL_CONNECTOR
gaps() { "$STEMMA" sql --csv "SELECT count(*) FROM gap WHERE reason = 'hdf5' AND execution IS NOT NULL AND text LIKE '%linked into%' AND run = (SELECT max(id) FROM run)" 2>>"$err" | tr -d '\r' | sed 1d; }
gaps_are()
{
	gaps >"$T/gaps" && is "$T/gaps" "$1"
}

# What is looked for, wherever in the data it lies: behind a piece that is read at once, and across two of them.
cat >"$T/pad.c" <<'END'
char pad[600000] = "x";
int main(int argc, char **argv) { (void)argv; return pad[argc * 4096] == 'y'; }
END
if command -v cc >"$out" 2>"$err" && cc -o pad "$T/pad.c" 2>"$err"; then
	cat >"$T/put.py" <<'END'
import struct, sys
data = bytearray(open('pad', 'rb').read())
phoff, = struct.unpack_from('<Q', data, 32)
n, = struct.unpack_from('<H', data, 56)
at = None
for i in range(n):
    kind, flags, offset, _, _, size = struct.unpack_from('<IIQQQQ', data, phoff + 56 * i)
    if kind == 1 and flags & 2:
        at = offset
text = b'HDF5 library version: ' + sys.argv[2].encode()
data[at + int(sys.argv[1]):at + int(sys.argv[1]) + len(text)] = text
open(sys.argv[3], 'wb').write(data)
END
	for at in 100000 262122 262123 262140 262143 262144 524280; do
		"$PYTHON" "$T/put.py" $at 1.8.23 "pad$at" && chmod +x "pad$at" && cmd 0 run --hdf5 -- "./pad$at" && gaps_are 1
		check "at $at"
	done
	"$PYTHON" "$T/put.py" 262130 '%d.%d' speaks && chmod +x speaks && cmd 0 run --hdf5 -- ./speaks && gaps_are 0 && cmd 0 run --hdf5 -- ./pad && gaps_are 0
	check 'a program that only speaks of it'
	cmd 0 run -- ./pad262144 && gaps_are 0
	check 'without --hdf5 nobody looks'
	cp pad again && cmd 0 run --hdf5 -- sh -c './again; cat pad262144 >again; ./again; ./again' && gaps_are 2
	check 'a program that is made anew within a run'
else
	skip 'where it is found' 'no compiler'
fi

# The real thing: h5cc links statically, where it is not told otherwise.
if ! h5cc -o steps "$here/tests/hdf5/h5steps.c" >"$out" 2>&1 || ! ./steps make alone.h5 >"$out" 2>&1; then
	skip 'a program made by h5cc' "h5cc makes none here: $(head -n 1 "$out")"
	finish
	exit
elif ldd ./steps 2>>"$err" | grep -q libhdf5; then
	skip 'a program made by h5cc' 'h5cc links with the shared library here'
	finish
	exit
fi
./steps kinds same.h5 >"$T/kinds" # the same each time: it holds no time
for mode in complete safe tree; do
	cmd 0 run --capture=$mode --hdf5 -- ./steps make $mode.h5 && gaps_are 1 && cmd 0 run --capture=$mode --hdf5 -- ./steps kinds kinds.h5 && gaps_are 1 && cmp same.h5 kinds.h5 >>"$err"
	check "a program made by h5cc, --capture=$mode"
done
cmd 1 why complete.h5//raw/trace && says "$err" "complete.h5//raw/trace" 'is not recorded, only its file' './steps' 'lacks HDF5 objects'
check 'why, of a dataset that it made'
cmd 1 lineage complete.h5//raw/trace && says "$err" './steps' && cmd 1 show complete.h5//raw/trace && says "$err" './steps'
check 'lineage, show'
cmd 0 why complete.h5 && says "$out" 'made by steps' 'record incomplete'
check 'why, of its file'
[ -x "${STEMMA_H5STEPS:=$BUILD/tests/h5steps}" ] || {
	skip 'beside programs that are seen' 'HDF5 was not there when the tests were built'
	finish
	exit
}
cp "$STEMMA_H5STEPS" seen
cmd 0 run --hdf5 -- ./seen make in.h5 && gaps_are 0
check 'one that has HDF5 as a shared library has no gap'
cmd 0 run --hdf5 -- ./steps columns in.h5 cut.h5 && cmd 0 lineage --json --down in.h5//raw/trace && json '[.entities[].path] | any(endswith("/cut.h5"))'
check 'what came of a dataset: what it made, by the file'
cmd 0 lineage --json cut.h5 && json '[.executions[].argv | join(" ")] | any(. == "./seen make in.h5")'
check 'and back'
cmd 0 run --hdf5 -- ./steps over in.h5 && cmd 0 why in.h5//raw/time && says "$out" 'its FILE was written later'
check 'what it wrote over'
cmd 0 run --hdf5 -- ./seen scale in.h5 out.h5 && cmd 0 lineage --json out.h5//scaled/trace && json '[.executions[].argv | join(" ")] | any(. == "./steps over in.h5")'
check '... is not lost to what is made of it'
finish
