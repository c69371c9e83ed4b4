#!/bin/sh
# What only possibly holds under `not`; parallel parts of a command; the shell that opened a file for several programs; two
# files that had one name; names that Python and R draw; processes that are certain
# one by one. All are recorded here, with answers known by construction.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

rec()
{ # COMMAND...: recorded; its own output is of no interest
	"$STEMMA" run -q -- "$@" >/dev/null 2>"$err" </dev/null
}
printf 'k\nx\n' >x
printf '1\n2\n' >in

rec sh -c 'grep no x >e; cat x >y; echo k >z'
cmd 0 find "path $PWD/[eyz] and not from x" && is "$out" 'e@{1}?
z@{1}'
check 'not: what only possibly holds is a possible match'
cmd 0 find "path $PWD/[eyz] and not not from x" && is "$out" 'e@{1}?
y@{1}'
check 'not not: as without'
cmd 0 find "path $PWD/[eyz] and not (from x or path z)" && is "$out" 'e@{1}?'
check 'not: of several conditions'

rec sh -c 'cat in | sort | grep 1 >through'
cmd 1 find used in && says "$err" 'nothing found' && says "$err" "hint: 'used' finds only what the program that read the file wrote; 'from' also finds"
check 'used: readers that wrote only to pipes'
rec sh -c 'cat in >/dev/null'
cmd 1 find 'used in and path nowhere' && says_not "$err" "'from' also finds"
check 'used: no hint where from finds nothing either'

if command -v bash >/dev/null; then
	rec bash -c 'paste <(head -n 1 in) <(tail -n 1 in) >both'
	# In the order in which they were read, which chance decides.
	cmd 0 why both && grep -qE 'made by (head -n 1 in and tail|tail -n 1 in and head) -n 1 in \| paste /dev/fd/' "$out"
	check 'two that wrote for one, side by side'
	rec sh -c 'sort in | uniq >line' && cmd 0 why line && says "$out" 'made by sort in | uniq from in@{1} by'
	check 'one after the other'
	cat >start.py <<'END'
import subprocess, sys
subprocess.run(['bash', '-c', sys.argv[1]])
END
	rec "$PYTHON" -I start.py 'cat x >z1; grep no x >>z1'
	cmd 0 why z1 && says "$out" 'made by cat x in bash -c '
	check 'the shell that opened the file for several programs'
	rec "$PYTHON" -I start.py 'cat x >z2' && cmd 0 why z2 && says "$out" 'made by cat x in ' 'start.py'
	check 'for one program it is what started the shell'
else
	skip 'side by side' 'there is no bash'
fi

rec sh -c 'cat in >q; sed -i s/2/3/ q'
cmd 1 diff q && [ "$(grep -c '^[AB]  q@{1}  v[0-9a-f]\{9\}  ' "$out")" = 2 ] && says "$out" 'B was made from A by sed -i s/2/3/ q' &&
	says_not "$out" 'made by B only' &&
	says "$out" 'q  4 B, rewritten with the same size'
check 'diff: two files that had one name'

echo 1 >changed && touch -d '2001-02-03T04:05:06' changed
rec sh -c 'sort changed >c'
echo 12 >changed && touch -d '2002-03-04T05:06:07' changed
rec sh -c 'sort changed >c'
cmd 1 diff && says "$out" 'modified outside the recorded runs, 2002-03-04T05:06:07'
check 'diff: when a file was modified, not when that was noticed'

# The same program twice, with names that chance drew; and twice with names that people gave.
for pair in 'tmp_nw8majo.model.R tmp5y1d8evh.model.R' 'tmpabcdefgh.R tmpijklmnop.R' 'RtmpuivQYx RtmpTysogt' 'Rtmpabcdef Rtmpuvwxyz' '.snakemake/scripts/tmphpb_fwg_.R .snakemake/scripts/tmp8_9cve96.R'; do
	for name in $pair; do
		rec env true "$PWD/scripts/$name" "--file=scripts/$name" "/tmp/$name/x"
	done
	cmd 0 diff && says "$out" 'options       same'
	check "diff: drawn names, $pair"
done
for name in tmp_results tmp_summary; do
	rec env true "scripts/$name.R"
done
cmd 1 diff && says "$out" 'scripts/tmp_results.R -> scripts/tmp_summary.R'
check 'diff: names that people gave'

for i in 0 1 2; do
	echo "$i" >"part$i"
done
cat >pool.py <<'END'
from multiprocessing import get_context
def one(i):
    text = open(f'part{i}').read()
    open(f'p{i}', 'w').write(text)
if __name__ == '__main__':
    with get_context('fork').Pool(2) as pool:
        pool.map(one, range(3), 1)
    open('score', 'w').write(''.join(open(f'p{i}').read() for i in range(3)))
END
rec "$PYTHON" -I pool.py
for option in --certain --certain=computed; do
	cmd 0 lineage $option score && says_not "$out" '? ' && for i in 0 1 2; do
		says "$out" "p$i@{1}" "part$i@{1}" || break
	done
	check "lineage $option: no line may be uncertain"
done
cmd 0 lineage score && says "$out" '? part0@{1}' && says_not "$out" 'fork of'
check 'lineage: one node for all processes of a program'
finish
