#!/bin/sh
# The example examples/top-reco: the mapping of configuration and accuracy over runs is the one that the programs wrote down
# themselves, the lineage of the best model is right, and the results are those of runs without stemma, bit by bit.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

$PYTHON -c 'import numpy' 2>/dev/null || {
	echo '1..0 # SKIP there is no numpy'
	exit
}
example=$here/examples/top-reco
export PYTHONPATH="$here/bindings/python" STEMMA_APP_LIBRARY="$BUILD/src/capture/app/libstemma-app.so.1" PYTHON PYTHONDONTWRITEBYTECODE=1 OPENBLAS_NUM_THREADS=1
STEMMA='' sh "$example/run.sh" "$T/plain" 3 >"$out" 2>"$err" && [ ! -s "$err" ] && [ ! -e "$STEMMA_HOME" ]
check 'the workflow without stemma'
export STEMMA
sh "$example/run.sh" "$T/work/top" 3 >"$out" 2>"$err" && says "$out" '== the best' 'model-' && cp "$out" "$T/said"
check 'and with it'
bad=
for f in "$T"/plain/*.npz "$T"/plain/*.txt; do cmp "$f" "$T/work/top/$(basename "$f")" >>"$err" 2>&1 || bad="$bad $f"; done
[ -z "$bad" ] && [ "$(find "$T/plain" -name 'model-*.npz' | wc -l)" = 4 ]
check 'models, data and histories are the same, bit by bit'

# The truth: the last line of each history, and each configuration file.
cd top || exit 1
for v in 1 2 3 4; do
	echo "$(sed -n 's/^hidden = //p' config-$v.ini),$(sed -n 's/^rate = //p' config-$v.ini),$(sed -n 's/^least_energy = //p' config-$v.ini),$(tail -n 1 history-$v.txt | cut -d' ' -f 2)"
done >"$T/truth"
cmd 0 table --csv network.hidden network.rate preselection.least_energy accuracy && tr -d '\r' <"$out" | tail -n +2 | cut -d, -f 2- >"$T/got" && diff "$T/truth" "$T/got" >"$err"
check 'configuration and accuracy, for each run, as the programs wrote them down'
cmd 0 sql --csv "SELECT DISTINCT c.version, (SELECT m.number FROM annotation m WHERE m.run = c.run AND m.kind = 'metric' AND m.name = 'accuracy' ORDER BY m.step DESC LIMIT 1) FROM annotation c WHERE c.kind = 'config' AND c.name = 'network.rate' ORDER BY c.version" && tr -d '\r' <"$out" | tail -n +2 >"$T/got" && for v in 1 2 3 4; do echo "$v,$(tail -n 1 history-$v.txt | cut -d' ' -f 2)"; done | diff - "$T/got" >"$err"
check 'version of the configuration and accuracy, by SQL'
cmd 0 sql --csv "SELECT c.version, m.step, m.number FROM annotation m JOIN annotation c ON c.run = m.run AND c.name = 'network.rate' WHERE m.name = 'accuracy' ORDER BY c.version, m.step" && tr -d '\r' <"$out" | tail -n +2 >"$T/got" && for v in 1 2 3 4; do sed "s/^/$v,/; s/ /,/" history-$v.txt; done | diff - "$T/got" >"$err"
check 'every epoch of it'
best=$(for v in 1 2 3 4; do echo "$(tail -n 1 history-$v.txt | cut -d' ' -f 2) $v"; done | sort -k1,1gr -k2,2n | head -n 1 | cut -d' ' -f 2)
cmd 0 best --metric accuracy --json && json "(.run.configuration[] | select(.name == \"network.hidden\") | .version) == \"$best\" and (.run.generated | map(.path | endswith(\"/model-$best.npz\")) | any)"
check 'the best configuration'
cmd 0 lineage --json "model-$best.npz" && json ".entities | map(.path | split(\"/\")[-1]) | contains([\"train-$best.npz\", \"config-$best.ini\", \"events.npz\", \"train.py\", \"prepare.py\"]) and (map(startswith(\"train-\")) | map(select(.)) | length) == 1"
check 'what its model came from, and from no other run'
cmd 0 show --json @ && json '.things[0].annotations | (.activities | length) == 3 and ([.activities[].name] | unique == ["epoch"]) and ([.metrics[] | select(.name == "accuracy") | .within] | length) == 3 and (.generated | map(.name)) == ["top quark model"]'
check 'epochs are activities, and their accuracy is within them'
finish
