#!/bin/sh
# run.sh [RUNS [FOLDER]] - measure `samtools sort` on many different inputs, look at what they used, and ask what the next
# one needs. doc/guide-monitor.md tells the steps. STEMMA is the program, else `stemma`.
#
# The inputs are made here: reads at random places of three made chromosomes, from 1,000 to 60,000 of them. 200 runs take
# about two minutes and 150 MB. The record is kept in FOLDER/record, apart from yours.
set -eu

stemma=${STEMMA:-stemma}
runs=${1:-200}
folder=${2:-advise-out}
for tool in "$stemma" samtools awk; do
	command -v "$tool" >/dev/null || {
		echo "run.sh: $tool is not here" >&2
		exit 1
	}
done
mkdir -p "$folder"
cd "$folder"
export STEMMA_HOME="$PWD/record"

# The reads, once: 60,000 of 100 bases, in no order.
awk 'BEGIN {
	srand(7)
	printf "@HD\tVN:1.6\tSO:unsorted\n@SQ\tSN:chr1\tLN:9000000\n@SQ\tSN:chr2\tLN:5000000\n@SQ\tSN:chr3\tLN:2000000\n"
	base[0] = "A"; base[1] = "C"; base[2] = "G"; base[3] = "T"
	for (i = 0; i < 50; i++) { piece[i] = ""; for (k = 0; k < 20; k++) piece[i] = piece[i] base[int(rand() * 4)] }
	for (i = 1; i <= 60000; i++) {
		seq = ""; for (k = 0; k < 5; k++) seq = seq piece[int(rand() * 50)]
		printf "read%d\t0\tchr%d\t%d\t60\t100M\t*\t0\t0\t%s\t*\n", i, 1 + int(rand() * 3), 1 + int(rand() * 1900000), seq
	}
}' >reads.sam

# Inputs of all sizes, few of them large: measure each run.
i=0
while [ $i -lt "$runs" ]; do
	i=$((i + 1))
	reads=$(awk -v seed=$i 'BEGIN { srand(seed); rand(); x = rand(); printf "%d", 1000 + 59000 * x * x * x }')
	head -n $((reads + 4)) reads.sam | samtools view -b -o "sample$i.bam" -
	"$stemma" run --summary summary.json --label "sample=$i" -- samtools sort -o "sorted$i.bam" "sample$i.bam"
done

# One more, which has not been sorted yet.
head -n 45004 reads.sam | samtools view -b -o new.bam -

echo "== stemma archive --by command wall_time cpu_time memory_resident_peak"
"$stemma" archive --by command wall_time cpu_time memory_resident_peak
echo
echo "== stemma advise samtools sort -o new.sorted.bam new.bam"
"$stemma" advise samtools sort -o new.sorted.bam new.bam
echo
echo "== stemma advise --format slurm samtools sort -o new.sorted.bam new.bam"
"$stemma" advise --format slurm samtools sort -o new.sorted.bam new.bam
echo
echo "== what it took"
"$stemma" run --summary new.json -- samtools sort -o new.sorted.bam new.bam
"$stemma" sql "SELECT argv, wall_time / 1000000 AS ms, memory_resident_peak / 1048576 AS MiB FROM summary ORDER BY start DESC LIMIT 1"
