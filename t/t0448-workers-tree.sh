#!/bin/sh
# Workers of one program are one node of the tree: what one of them read is not surely in what another one made, and the tree says so; what all
# of them had is sure (doc/graph.md, "Folding").
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

mkdir raw clean
for n in a b c d; do
	echo "data $n" >raw/$n
done
echo all >common
cat >prep.py <<'X'
import os
for tasks in ('ab', 'cd'):
    if os.fork() == 0:
        factor = open('common').read()
        for n in tasks:
            with open('raw/' + n) as i:
                text = i.read()
            with open('clean/' + n, 'w') as o:
                o.write(factor + text)
        os._exit(0)
os.wait()
os.wait()
X
echo 'import glob; open("model", "w").write("".join(open(f).read() for f in sorted(glob.glob("clean/*"))))' >fit.py
cmd 0 run -q -- sh -c "$PYTHON prep.py; $PYTHON fit.py"
cmd 0 lineage model && says "$out" 'prep.py  [1]' '3 processes' '? raw/a@{1}' '? raw/b@{1}' '? raw/c@{1}' '? raw/d@{1}'
check 'what one of two workers read is possible in what they made'
cmd 0 lineage model && grep 'raw/a@' "$out" | grep -q '  folded$'
check 'because they are one node'
cmd 0 lineage model && says "$out" '─ common@{1}' '─ prep.py@{1}' && says_not "$out" '? common' && says_not "$out" '? prep.py'
check 'what both read is sure, and what their program was'
cmd 0 lineage clean/d && says "$out" '─ raw/d@{1}' '─ raw/c@{1}' && says_not "$out" raw/a && ! grep -q '  folded$' "$out"
check 'of what one of them made that of the other one is no source'
cmd 0 lineage --json model && json '[.entities[].path | select(contains("/raw/"))] | unique | length == 4' &&
	json '[.edges[] | select(.folded == true)] | length == 0'
check 'the JSON has each worker'
cmd 0 lineage --down raw/a && says "$out" '─ clean/a@{1}' && says_not "$out" clean/c && ! grep -q '  folded$' "$out"
check 'downwards from what one of them read'
cmd 0 lineage --down common && says "$out" '─ clean/a@{1}' && says_not "$out" '? clean'
check 'downwards from what all of them read'

# The same where stages are shown.
if command -v make >/dev/null; then
	printf 'model2:\n\t%s prep.py\n\tcat clean/a clean/b clean/c clean/d >model2\n' "$PYTHON" >Makefile
	cmd 0 run -q -- make -s && cmd 0 lineage --stages model2 && says "$out" 'target model2' '? raw/a@{1}' '? raw/d@{1}' '─ common@{1}'
	check 'a stage with workers in it'
else
	skip 'a stage with workers in it' 'there is no make'
fi
finish
