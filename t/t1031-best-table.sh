#!/bin/sh
# best and table: which configuration gave which figure, over runs.
progs=${STEMMA_PROGS:-}
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
progs=${progs:-$BUILD/tests/prog}
PYTHONPATH=$here/bindings/python STEMMA_APP_LIBRARY=$BUILD/src/capture/app/libstemma-app.so.1 PYTHONDONTWRITEBYTECODE=1
export PYTHONPATH STEMMA_APP_LIBRARY PYTHONDONTWRITEBYTECODE

# The truth is this table: rate, size, and what each of five epochs gives; NAN comes from a run that fell apart.
cat >train.py <<'END'
import sys, stemma
rate, size, curve = sys.argv[1], sys.argv[2], [float(x) for x in sys.argv[3].split()]
open('data.csv').read()
stemma.type('training'); stemma.config('rate', rate); stemma.config('size', size, version='v' + size); stemma.config('optimizer', 'sgd')
for i, x in enumerate(curve):
    with stemma.activity('epoch'):
        stemma.metric('accuracy', x, step=i + 1)
stemma.metric('loss', 1 - curve[-1])
open(sys.argv[4], 'w').write(rate)
END
echo 1 >data.csv
cmd 1 best --metric accuracy && cmd 1 table && cmd 2 best && cmd 2 best --metric
check 'nothing is recorded'
train() { cmd 0 run -q -l set="$5" -- $PYTHON train.py "$1" "$2" "$3" "$4"; }
train 0.1 16 '0.5 0.6 0.9 0.7 0.625' m1 a && train 0.01 16 '0.5 0.6 0.7 0.75 0.8125' m2 a && train 0.001 32 '0.1 0.2 0.3 0.4 0.5' m3 b && train 0.05 32 '0.5 nan' m4 b && train 0.02 16 '0.8 0.8125' m5 b && cmd 0 run -q -- cat data.csv
check 'six runs, five that tell'
id() { "$STEMMA" log --json | jq -r --arg m "$1" '.runs[] | select(.command[-1] == $m) | .id'; }
m1=$(id m1) m2=$(id m2) m3=$(id m3) m5=$(id m5)

cmd 0 best --metric accuracy && says "$out" "$m2" 'accuracy = 0.8125  at step 5  (the highest of 5 runs; 2 have it, this is the first)' 'rate = 0.01' 'size = 16  version v16' 'optimizer = sgd' 'm2@{1}' 'data.csv@{1}'
check 'the best by what came last'
cmd 0 best --metric accuracy --json && json ".run.id == \"$m2\" and .value == 0.8125 and .step == 5 and .candidates == 5 and .equal == 2 and (.run.configuration | map({(.name): .value}) | add) == {\"optimizer\": \"sgd\", \"rate\": \"0.01\", \"size\": \"16\"}" &&
	json '.run.generated | map(.path | split("/")[-1]) | index("m2") != null and index("m1") == null' && json '.run.used | map(.path | split("/")[-1]) | index("data.csv") != null and index("train.py") != null and index("m1") == null'
check 'as JSON, with what it read and made'
cmd 0 best --metric accuracy --of max --json && json ".run.id == \"$m1\" and .value == 0.9 and .step == 3" && cmd 0 best --metric accuracy --of min --lowest --json && json ".run.id == \"$m3\" and .value == 0.1 and .step == 1" &&
	cmd 0 best --metric accuracy --of mean --json && json ".run.id == \"$m5\" and (.value - 0.80625 | fabs) < 1e-12 and (has(\"step\") | not)" && cmd 0 best --metric loss --lowest --json && json ".run.id == \"$m2\" and .value == 0.1875"
check 'of another value, and the lowest'
cmd 0 best --metric accuracy --with size=32 --json && json ".run.id == \"$m3\" and .candidates == 2" && cmd 0 best --metric accuracy --with 'rate<0.02' --with 'rate>=0.001' --json && json ".candidates == 2 and .run.id == \"$m2\"" && cmd 0 best --metric accuracy --with 'rate=1e-2' --json && json '.candidates == 1' &&
	cmd 0 best --metric accuracy --with 'accuracy<0.6' --json && json ".run.id == \"$m3\"" && cmd 0 best --metric accuracy --with 'optimizer!=adam' --json && json '.candidates == 5' && cmd 1 best --metric accuracy --with optimizer=adam
