#!/bin/sh
# run.sh FOLDER [RANKS [STEPS [PARTICLES [MS]]]] - writes, overwrites, appends and reads with RANKS processes (2), each a run of its own,
# and then what one wants to know: which calls were made, how often and for how long; what was under way at some time; which parts are
# used most; who changed a dataset.
#
# STEMMA= (empty) does the same work without asking. LAUNCH is how ranks are started (mpirun -n), HOW what is recorded (--hdf5).
set -eu

here=$(cd "$(dirname "$0")" && pwd -P)
dir=$1
ranks=${2:-2}
launch=${LAUNCH:-mpirun -n}
stemma=${STEMMA-stemma}
mkdir -p "$dir"
cd "$dir"
make -s -f "$here/Makefile"

# shellcheck disable=SC2086 # words
for pattern in write overwrite append read; do
	${stemma:+"$stemma" run -q "${HOW:---hdf5}" -l pattern="$pattern" -l workflow=h5bench --} $launch "$ranks" ./h5bench "$pattern" particles.h5 "${3:-3}" "${4:-4096}" "${5:-20}"
done
[ -n "$stemma" ] || exit 0

file=particles.h5
[ -f "$file" ] || file=particles.h5.0
echo '== which calls the reading made, how long they took, and which parts it used most'
"$stemma" stat --hdf5 @
echo
echo '== when'
"$stemma" stat --hdf5 --times @
echo
echo '== who changed /step-0/x'
"$stemma" lineage --certain=computed "$file"//step-0/x
