#!/bin/sh
# Cells of a notebook, and activities of a script, as stages: from what the program told of its parts.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

skip() # WHAT WHY
{
	count=$((count + 1))
	echo "ok $count - $1 # SKIP $2"
}
PYTHONPATH=$here/bindings/python PYTHONDONTWRITEBYTECODE=1
export PYTHONPATH PYTHONDONTWRITEBYTECODE
cat >parts.py <<'END'
import time
from stemma import activity
settings = open('settings').read()
with activity('load'):
    data = open('in.txt').read()
time.sleep(0.1)
with activity('clean'):
    open('clean.txt', 'w').write(data.strip())
time.sleep(0.1)
kept = None
with activity('late'):
    other = open('other.txt').read()
    kept = open('kept.txt', 'w')
    with activity('inner'):
        open('late.txt', 'w').write(other)
time.sleep(0.1)
with activity('last'):
    kept.write(open('more.txt').read())
    kept.close()
open('rest.txt', 'w').write('x')
END
for f in in.txt other.txt settings more.txt; do
	echo $f >$f
done
cmd 0 run -- $PYTHON parts.py
check 'a script that tells of its parts'
cmd 0 lineage --stages late.txt && says "$out" 'late of ' 'other.txt@{1}' '? after load of ' 'in.txt@{1}' 'settings@{1}' && says_not "$out" 'inner of' && says_not "$out" 'last of' && says_not "$out" more.txt
check 'up: the part that made it, and those before it, which may have had a part in it'
cmd 0 lineage --stages --json late.txt && json '[.stages[] | select(.kind == "activity").name] | sort == ["late", "load"]' &&
	json '[.stages[].id] | length == (unique | length)' && json '.stages[] | select(.name == "late") | .named_by == "program" and .cost.cpu_time == null and (.executions | length) == 1 and .of != null'
check 'as JSON'
cmd 0 lineage --stages kept.txt && says "$out" 'late of ' && says "$out" '? last of ' && says "$out" more.txt
check 'what one part opened and another wrote is of both'
cmd 0 lineage --stages --down other.txt && says "$out" 'late of ' late.txt '? then ' 'behind last' rest.txt && says_not "$out" clean.txt
check 'down: the parts after it, and none before'
cmd 0 lineage --stages --certain late.txt && says "$out" 'late of ' 'other.txt@{1}' && says_not "$out" in.txt
check '--certain: no part is sure to have anything of another'
cmd 0 lineage --stages rest.txt && says "$out" 'behind last' 'after last of ' other.txt in.txt
check 'what lies behind all parts may have something of each'
cmd 0 lineage late.txt && says_not "$out" ' of python' && says "$out" in.txt
check 'without --stages the program is one'

cat >notebook.py <<'END'
import json, sys
def code(text):
    return dict(cell_type='code', metadata={}, source=text, outputs=[], execution_count=None)
cells = ['%load_ext stemma\n%stemma cells', 'raw = open("raw.csv").read()', 'import time; time.sleep(0.1)\nopen("sum.txt", "w").write(raw)',
         'import time; time.sleep(0.1)\n!sort sum.txt >sorted.txt']
json.dump(dict(nbformat=4, nbformat_minor=4, metadata=dict(kernelspec=dict(name='python3', display_name='Python 3', language='python')),
               cells=[code(text) for text in cells]), open('fit.ipynb', 'w'))
END
$PYTHON notebook.py
echo 1 >raw.csv
convert=$(command -v jupyter-nbconvert || :)
if [ "$convert" ] && PATH=/usr/bin:/bin $PYTHON -c 'import ipykernel, nbconvert' 2>"$err"; then
	PATH=/usr/bin:/bin cmd 0 run -- jupyter-nbconvert --to notebook --execute fit.ipynb --output out.ipynb
	cmd 0 lineage --stages sum.txt && says "$out" 'cell 3 of notebook fit.ipynb' '? after cell 2 of notebook fit.ipynb' raw.csv 'notebook fit.ipynb' 'fit.ipynb@{1}' && says_not "$out" 'cell 4'
	check 'cells by the numbers that the notebook shows'
	cmd 0 lineage --stages sorted.txt && says "$out" 'cell 4 of notebook fit.ipynb' 'sum.txt@{1}' 'cell 3 of notebook fit.ipynb' && cmd 0 lineage --stages --json sorted.txt && json '[.stages[] | select(.kind == "cell" and .name == "cell 4")] | length == 1 and (.[0].executions | length) > 1'
	check 'a program that a cell started is of the cell'
	cmd 0 lineage --stages out.ipynb && says "$out" 'notebook fit.ipynb' 'after cell' raw.csv && cmd 0 lineage --stages --down raw.csv && says "$out" out.ipynb
	check 'the notebook that was run has what its cells read'
	cmd 0 lineage --stages sum.txt && says_not "$out" out.ipynb
	check 'and a cell has nothing of what came later'
else
	skip 'cells of a notebook' 'jupyter-nbconvert and ipykernel of this Python are not installed'
fi
finish
