#!/bin/sh
# stemma check: what jobs of a workflow read and their rules do not declare. Twenty inputs are planted below, each with "# planted"
# behind it; whatever else is reported is a false alarm.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

if ! command -v snakemake >/dev/null; then
	skip 'stemma check' 'snakemake is not installed'
	finish
	exit
fi
export HOME="$PWD/home" XDG_CACHE_HOME="$PWD/home/.cache" MPLCONFIGDIR="$PWD/home/.mpl"
mkdir -p home data lib refs shared/tables
echo 'color=always' >home/.toolrc
for s in a b c; do
	echo "$s 1" >data/$s.txt
done
for f in header footer scale weights units names skip extra base more last sep table colors; do
	echo "$f" >lib/$f.txt
done
echo ACGT >refs/g.fa && echo index >refs/g.fa.fai && echo x >shared/tables/1.tsv && echo y >shared/tables/2.tsv
echo 'level: 3' >config.yaml && echo 'def rows(f): return open(f).read()' >helper.py
echo 'cat lib/names.txt "$1"' >tool.sh
cat >make_table.py <<'E2'
import helper                                             # planted: helper.py
with open(snakemake.output[0], "w") as out:
    out.write(helper.rows(snakemake.input[0]))
    out.write(open("lib/table.txt").read())               # planted
    out.write(open("lib/colors.txt").read())
E2
cat >Snakefile <<'E2'
configfile: "config.yaml"
include: "more.smk"
rule all:
    input: "final.txt", "table.txt", "counts.txt", "picked.txt", "ref.txt", "noted.txt", "folder.txt", "joined.txt", "made"
# lib/header.txt is planted, for three jobs of one rule; the tool's settings in the home are none.
rule clean:
    input: "data/{s}.txt"
    output: "work/{s}.txt"
    shell: "cat lib/header.txt {input} > {output}; cat ~/.toolrc > /dev/null"
# lib/footer.txt is declared, by an absolute path; work/a.txt.tmp is the job's own; planted: lib/scale.txt, lib/weights.txt
rule final:
    input: expand("work/{s}.txt", s=["a", "b", "c"]), foot=os.path.abspath("lib/footer.txt")
    output: "final.txt"
    shell: "sort {input} > final.tmp; cat final.tmp lib/scale.txt > {output}; paste lib/weights.txt {output} > /dev/null; rm final.tmp"
# by a script: planted in it, helper.py and lib/table.txt
rule table:
    input: "data/a.txt", "lib/colors.txt"
    output: "table.txt"
    script: "make_table.py"
# through a script that is not declared: tool.sh and lib/names.txt planted; in a loop of the shell lib/units.txt;
# by getline lib/base.txt, as standard input refs/g.fa
rule counts:
    input: "data/b.txt"
    output: "counts.txt"
    shell: "sh tool.sh {input} > {output}; awk 'BEGIN {{ while ((getline l < \"lib/base.txt\") > 0) print l }}' >> {output}; tr a b < refs/g.fa >> {output}; while read l; do echo $l; done < lib/units.txt >> {output}"
# an index beside what is declared, and another rule's output: both planted (refs/g.fa.fai, work/c.txt), though the order is right by chance
rule ref:
    input: "refs/g.fa", "final.txt"
    output: "ref.txt"
    shell: "cat {input} refs/g.fa.fai > {output}; cat work/c.txt >> {output}"
# a whole folder is declared; of another one each file is planted
rule made:
    input: "data/a.txt"
    output: directory("made")
    shell: "mkdir -p made/deep; cat {input} lib/colors.txt > made/deep/x"      # planted: lib/colors.txt
rule folder:
    input: "shared/tables"
    output: "folder.txt"
    shell: "cat shared/tables/*.tsv > {output}"
E2
cat >more.smk <<'E2'
# in Python, in a process of Snakemake itself: lib/skip.txt planted
rule picked:
    input: "data/c.txt"
    output: "picked.txt"
    run:
        with open(output[0], "w") as out:
            out.write(open(input[0]).read() + open("lib/skip.txt").read())
