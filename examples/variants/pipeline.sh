#!/bin/sh
# pipeline.sh SAMPLE... - from reads to called variants, for each sample; then one table of all.
#
# A pipeline as people write them: pipes, a temporary file, a rename when the result is whole. It knows nothing of
# stemma.
set -eu

mkdir -p work results
[ -e reference.fa.bwt ] || bwa index reference.fa 2>work/index.log

for sample; do
	bwa mem -v 1 -T 20 reference.fa "reads/$sample.fastq" 2>"work/$sample.log" |
		samtools sort -O bam -T "work/$sample.sorting" -o "work/$sample.bam" - 2>>"work/$sample.log"
	samtools index "work/$sample.bam"

	tmp=$(mktemp work/call.XXXXXX)
	bcftools mpileup -f reference.fa "work/$sample.bam" 2>>"work/$sample.log" |
		bcftools call -m -v --ploidy 2 |
		bcftools view -T targets.bed -e 'QUAL < 20' >"$tmp"
	mv "$tmp" "results/$sample.vcf"
done

python3 summarise.py results/*.vcf >results/summary.tsv
