#!/bin/sh
# A project's folder in which every file that a command reads by itself is a FIFO that nobody writes to: no command waits for it.
# And a repository that keeps git waiting, or unpacks without end.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

ends()
{ # ARG...: the command ends by itself, whatever it says
	timeout -k 1 100 "$STEMMA" "$@" >"$T/said" 2>&1 </dev/null
	case $? in
	124 | 13[0-9])
		echo "waits or dies: stemma $*" >>"$T/waits"
		;;
	esac
}

mkdir proj && cd proj || exit 1
echo x >in.txt
cmd 0 run -q --digest -- sh -c 'sort in.txt >out.txt; mkdir -p work/ab/cd; echo hi >work/ab/cd/.command.run; cat work/ab/cd/.command.run >res.txt'
check 'a run'
rm -rf in.txt out.txt res.txt work
mkdir -p .git .snakemake/log .snakemake/metadata .nextflow .stemma work/ab/cd
for f in in.txt out.txt res.txt .nextflow.log ro-crate-metadata.json x.json y.jsonl Makefile Snakefile .ninja_log dvc.yaml nextflow.config trace.txt .git/HEAD .git/config .git/index \
	.git/packed-refs .git/commondir .snakemake/log/2026-01-01T000000.snakemake.log .snakemake/metadata/b3V0LnR4dA== .nextflow/history .stemma/config work/ab/cd/.command.run \
	work/ab/cd/.command.sh work/ab/cd/.command.log work/ab/cd/.command.trace work/ab/cd/.exitcode; do
	mkfifo "$f"
done
: >"$T/waits"
for question in 'why out.txt' 'why .' 'why --json res.txt' 'lineage out.txt' 'lineage --stages res.txt' 'lineage --workflows res.txt' log 'show @' 'show out.txt' 'show --sources out.txt' 'diff @ @' \
	'stat @' 'adopt .' 'export -f dvc-stage @' 'export -f ro-crate --files -o ../crate.zip @' 'report @ -o ../r.html' 'bench show' 'bench history' 'trust --verify' 'spec out.txt' 'table' \
	'archive' 'config' 'doctor' 'secrets' 'fsck' 'note out.txt hi' 'forget --dry-run out.txt' 'log --by-inputs sort' 'run -q --digest -- true'; do
	# shellcheck disable=SC2086 # words
	ends $question
done
cat "$T/waits" >"$err"
[ ! -s "$T/waits" ]
check 'no command waits for a FIFO'

if command -v git >/dev/null 2>&1; then
	mkfifo stemma-bench.toml
	ends rerun @~1
	rm stemma-bench.toml
	ends rerun @~1
	cat "$T/waits" >>"$err"
	[ ! -s "$T/waits" ] && says "$T/said" 'in.txt: differs'
	check 'rerun asks a repository that keeps git waiting once, and goes on without it'
	cd .. && mkdir repo && cd repo || exit 1
	git init -q . && git config user.email me@example.org && git config user.name me
	seq 20000 >in.txt && git add in.txt && git commit -q -m one
	cmd 0 run -q --digest -- sh -c 'sort in.txt >out.txt'
	truncate -s 8M in.txt && git commit -q -a -m two && git rm -q in.txt
	# It asks whether more than is wanted could be unpacked, and becomes git; another process it may not start.
	mkdir "$T/bin"
	cat >"$T/bin/git" <<END
#!/bin/sh
case \$1 in cat-file) ulimit -f >>"$T/limits" ;; esac
PATH='$PATH' exec git "\$@"
END
	chmod +x "$T/bin/git"
	PATH="$T/bin:$PATH" cmd 0 rerun --json @ && json '.files[] | select(.name == "in.txt") | .state == "from git"' && [ -s "$T/limits" ] && says_not "$T/limits" unlimited
	check 'a repository cannot unpack more than the file had'
else
	skip 'rerun asks a repository that keeps git waiting once, and goes on without it' 'no git'
	skip 'a repository cannot unpack more than the file had' 'no git'
fi
finish
