#!/bin/sh
# What stages made: outputs that a later run replaced stand below the stage that left them, and what one program of a stage
# read does not come into what another one made.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

# ---- a result that its own program read again, and that was replaced later ----
echo 1 >in.txt
cat >fit.py <<'END'
import os, sys
text = open("in.txt").read()
with open("out.txt", "w") as f:
    f.write(text)
with open("scratch.txt", "w") as f:
    f.write(text)
open("scratch.txt").read()
os.remove("scratch.txt")
if os.fork() == 0:
    open("out.txt").read()
    os._exit(0)
os.wait()
END
for i in 1 2 3; do
	rm -f out.txt && cmd 0 run -q -- "$PYTHON" fit.py
done
cmd 0 lineage --down in.txt && [ "$(grep -c 'out.txt@{1}' "$out")" = 3 ] && [ "$(grep -c 'replaced since' "$out")" = 2 ] && says_not "$out" scratch.txt
check 'each of them stands below the program that left it; what the program removed itself does not'

cmd 0 show @ && says "$out" 'overhead     stemma stopped ' && says "$out" 'resources    CPU ' && says_not "$out" 'cost '
check 'show tells what the run used from what recording it cost'

# ---- one job makes two files by two programs: a script that does as Snakemake does ----
mkdir -p bin
echo r >ref && echo a >A.in && echo b >B.in
cat >bin/snakemake <<'END'
#!/bin/bash
mkdir -p .snakemake/log
job() # rule number wildcards output
{
	printf '\n[Sat Nov 21 12:00:00 2026]\nrule %s:\n    output: %s\n    jobid: %s\n    wildcards: %s\n' "$1" "$4" "$2" "$3"
}
{
	job call 1 s=A A.vcf
	job call 2 s=B B.vcf
	job stats 3 s=A A.stats
	job stats 4 s=B B.stats
} >.snakemake/log/2026-11-21T120000.000000.snakemake.log
bash -c 'set -euo pipefail; sort ref >ref.fai; cat ref.fai A.in >A.vcf'
bash -c 'set -euo pipefail; cat ref.fai B.in >B.vcf'
bash -c 'set -euo pipefail; sort A.vcf >A.stats'
bash -c 'set -euo pipefail; sort B.vcf >B.stats'
END
chmod +x bin/snakemake
PATH=$T/work/bin:$PATH
cmd 0 run -q -- snakemake -j1
cmd 0 lineage --stages B.stats && says "$out" 'rule stats  s=B' 'rule call  s=B' 'ref.fai@{1}' 'rule call  s=A' 'ref@{1}' && says "$out" 'B.in@{1}' && says_not "$out" 'A.in'
check 'an index that another job made leads to that job, and not to its sample'
cmd 0 lineage --stages A.stats && says "$out" 'A.in@{1}' && says_not "$out" 'B.in' && says_not "$out" 's=B'
check 'the sample of the job that made it stands in its own result'
cmd 0 lineage --down --stages A.in && says "$out" 'A.vcf@{1}' 'A.stats@{1}' && says_not "$out" 'B.vcf' && cmd 0 lineage --down --stages ref && says "$out" 'A.stats@{1}' && says "$out" 'B.stats@{1}'
check 'downwards the same'
finish
