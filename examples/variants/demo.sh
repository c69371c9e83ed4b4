#!/bin/sh
# demo.sh - a pipeline on real reads, recorded twice with one input edited between, and the questions one then has.
#
# Everything it makes lies in demo-out/ (DEMO_OUT), its record included; your own record is not touched. Each time it
# starts from nothing.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
build=${BUILD:-build}
out=${DEMO_OUT:-$root/demo-out}

case $build in /*) ;; *) build=$root/$build ;; esac
if ! [ -x "$build/src/cmd/stemma" ]; then
	echo "demo: $build/src/cmd/stemma is not built; run make demo" >&2
	exit 1
fi
PATH=$build/src/cmd:/usr/bin:/bin:$PATH # the tools are those of the packages, whatever else is installed

if [ -e "$out" ]; then
	if ! [ -e "$out/.stemma-demo" ]; then
		echo "demo: '$out' is there and was not made by this demo; set DEMO_OUT to another folder" >&2
		exit 1
	fi
	if ! [ -w "$out" ]; then
		echo "demo: '$out' belongs to $(stat -c %U "$out"); set DEMO_OUT to another folder" >&2
		exit 1
	fi
	rm -rf "$out"
fi
mkdir -p "$out"
: >"$out/.stemma-demo"
out=$(cd "$out" && pwd)

# Only the record of this demo, whatever the caller's settings are.
STEMMA_HOME=$out/record
export PATH STEMMA_HOME

say()
{
	printf '\n# %s\n' "$@"
}
show()
{ # prints the command as one would type it, then runs it
	printf '$'
	for word; do
		case $word in
		*[!A-Za-z0-9_./@{}=:,-]*) printf " '%s'" "$word" ;;
		*) printf ' %s' "$word" ;;
		esac
	done
	printf '\n'
	"$@"
}

"$here/get-data" "$out"
cp "$here/pipeline.sh" "$here/summarise.py" "$out/"
cd "$out"

say "Reads of one person from three sequencers, a reference, and the regions to report (targets.bed)."
show wc -l reads/B7.fastq reads/EAS1.fastq reads/EAS5.fastq
show cat targets.bed

say "The first day: map with bwa, sort with samtools, call with bcftools, sum up with Python. All under stemma run."
show stemma run -- ./pipeline.sh B7 EAS1 EAS5
show cat results/summary.tsv

say "The second day: the second region was cut short by a slip. It is put right by hand, and one sample is done again."
printf 'seq1\t0\t1575\nseq2\t0\t1584\n' >targets.bed
show cat targets.bed
show stemma run -- ./pipeline.sh EAS1
show cat results/summary.tsv

say "The table has a new line, seq2 1344. Is it really absent from B7 and EAS5? Where did each file come from?"
show stemma log
show stemma why results/EAS1.vcf
show stemma why results/B7.vcf
show stemma lineage results/B7.vcf

say "Why is the table another one today? (diff ends with 1 where something differs, as diff(1) does.)"
show stemma diff results/summary.tsv || [ $? = 1 ]

say "Which results used the targets as they were before the edit?"
show stemma find 'used targets.bed@{1}'

say "EAS1.vcf there is the first day's, since replaced. B7.vcf and EAS5.vcf are those that the table is made of: their
# dash says 'not looked for', not 'not there'. The whole history of the table as a picture:"
printf '$ %s\n' "stemma lineage --format svg results/summary.tsv > lineage.svg"
stemma lineage --format svg results/summary.tsv >lineage.svg

say "And all of it as one page, for those who have no stemma:"
show stemma report -o report.html --against 'results/summary.tsv@{1}' results/summary.tsv

say "Left in $out:"
cat <<END
    results/summary.tsv   the table, results/*.vcf the variants
    lineage.svg           what the table came from, as a graph
    report.html           all of it as one page, with what differs from the first day
    record/               what stemma wrote down
Ask more of it:
    PATH=$build/src/cmd:\$PATH; export STEMMA_HOME=$STEMMA_HOME
    cd $out && stemma show results/summary.tsv
Open in a browser, which needs nothing else:
    $out/report.html
END
