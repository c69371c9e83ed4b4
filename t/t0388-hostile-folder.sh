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
first=$("$STEMMA" log --json | sed -n 's/.*"id": "\(.*\)",/\1/p')
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

# On ext4 16 TiB are too many for a file.
mkdir "$T/work/sparse" && cd "$T/work/sparse" || exit 1
if truncate -s 10T in 2>/dev/null; then
	timeout -k 1 100 "$STEMMA" run -q --digest -- sh -c "truncate -s 10T made; head -c 1 in" >"$out" 2>"$err" && "$EVTEXT" dump "$STEMMA_HOME"/logs/*/*/*.stl >"$out" &&
		says "$out" 'its holes are too large to be read'
	check 'a file of 10 TiB that is one hole has no digest, and the record says why'
	timeout -k 1 100 "$STEMMA" rerun --in "$T/again" @ >"$out" 2>"$err"
	[ $? -lt 3 ] && [ "$(stat -c %s "$T/again/in")" = 10995116277760 ] && [ "$(du -sk "$T" | cut -f 1)" -lt 1000000 ]
	check 'rerun copies it as a hole'
else
	skip 'a file of 10 TiB that is one hole has no digest, and the record says why' 'there can be no such file here'
	skip 'rerun copies it as a hole' 'there can be no such file here'
fi
cd "$T/work/proj" || exit 1

if command -v git >/dev/null 2>&1; then
	mkfifo stemma-bench.toml
	ends rerun "$first"
	rm stemma-bench.toml
	ends rerun "$first"
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
