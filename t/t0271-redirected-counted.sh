#!/bin/sh
# A shell that opens files for other programs has neither read nor written them, whether bytes are counted or not. What its C library
# maps it has read, though no call moved a byte.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

for n in 1 2 3; do
	echo "line $n" >in$n
done

# sources OPTION OUT: the names of the files in this folder that the output surely came from.
sources()
{
	"$STEMMA" lineage --certain --json "$2" | jq -r --arg work "$T/work/" \
		'.root as $r | .entities[] | select(.id != $r and .path != null) | .path | select(startswith($work)) | ltrimstr($work)' | sort | tr '\n' ' '
}

for sh in dash bash; do
	command -v $sh >/dev/null || continue
	for option in --quiet --count; do
		cmd 0 run -q $option -- $sh -c 'sort <in1 >/dev/null; read x <in2; echo "$x" >out1'
		check "$sh $option: it opens one file for sort, reads another one and writes"
		[ "$(sources $option out1)" = 'in2 ' ]
		check "$sh $option: what it wrote came from what it read alone"
		cmd 0 run -q $option -- $sh -c 'cat in1 >out2; cat in2 >out2'
		check "$sh $option: it opens a file twice, for two programs"
		[ "$(sources $option out2)" = 'in2 ' ]
		check "$sh $option: the file came from what the second one read alone"
		cmd 0 run -q $option -- $sh -c 'tr a b <in1 >out3; tr a b <in2 >out4'
		check "$sh $option: two programs, each with files of its own"
		[ "$(sources $option out3)$(sources $option out4)" = 'in1 in2 ' ]
		check "$sh $option: each file came from its own"
		"$STEMMA" lineage --json out4 | jq -e --arg path "$T/work/in1" '[.entities[] | select(.path == $path)] == []' >/dev/null
		check "$sh $option: not even possibly from the other one"
		rm -f out?
	done
	cmd 0 run -q -- env -u LD_LIBRARY_PATH $sh -c 'read x <in1; echo "$x" >out5'
	check "$sh reads and writes by itself"
	"$STEMMA" lineage --all --certain --json out5 | jq -e '[.entities[].path] | index("/etc/ld.so.cache")' >"$out" 2>"$err" || [ ! -e /etc/ld.so.cache ]
	check "$sh: what its loader mapped is one of its inputs"
done

finish
