#!/bin/sh
# The example of doc/guide-monitor.md, with fewer runs: measure, look, ask.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

if ! command -v samtools >/dev/null; then
	skip 'the example' 'samtools is not installed'
elif ! "$STEMMA" run --help | grep -q -e --summary; then
	skip 'the example' 'this stemma run does not measure'
elif ! "$STEMMA" run -- true 2>"$err"; then
	skip 'the example' "nothing can be recorded here: $(head -n 1 "$err")"
else
	STEMMA=$STEMMA "$here/examples/advise/run.sh" 24 "$T/example" >"$out" 2>"$err" &&
		says "$out" 'command=samtools sort: 24 tasks' 'from 24 tasks of the same shape, samtools sort -o *' 'KiB of input' '#SBATCH --mem=' 'samtools sort -o new.sorted.bam new.bam'
	check 'the example'
	# What it said of the new input is about what the task had: not half of it, and not ten times as much.
	asked=$(sed -n 's/^#SBATCH --mem=\([0-9]*\)M/\1/p' "$out")
	had=$(sed -n 's/^samtools sort -o new.sorted.bam new.bam .* \([0-9]*\)$/\1/p' "$out")
	[ -n "$asked" ] && [ -n "$had" ] && [ $((asked * 2)) -ge "$had" ] && [ "$asked" -lt $((had * 10)) ]
	check "the advice, $asked MiB, and what the task had, $had MiB"
fi
finish
