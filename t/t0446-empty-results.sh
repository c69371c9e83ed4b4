#!/bin/sh
# A result that is empty is a result: what those who had it open had read may be why (doc/graph.md, rule 5 and "Lineage"). Upwards and
# downwards it is possible, sure is nothing, and no path leads through an empty file.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

echo A >e
echo A >e2
echo A >e3
echo other >p
echo more >q
cmd 0 run -q -- sh -c 'grep B e >r.txt; true'
cmd 0 find 'from e' && is "$out" 'r.txt@{1}?'
check 'what may be empty because of a file is found, and is possible'
cmd 0 find 'used e' && is "$out" 'r.txt@{1}?'
check 'the same by who used it'
cmd 0 lineage r.txt && says "$out" '? grep B e' '? e@{1}'
check 'lineage shows what the program read that found nothing'
cmd 0 why r.txt && says "$out" 'made by grep B e ?' 'from e@{1}?'
check 'why names the program and its input'
cmd 0 lineage --down e && says "$out" '? r.txt@{1}  (0 B'
check 'downwards'
cmd 0 lineage --certain r.txt && says_not "$out" 'e@{1}' && says "$out" 'sh -c'
check 'sure is only who made the file'
cmd 0 find --execs 'used e' && says "$out" 'grep B e'
check 'the program itself is sure'

cmd 0 run -q -- bash -c 'grep B e2 >r2.txt || true; { read -r l <p; cat q; } >full.txt'
cmd 0 find 'from e2' && says "$out" 'r2.txt@{1}?' && says_not "$out" full
check 'a shell that opens the file in a child'
cmd 0 find 'from q' && says "$out" 'full.txt@{1}' && says_not "$out" r2.txt && says_not "$out" 'full.txt@{1}?'
check 'a program beside has nothing to do with it'

cmd 0 run -q -- "$PYTHON" -I -c 'import subprocess
with open("r3.txt", "w") as f:
    subprocess.run(["grep", "B", "e3"], stdout=f)
with open("log3.txt", "w") as f:
    subprocess.run(["sort", "q", "-o", "sorted.txt"], stdout=f, stderr=f)'
cmd 0 find 'from e3' && says "$out" 'r3.txt@{1}?'
check 'a program that another one started'
cmd 0 find 'from q' && says "$out" 'sorted.txt@{1}' 'log3.txt@{1}?'
check 'an empty log is possible beside the sure output'

# Nothing comes of what is empty.
cmd 0 run -q -- sh -c 'cat r.txt p >next.txt'
cmd 0 find 'from e' && says_not "$out" next.txt && cmd 0 lineage next.txt && says "$out" 'p@{1}' 'r.txt@{1}' && says_not "$out" ' e@{1}' &&
	says "$out" 'left out: ' 'inputs of writers of empty files'
check 'no path leads through it'
cmd 0 lineage --all next.txt && says "$out" ' e@{1}'
check 'but with --all'
cmd 0 lineage --down r.txt && says "$out" next.txt
check 'the file itself leads on'

# The next version has bytes: who had the empty one open has nothing to do with it, and a holder of one with bytes nothing with an empty one.
cmd 0 run -q -- sh -c 'cat q >again.txt; grep B e >again.txt; cat p >again.txt'
cmd 0 lineage again.txt && says "$out" 'p@{1}' && says_not "$out" ' e@{1}' && says_not "$out" ' q@{1}'
check 'the version with bytes'
cmd 0 lineage 'again.txt@{2}' && says "$out" '? e@{1}' && says_not "$out" ' p@{1}' && says_not "$out" ' q@{1}'
check 'and the empty one'
# A log that all programs of a job had open.
echo few >few
echo many >many
cmd 0 run -q -- sh -c 'exec 2>log1; for i in 1 2 3; do cat few; done >/dev/null' && cmd 0 find 'from few' && says "$out" 'log1@{1}?'
check 'a log that three programs had open'
cmd 0 run -q -- sh -c 'exec 2>log2; for i in $(seq 300); do cat many; done >/dev/null' && { cmd 1 find 'from many' || says_not "$out" log2; } &&
	cmd 0 lineage log2 && says_not "$out" '? cat'
check 'one that 300 had open is the result of none of them'
for edges in off all; do
	STEMMA_ADJACENCY=$edges cmd 0 find 'from e' && says "$out" 'r.txt@{1}?' 'again.txt@{2}?' && lines "$out" 2
	check "found with the edges beside the index: $edges"
done
cmd 0 find 'from e' && cp "$out" "$T/before" && cmd 0 index --rebuild && cmd 0 find 'from e' && cmp -s "$out" "$T/before"
check 'and in an index that is made anew'
finish