check 'only runs with a setting'
cmd 0 best --metric accuracy --where 'label set=b' --json && json ".run.id == \"$m5\" and .candidates == 3" && cmd 0 best --metric accuracy --where "made m3" --json && json ".run.id == \"$m3\"" && cmd 0 best --metric accuracy --where "used data.csv" --json && json '.candidates == 5' && cmd 1 best --metric accuracy --where 'exe cat'
check 'only runs that an expression describes'
cmd 1 best --metric nosuch && says "$err" "no run has the metric 'nosuch'" && cmd 2 best --metric accuracy --of median && cmd 2 best --metric accuracy --with rate && cmd 2 best --metric accuracy --with 'rate<fast' && cmd 2 best --metric accuracy --where 'nonsense here' && cmd 2 best x --metric accuracy && cmd 1 best --metric accuracy --where 'used nosuchfile'
check 'what cannot be'

cmd 0 table --csv && tr -d '\r' <"$out" | cut -d, -f 2- | diff - /dev/fd/3 3<<'END' >"$err"
optimizer,rate,size,accuracy,loss
sgd,0.1,16,0.625,0.375
sgd,0.01,16,0.8125,0.1875
sgd,0.001,32,0.5,0.5
sgd,0.05,32,nan,nan
sgd,0.02,16,0.8125,0.1875
END
check 'a table as CSV is the table that was told'
cmd 0 table && lines "$out" 6 && says "$out" 'rate  size  accuracy    loss' && says_not "$out" optimizer && says "$err" '1 parameter is the same in all of these runs' && cmd 0 table --all && says "$out" optimizer && cmd 0 table rate loss && says_not "$out" size && says_not "$out" accuracy && lines "$out" 6 && cmd 0 table --with size=32 && lines "$out" 3 && cmd 1 table nosuch && cmd 2 table --csv --json && cmd 2 table --x rate
check 'for people'
cmd 0 table --json && json '.rows | length == 5 and .[1].configuration.rate == "0.01" and .[1].metrics.accuracy == 0.8125 and .[3].metrics.loss == "nan" and .[0].type == "training"'
check 'as JSON'
# Every value that was told, and no other, is a point of the picture.
points() { $PYTHON - "$out" <<'END'
import sys, xml.etree.ElementTree as tree
root = tree.parse(sys.argv[1]).getroot()
points = {}
for c in root.iter('{http://www.w3.org/2000/svg}circle'):
    t = c.find('{http://www.w3.org/2000/svg}title')
    if t is not None:
        name, xy = t.text.split(': ')
        x, y = map(float, xy.split(','))
        points.setdefault(name, []).append((x, y))
        assert 0 < float(c.get('cx')) < 720 and 0 < float(c.get('cy')) < 440
print(*sorted(str(v) for v in points.values()), sep='\n')
END
}
cmd 0 table --svg && points >"$T/points" 2>>"$err" && diff "$T/points" - >>"$err" <<'END'
[(1.0, 0.1), (2.0, 0.2), (3.0, 0.3), (4.0, 0.4), (5.0, 0.5)]
[(1.0, 0.5), (2.0, 0.6), (3.0, 0.7), (4.0, 0.75), (5.0, 0.8125)]
[(1.0, 0.5), (2.0, 0.6), (3.0, 0.9), (4.0, 0.7), (5.0, 0.625)]
[(1.0, 0.5)]
[(1.0, 0.8), (2.0, 0.8125)]
END
check 'a picture over the steps'
cmd 0 table --svg --x rate loss && points >"$T/points" 2>>"$err" && diff "$T/points" - >>"$err" <<'END'
[(0.001, 0.5)]
[(0.01, 0.1875)]
[(0.02, 0.1875)]
[(0.1, 0.375)]
END
check 'and over a setting'
cmd 1 table --svg --x optimizer loss && cmd 0 table --svg --x loss accuracy && points >/dev/null && cmd 0 table --svg loss && points >/dev/null
check 'over what is no number, over a figure, over what there is'

cmd 0 table --csv && cp "$out" "$T/before" && cmd 0 index --rebuild && cmd 0 table --csv && cmp "$out" "$T/before" && cmd 0 best --metric accuracy --json && json ".run.id == \"$m2\""
check 'a rebuilt index says the same'
mkdir "$T/part" "$T/rest" && cp -r "$STEMMA_HOME" "$T/late" && rm -rf "$T/late/index.db"* && f=$(find "$T/late/logs" -name '*.stl' | head -n 1) && "$EVTEXT" dump "$f" >"$T/dump" 2>"$err"
half=$(($(stat -c %s "$f") / 2))
head -c $half "$f" >"$T/half" && cp "$f" "$T/whole" && cp "$T/half" "$f" && STEMMA_HOME=$T/late "$STEMMA" index >/dev/null 2>&1
cp "$T/whole" "$f" && STEMMA_HOME=$T/late cmd 0 table --csv && cmp "$out" "$T/before"
check 'and so does one that saw half of the log first'
finish
