#!/bin/sh
# run.sh FOLDER [FILES [RANKS [CHANNELS [SAMPLES]]]] - the workflow: FILES recordings (8) are converted to HDF5, decimated, and
# cross-correlated and stacked, four files to a product, each step with RANKS processes (2). Then what one wants to know of a
# product: what the file came from, what a dataset in it, what an attribute. Without --certain=computed that goes on through what the
# ranks may have said to each other.
#
# STEMMA= (empty) does the same work without asking. LAUNCH is how ranks are started (mpirun -n).
set -eu

here=$(cd "$(dirname "$0")" && pwd -P)
dir=$1
files=${2:-8}
ranks=${3:-2}
launch=${LAUNCH:-mpirun -n}
stemma=${STEMMA-stemma}
mkdir -p "$dir"
cd "$dir"
mkdir -p hdf5 decimated products
make -s -f "$here/Makefile"
./acquire recordings "$files" "${4:-16}" "${5:-2000}"
echo 'factor 4' >settings.txt

recorded()
{
	${stemma:+"$stemma" run -q --hdf5 -l workflow=dassa --} "$@"
}
# shellcheck disable=SC2086 # words
{
	recorded $launch "$ranks" ./convert hdf5 recordings/*.das
	recorded $launch "$ranks" ./decimate settings.txt decimated hdf5/*.h5
	recorded $launch "$ranks" ./stack products 4 decimated/*.h5
}
[ -n "$stemma" ] || exit 0

echo '== what the product came from, by files'
"$stemma" lineage --certain=computed products/stack-0.h5
echo
echo '== what its dataset came from'
"$stemma" lineage --certain=computed products/stack-0.h5//stack/xcorr
echo
echo "== what the dataset's attribute came from"
"$stemma" lineage --certain=computed products/stack-0.h5//stack/xcorr@rate
echo
echo '== who made it'
"$stemma" why products/stack-0.h5//stack/xcorr