# params and log are no inputs; lib/extra.txt stands in params and is planted; lib/base.txt is read through a link: planted
rule noted:
    input: "data/a.txt"
    output: "noted.txt"
    log: "noted.log"
    params: extra="lib/extra.txt"
    shell: "cat {input} {params.extra} > {output} 2> {log}; ln -sf base.txt lib/link.txt; cat lib/link.txt >> {output}"
# by pipes and redirections: lib/more.txt, lib/last.txt, lib/sep.txt planted; two files by way of find: shared/tables planted
rule joined:
    input: "data/a.txt"
    output: "joined.txt"
    shell: "cat {input} | cat - lib/more.txt | join -a1 - lib/last.txt > {output} || true; exec 3< lib/sep.txt; cat <&3 >> {output}; find shared/tables -name '*.tsv' -exec cat {{}} + >> {output}; test -e lib/nothing.txt || true"
E2
cat >truth <<'E2'
clean lib/header.txt
final lib/scale.txt
final lib/weights.txt
table helper.py
table lib/table.txt
counts tool.sh
counts lib/names.txt
counts lib/units.txt
counts lib/base.txt
counts refs/g.fa
ref refs/g.fa.fai
ref work/c.txt
picked lib/skip.txt
noted lib/extra.txt
noted lib/base.txt
made lib/colors.txt
joined lib/more.txt
joined lib/last.txt
joined lib/sep.txt
joined shared/tables/1.tsv
joined shared/tables/2.tsv
E2
"$STEMMA" run -q -- snakemake -j2 >"$out" 2>"$err" </dev/null && cmd 1 check --json && json '.jobs == 12 and (.unknown | length) == 0 and (.clean | not)'
check 'all jobs of the workflow were checked'
jq -r --arg here "$PWD/" '.undeclared[] | select(.certainty == "must") | .stage.name + " " + (.entity.path | ltrimstr($here))' "$out" | sort -u >got
sort -u truth >expected
comm -23 expected got >missed && comm -13 expected got >false_ones
{ [ ! -s missed ] && [ ! -s false_ones ]; } || { sed 's/^/missed: /' missed; sed 's/^/false: /' false_ones; } >>"$err"
[ ! -s missed ]
check "each of the $(wc -l <truth) planted inputs is reported"
[ ! -s false_ones ]
check 'and nothing else'
cmd 1 check && says "$out" 'rule clean' && says "$out" 'lib/header.txt@{1}  (read by cat' && says "$out" ', in 3 jobs)' && says "$out" 'tool.sh@{1}  (script, read by' &&
	says "$out" 'of 12 jobs read files that their rules do not declare'
check 'the text: a file of several jobs of a rule once'

# A workflow that declares all it reads.
mkdir clean && cd clean && echo 1 >in.txt
cat >Snakefile <<'E2'
rule all:
    input: "b.txt"
rule one:
    input: "in.txt"
    output: temp("a.txt")
    shell: "cat {input} > {output}"
rule two:
    input: "a.txt", script="two.sh"
    output: "b.txt"
    shell: "sh {input.script} a.txt > {output}"
E2
echo 'cat "$1"' >two.sh
"$STEMMA" run -q -- snakemake -j1 >"$out" 2>"$err" </dev/null && cmd 0 check && says "$out" '2 of 2 jobs read only what their rules declare'
check 'a workflow that declares all ends with 0'
for f in .snakemake/metadata/*; do
	echo '{}' >"$f"
done
cmd 1 check && says "$out" '2 jobs could not be checked'
check 'if the metadata are others now, the jobs are not taken for clean'
cd ..
"$STEMMA" run -q -- cat data/a.txt >"$out" 2>"$err" && cmd 1 check && says "$out" 'the run has no jobs of Snakemake and no targets of make or ninja'
check 'a run without a workflow'
cmd 2 check data/a.txt && says "$err" 'is a file, not a run' && cmd 2 check @ @
check 'what is no run'
finish
