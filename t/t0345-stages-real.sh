#!/bin/sh
# Stages of the tools themselves: Snakemake, make, ninja, Jupyter. What each must be is written down here.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

skip()
{
	count=$((count + 1))
	echo "ok $count # SKIP $1"
}

# ---- Snakemake: shell, run and script ----
mkdir sm && cd sm || exit 1
mkdir data && printf 'b\na\n' >data/A.txt && printf 'd\nc\n' >data/B.txt
cat >Snakefile <<'END'
rule all:
    input: "out/merged.txt", "out/done"
rule sort:
    input: "data/{sample}.txt"
    output: "work/{sample}.sorted"
    shell: "sort {input} | uniq > {output}"
rule count:
    input: "work/{sample}.sorted"
    output: "work/{sample}.n"
    run:
        n = sum(1 for _ in open(input[0]))
        open(output[0], "w").write(f"{wildcards.sample} {n}\n")
rule merge:
    input: expand("work/{s}.n", s=["A", "B"])
    output: "out/merged.txt"
    script: "merge.py"
rule done:
    input: "out/merged.txt"
    output: touch("out/done")
rule told:
    message: "a message in the place of all else"
    output: "told.txt"
    shell: "echo told > {output}"
END
cat >merge.py <<'END'
with open(snakemake.output[0], "w") as o:
    for f in snakemake.input:
        o.write(open(f).read())
END
if ! snakemake --version >/dev/null 2>&1; then
	skip 'no snakemake'
else
	cmd 0 run -- snakemake -j2
	check 'a workflow of Snakemake is recorded'
	cmd 0 lineage --stages out/merged.txt && says "$out" 'rule merge' 'rule count  sample=A' 'rule sort  sample=A' 'data/A.txt@{1}' 'rule count  sample=B' 'rule sort  sample=B' 'data/B.txt@{1}' && says "$out" ' merge.py@{1}' && says_not "$out" '.snakemake' && says_not "$out" '[workflow]'
	check 'its rules'
	cmd 0 lineage --stages --json out/merged.txt && json '[.stages[] | select(.kind == "rule") | [.name, .wildcards.sample]] | sort == [["count","A"],["count","B"],["merge",null],["sort","A"],["sort","B"]]' && json '[.stages[].job] | all(. != null) and (unique | length == 5)' && json '.stages | length == 5'
	check 'with wildcards, and the number of each job'
	cmd 0 lineage --stages out/done && says "$out" 'rule done' 'made by the workflow itself'
	check 'a file that Snakemake touches'
	cmd 0 lineage --stages --down data/A.txt && says "$out" 'rule sort  sample=A' 'rule count  sample=A' 'rule merge' && says_not "$out" '[workflow]' && says_not "$out" pulp
	check 'downwards, without its solver'
	cmd 0 run -- snakemake -j1 told.txt && cmd 0 lineage --stages --json told.txt && json '.stages[0] | [.kind, .name, .named_by] == ["rule","told","metadata"]'
	check 'a job of which the log has a message only: by its metadata'
	chmod -R u+w .snakemake && rm -r .snakemake && cmd 0 lineage --stages out/merged.txt && says "$out" 'rule ?' 'rule count  sample=A' 'rule ?' 'data/A.txt@{1}' && says "$out" 'some names are unknown: .snakemake/log/'
	check 'without its log the jobs stay and names are missing'
fi
cd ..

# ---- ninja ----
mkdir nj && cd nj || exit 1
printf 'rule cat\n  command = cat $in > $out\nrule two\n  command = cp $in two.h && cp $in two.c\nbuild sub/b.txt: cat a.txt\nbuild c.txt: cat sub/b.txt\nbuild two.c two.h: two c.txt\ndefault two.c\n' >build.ninja
echo a >a.txt
if ! command -v ninja >/dev/null; then
	skip 'no ninja'
else
	cmd 0 run -- ninja && cmd 0 lineage --stages two.h && says "$out" 'target two.c' 'c.txt@{1}' 'target c.txt' 'sub/b.txt@{1}' 'target sub/b.txt' 'a.txt@{1}' && cmd 0 lineage --stages --json two.h && json '[.stages[] | [.kind, .engine, .name, .named_by]] | sort == [["target","ninja","c.txt","log"],["target","ninja","sub/b.txt","log"],["target","ninja","two.c","log"]]'
	check 'targets of ninja, by its log'
	rm .ninja_log && cmd 0 lineage --stages two.h && says "$out" 'target two.c' 'target c.txt' 'some names are unknown: .ninja_log'
	check 'and without it'
fi
cd ..

# ---- make, with a compiler ----
mkdir mk && cd mk || exit 1
printf 'prog: main.o util.o\n\tcc -o $@ main.o util.o\n\tchmod 755 $@\n%%.o: %%.c\n\tcc -MMD -c $<\nstamp: prog\n\t./prog > out.txt\n\ttouch stamp\n' >Makefile
printf 'int util(void);\n#include <stdio.h>\nint main(void) { return puts("x") < 0 || util(); }\n' >main.c
printf 'int util(void) { return 0; }\n' >util.c
if ! command -v make >/dev/null || ! command -v cc >/dev/null; then
	skip 'no make or no cc'
else
	cmd 0 run -- make -j2 stamp && cmd 0 lineage --stages out.txt && says "$out" 'target out.txt' && cmd 0 lineage --stages prog && says "$out" 'target prog' 'main.o@{1}' 'target main.o' 'main.c@{1}' 'util.o@{1}' 'target util.o' 'util.c@{1}' && says_not "$out" '/tmp/cc'
	check 'targets of make'
	cmd 0 lineage --stages --json prog && json '[.stages[] | [.kind, .name]] | sort == [["target","main.o"],["target","prog"],["target","util.o"]]'
	check 'and nothing else'
fi
cd ..

# ---- Jupyter ----
mkdir nb && cd nb || exit 1
echo 1,2 >in.csv
cat >plan.ipynb <<'END'
{"cells": [{"cell_type": "code", "execution_count": null, "id": "a1", "metadata": {}, "outputs": [],
  "source": "x = open('in.csv').read()"},
 {"cell_type": "code", "execution_count": null, "id": "a2", "metadata": {}, "outputs": [],
  "source": "open('out.csv', 'w').write(x + x)"}],
 "metadata": {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}, "nbformat": 4, "nbformat_minor": 5}
END
if ! jupyter nbconvert --version >/dev/null 2>&1 || ! $PYTHON -c 'import ipykernel' 2>/dev/null; then
	skip 'no jupyter nbconvert with a kernel of Python'
else
	cmd 0 run -- jupyter nbconvert --to notebook --execute --inplace plan.ipynb && cmd 0 lineage --stages out.csv && says "$out" 'notebook plan.ipynb' 'in.csv@{1}' && cmd 0 lineage --stages --json out.csv && json '[.stages[] | [.kind, .engine, .name, .named_by]] == [["notebook","jupyter","plan.ipynb","arguments"]]'
	check 'a notebook is one stage, its kernel within'
fi
cd ..
finish
