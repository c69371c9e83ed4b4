#!/bin/sh
# run.sh FOLDER [EPOCHS] - the workflow with four configurations, each version of them recorded as a run of its own, and then what
# one wants to know: which configuration gave which accuracy, which was the best, and what its model came from.
#
# The programs say their settings and figures by the package `stemma` (PYTHONPATH leads to it); without `stemma run` they do the
# same work. STEMMA= (empty) runs them so.
set -eu

here=$(cd "$(dirname "$0")" && pwd -P)
dir=$1
epochs=${2:-10}
python=${PYTHON:-python3}
stemma=${STEMMA-stemma}
mkdir -p "$dir"
cd "$dir"

config()
{ # VERSION LEAST_ENERGY HIDDEN RATE BATCH
	cat >"config-$1.ini" <<-END
	[workflow]
	version = $1
	[preselection]
	least_energy = $2
	[network]
	hidden = $3
	rate = $4
	batch = $5
	epochs = $epochs
	seed = 7
	END
}
recorded()
{
	${stemma:+"$stemma" run -q -l workflow=top-reco --} "$@"
}

[ -f events.npz ] || "$python" "$here/events.py" events.npz
config 1 20 4 0.05 100
config 2 20 12 0.3 100
config 3 40 12 0.3 100
config 4 20 12 0.001 500
for v in 1 2 3 4; do
	recorded sh -c '"$1" "$2/prepare.py" "config-$3.ini" events.npz "train-$3.npz" "test-$3.npz" &&
		"$1" "$2/train.py" "config-$3.ini" "train-$3.npz" "test-$3.npz" "model-$3.npz" "history-$3.txt"' - "$python" "$here" "$v"
done
[ -n "$stemma" ] || exit 0

echo '== which configuration gave which accuracy'
"$stemma" table --where 'label workflow=top-reco'
echo
echo '== the best'
"$stemma" best --metric accuracy --where 'label workflow=top-reco'
echo
echo '== what its model came from'
model=$("$stemma" best --metric accuracy --where 'label workflow=top-reco' --json | "$python" -c 'import json, sys
print(next(f["path"] for f in json.load(sys.stdin)["run"]["generated"] if "model" in f["path"]))')
"$stemma" lineage "$model"
"$stemma" table accuracy --where 'label workflow=top-reco' --svg >accuracy.svg
echo
echo "accuracy.svg shows how it went"
