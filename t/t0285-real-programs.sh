#!/bin/sh
# Large programs, plain and in every mode: what they print, make and return is the same byte for byte. And where the truth is
# known, --exact counts what they moved. Minutes: suite slow. t0286 has a thousand small ones.
# shellcheck source=tests/prog/lib.sh
. "$(dirname "$0")/../tests/prog/lib.sh"

# A new way to record is a word here and a row in options_of().
MODES=${MODES:-complete inject count trace exact safe tree}
export STEMMA_HOME="$T/home"

options_of()
{
	case $1 in
	complete | inject) echo ;;
	trace) echo --transport=trace ;;
	count) echo --count ;;
	exact) echo --exact ;;
	safe) echo --capture=safe ;;
	tree) echo --capture=tree ;;
	esac
}

modes=
for m in $MODES; do
	# shellcheck disable=SC2046 # options are words
	if "$STEMMA" run $(options_of $m) -- true 2>"$T/err" && [ ! -s "$T/err" ]; then
		modes="$modes $m"
	else
		skip_ "$m" "it does not work here: $(head -1 "$T/err")"
	fi
done

# Material that takes long to make is made once; a case has a copy of its folder as $PWD/m.
mkdir "$T/material"
# The environment of every case.
export HOME="$T/userhome" GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 SOURCE_DATE_EPOCH=1577836800 LC_ALL=C TZ=UTC
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
export GIT_AUTHOR_DATE="1 Jan 2020 00:00:00 +0000" GIT_COMMITTER_DATE="1 Jan 2020 00:00:00 +0000"
mkdir "$HOME"

# All that there is: type, mode, name, target, and the sum of what it holds. $WITHOUT: a regular expression of names that hold
# the time or a process number.
listing()
{
	find "$1" -printf '%y %m %P %l\n' | grep -v -E "${WITHOUT:-^\$}" | sort
	find "$1" -type f -printf '%P\0' | grep -z -v -E "${WITHOUT:-^\$}" | sort -z | (cd "$1" && xargs -0 -r cksum)
}

# same NAME NEEDED SCRIPT: the script in an empty folder, plain and as the command of stemma run.
same()
{
	name=$1
	for need in $2; do
		if ! command -v "$need" >/dev/null; then
			skip_ "$name" "no $need here"
			return
		fi
	done
	case "${ONLY:-$name}" in
	"$name") ;;
	*) return ;;
	esac
	for m in plain $modes; do
		rm -rf "${T:?}/w" "${T:?}/home"
		mkdir "$T/w"
		[ ! -d "$T/material/${M:-none}" ] || cp -a "$T/material/$M" "$T/w/m"
		# shellcheck disable=SC2046 # options are words
		if [ $m = plain ]; then
			(cd "$T/w" && exec /bin/sh -c "$3")
		else
			inject=auto
			[ $m != inject ] || inject=always
			(cd "$T/w" && STEMMA_INJECT=$inject exec "$STEMMA" run $(options_of $m) -- /bin/sh -c "$3")
		fi >"$T/out" 2>"$T/err" </dev/null
		status=$?
		{
			cat "$T/out"
			echo "status $status"
			echo "standard error:"
			cat "$T/err"
			listing "$T/w"
		} >"$T/$m"
		if [ $m = plain ]; then
			[ $status = 0 ] && continue
			skip_ "$name" "it does not work here: $(tail -1 "$T/err")"
			return
		fi
		diff "$T/plain" "$T/$m" >"$T/why"
		# The record is whole, and it saw the program.
		"$STEMMA" log >"$T/log" 2>&1 || cat "$T/log" >>"$T/why"
		"$STEMMA" fsck >"$T/log" 2>&1 || cat "$T/log" >>"$T/why"
		if [ $m = safe ] && [ -n "${ALONE:-}" ]; then # it carries no library, and that is said
			"$STEMMA" sql "SELECT 1 FROM gap WHERE reason = 'without_library'" >"$T/log" 2>&1
			grep -q 1 "$T/log" || cat "$T/log" >>"$T/why"
		elif [ $m != tree ] && [ -n "${WRITTEN:-}" ]; then
			"$STEMMA" why "$T/w/$WRITTEN" >"$T/log" 2>&1
			grep -q "made by.*${BY:-}" "$T/log" || cat "$T/log" >>"$T/why"
		fi
		[ ! -s "$T/why" ]
		result $? "$m: $name" "$T/why"
	done
}

# ---- what is worked on ----

# A C project of a thousand files in ten folders, a header each.
if command -v gcc >/dev/null && command -v make >/dev/null; then
	mkdir -p "$T/material/thousand"
	$PYTHON - "$T/material/thousand" <<'PY'
import os, sys
os.chdir(sys.argv[1])
for d in range(10):
    os.mkdir(f'd{d}')
    with open(f'd{d}/all.h', 'w') as h:
        for i in range(100):
            print(f'int f{d}_{i}(int x);', file=h)
    for i in range(100):
        with open(f'd{d}/f{i}.c', 'w') as c:
            print(f'#include "all.h"\nint f{d}_{i}(int x) {{ return x * {i} + {d}; }}', file=c)
with open('main.c', 'w') as c:
    for d in range(10):
        print(f'#include "d{d}/all.h"', file=c)
    print('#include <stdio.h>\nint main(void) {\n\tlong s = 0;', file=c)
    for d in range(10):
        for i in range(100):
            print(f'\ts += f{d}_{i}(3);', file=c)
    print('\tprintf("%ld\\n", s);\n\treturn 0;\n}', file=c)
with open('Makefile', 'w') as m:
    print('objects := $(patsubst %.c,%.o,$(wildcard d?/*.c) main.c)\nprog: $(objects)\n\t@$(CC) -o $@ $(objects)\n'
          '%.o: %.c\n\t@$(CC) -O0 -c -o $@ $<', file=m)
PY
fi
if command -v git >/dev/null; then
	(
		mkdir "$T/material/repository" && cd "$T/material/repository" && git init -q -b main . || exit
		for i in $(seq 40); do
			mkdir -p "s$((i % 7))"
			seq $((i * 13)) $((i * 40)) >"s$((i % 7))/f$i"
			git add -A && git commit -q -m "number $i"
		done
		git gc -q
	) >"$T/err" 2>&1 || rm -rf "$T/material/repository"
fi
mkdir -p "$T/material/tree"
for i in $(seq 300); do seq "$i" $((i * 20)) >"$T/material/tree/f$i"; done
find "$T/material" -exec touch -h -d '2020-01-01 00:00:00' {} +

# ---- programs ----

M=thousand WRITTEN=m/prog BY=cc same "a C project of a thousand files, make -j4" "gcc make" \
	'cd m && make -j4 && ./prog && make -q && find . -name "*.o" | wc -l'
M='' same "python3 -m unittest of a package" python3 "
	$PYTHON -m unittest test.test_json test.test_tempfile test.test_shutil test.test_zipimport 2>log
	s=\$?; sed 's/ in [0-9.]*s\$//' log; rm log; exit \$s"
M='' same "python3: processes, sockets, signals" python3 "
	$PYTHON - <<'PY'
import asyncio, multiprocessing as mp, os, signal, socket, subprocess, tempfile, threading
def square(x):
    return x * x
async def lines(n):
    p = await asyncio.create_subprocess_exec('seq', str(n), stdout=subprocess.PIPE)
    return len((await p.communicate())[0].split())
async def all_lines():
    return await asyncio.gather(*[lines(10 * i) for i in range(1, 9)])
with mp.get_context('fork').Pool(4) as pool:
    print(pool.map(square, range(50)))
print(asyncio.run(all_lines()))
a, b = socket.socketpair()
threading.Thread(target=lambda: (b.sendall(b'x' * 100000), b.close())).start()
n = 0
while d := a.recv(4096):
    n += len(d)
print(n)
signal.signal(signal.SIGALRM, lambda *_: None)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
for i in range(300):
    with tempfile.TemporaryFile() as f:
        f.write(b'abc')
        f.seek(0)
        assert f.read() == b'abc'
signal.setitimer(signal.ITIMER_REAL, 0)
print('end')
PY"
M=repository WRITTEN=clone/s1/f1 BY='git' same "git clone, fsck, gc" git '
	git clone -q m clone && cd clone && git fsck --full 2>/dev/null && git log --format="%H %s" | cksum &&
	git checkout -q -b side HEAD~5 && echo more >>s1/f1 && git commit -qam side && git rebase -q main && git gc -q && git status --short &&
	git fsck 2>/dev/null; cd ..; rm -rf clone/.git m'
M=tree WRITTEN=t.tar.zst BY=zstd same "tar | zstd" zstd '
	tar cf - --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner m | zstd -q -T2 >t.tar.zst && mkdir out &&
	zstd -dcq t.tar.zst | tar xf - -C out && diff -r m out/m'
M='' WRITTEN=db BY=sqlite3 same "sqlite3 loads 100,000 rows" sqlite3 '
	seq 100000 | awk "{ print \$1 \",\" (\$1 * 7919) % 100003 \",name\" \$1 }" >rows.csv
	printf "%s\n" "create table t(a integer primary key, b int, c text);" ".mode csv" ".import rows.csv t" "create index i on t(b);" \
		"select count(*), sum(b), max(c) from t;" "pragma integrity_check;" | sqlite3 db
	sqlite3 db "pragma journal_mode=wal; update t set b = b + 1 where a % 1000 = 0; select sum(b) from t; vacuum"; sqlite3 db .dump | cksum'
M='' WRITTEN=sorted.bam BY=samtools same "samtools sort with threads" samtools '
	{ printf "@HD\tVN:1.6\n@SQ\tSN:c1\tLN:1000000\n@SQ\tSN:c2\tLN:1000000\n"
	  awk "BEGIN { for (i = 0; i < 60000; i++) printf \"r%d\t0\tc%d\t%d\t60\t10M\t*\t0\t0\tACGTACGTAC\t*\n\", i, i % 2 + 1, (i * 7919) % 999983 + 1 }"; } >in.sam
	samtools sort --no-PG -@ 3 -m 1M -T tmp -o sorted.bam in.sam 2>/dev/null && samtools index -@ 2 sorted.bam && samtools quickcheck sorted.bam &&
	samtools view sorted.bam | cksum && samtools idxstats sorted.bam'
cat >"$T/material/mpi.c" <<'C'
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
	int rank, n, sum, ring = 0;
	char line[64];
	MPI_File f;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &n);
	MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (rank == 0)
		ring = 42;
	else
		MPI_Recv(&ring, 1, MPI_INT, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	if (rank + 1 < n)
		MPI_Send(&ring, 1, MPI_INT, rank + 1, 0, MPI_COMM_WORLD);
	snprintf(line, sizeof(line), "rank %3d of %3d sum %5d ring %d\n", rank, n, sum, ring);
	MPI_File_open(MPI_COMM_WORLD, "out", MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &f);
	MPI_File_write_at_all(f, rank * 64, line, 64, MPI_CHAR, MPI_STATUS_IGNORE);
	MPI_File_close(&f);
	MPI_Finalize();
	return 0;
}
C
M='' WRITTEN=out BY=prog same "mpirun -n 4" "mpirun mpicc" "
	export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl_base_warn_component_unused=0 OMPI_MCA_rmaps_base_oversubscribe=1
	TMPDIR=\$(mktemp -d /tmp/mpi.XXXXXX) && export TMPDIR
	mpicc -O1 -o prog '$T/material/mpi.c' && mpirun --oversubscribe -n 4 ./prog; s=\$?; rm -rf \"\$TMPDIR\"; tr -d '\\0' <out; exit \$s"
M='' WRITTEN=out BY=node same "node" node "
	cat >job.js <<'JS'
const fs = require('fs'), cp = require('child_process'), { Worker, isMainThread, parentPort } = require('worker_threads');
if (!isMainThread) { parentPort.postMessage(fs.readFileSync(__filename).length); return; }
(async () => {
	const n = await Promise.all([1, 2, 3].map(() => new Promise((ok, bad) => new Worker(__filename).on('message', ok).on('error', bad))));
	await Promise.all([...Array(200).keys()].map(i => fs.promises.writeFile('f' + i, String(i))));
	const sum = (await Promise.all([...Array(200).keys()].map(i => fs.promises.readFile('f' + i, 'utf8')))).reduce((a, b) => a + Number(b), 0);
	fs.writeFileSync('out', JSON.stringify({ sum, same: n[0] === n[1] && n[1] === n[2], words: cp.execSync('seq 5').toString() }));
	fs.createReadStream('out').pipe(process.stdout);
})();
JS
	node job.js"
M='' WRITTEN=out.txt BY=java same "java" "java javac" "
	cat >Job.java <<'JAVA'
import java.nio.file.*;
import java.util.stream.*;
public class Job {
	public static void main(String[] a) throws Exception {
		IntStream.range(0, 100).parallel().forEach(i -> {
			try { Files.writeString(Path.of(\"f\" + i), \"\" + i); } catch (Exception e) { throw new RuntimeException(e); }
		});
		long sum = IntStream.range(0, 100).parallel().mapToLong(i -> {
			try { return Long.parseLong(Files.readString(Path.of(\"f\" + i))); } catch (Exception e) { throw new RuntimeException(e); }
		}).sum();
		Process p = new ProcessBuilder(\"sort\", \"-r\", \"f7\").start();
		Files.writeString(Path.of(\"out.txt\"), sum + new String(p.getInputStream().readAllBytes()) + p.waitFor());
		System.out.println(Files.readString(Path.of(\"out.txt\")));
	}
}
JAVA
	javac -J-Xshare:off -J-XX:TieredStopAtLevel=1 Job.java && java -XX:TieredStopAtLevel=1 Job"
ALONE=1 M='' WRITTEN=out BY=job same "go" go "
	export GOCACHE=\$PWD/cache GO111MODULE=off GOFLAGS=-trimpath CGO_ENABLED=0
	cat >job.go <<'GO'
package main

import (
	\"fmt\"
	\"os\"
	\"os/exec\"
	\"sync\"
)

func main() {
	var g sync.WaitGroup
	for i := 0; i < 100; i++ {
		g.Add(1)
		go func(i int) {
			defer g.Done()
			if e := os.WriteFile(fmt.Sprint(\"f\", i), []byte(fmt.Sprint(i)), 0o644); e != nil {
				panic(e)
			}
		}(i)
	}
	g.Wait()
	out, e := exec.Command(\"cat\", \"f1\", \"f99\").Output()
	fmt.Println(string(out), e, os.WriteFile(\"out\", out, 0o644))
}
GO
	go build -o job job.go && ./job; s=\$?; rm -rf cache; exit \$s"
M='' WRITTEN=out.csv BY=R same "R" Rscript '
	cat >job.R <<R
x <- data.frame(a = 1:1000, b = (1:1000 * 7919) %% 1009)
write.csv(x, "in.csv", row.names = FALSE)
y <- read.csv("in.csv")
write.csv(y[order(y[["b"]]), ], "out.csv")
saveRDS(y, "out.rds")
print(coef(lm(b ~ a, y)))
print(system("wc -l in.csv", intern = TRUE))
print(unlist(parallel::mclapply(1:4, function(i) sum(y[["b"]]) + i, mc.cores = 2)))
R
	Rscript --vanilla job.R'
M=tree WRITTEN=out BY=perl same "perl" perl '
	perl -MFile::Find -MIPC::Open3 -MFile::Temp -e "
		my (\$n, %s); find(sub { return unless -f; open(my \$f, q(<), \$_) or die; \$n += \$_ for <\$f>; \$s{\$_}++ }, q(m));
		my \$pid = open3(my \$in, my \$out, undef, q(sort)); print \$in qq(\$_\n) for keys %s; close \$in; my @l = <\$out>; waitpid(\$pid, 0);
		for my \$i (1 .. 5) { my \$p = fork; if (!\$p) { open(my \$o, q(>), qq(c\$i)); print \$o \$i; exit \$i } waitpid(\$p, 0); print \$? >> 8, qq(\n) }
		my \$t = File::Temp->new; print \$t @l; close \$t; rename(\"\$t\", q(out)); \$t->unlink_on_destroy(0); print \$n, qq( ), scalar(@l), qq(\n)"; chmod 644 out'

# ---- bytes, where the truth is known ----

# moved NAME NEEDED SCRIPT: the script under --exact in an empty folder with the tree. On standard input PROGRAM read|written PATH...:
# the program has moved as many bytes of each file as the file has, no more and no less, and that is known.
moved()
{
	cat >"$T/expect"
	if ! command -v "$2" >/dev/null; then
		skip_ "$1" "no $2 here"
		return
	fi
	case "${ONLY:-$1} $modes " in
	"$1 "*' exact '*) ;;
	*) return ;;
	esac
	rm -rf "${T:?}/w" "${T:?}/home"
	mkdir "$T/w"
	cp -a "$T/material/tree" "$T/w/m"
	(cd "$T/w" && exec "$STEMMA" run --exact -- /bin/sh -c "$3") >"$T/why" 2>&1 </dev/null || echo "status $?" >>"$T/why"
	"$STEMMA" sql --csv "SELECT e.argv, f.path, sum(a.bytes_read), sum(a.bytes_written), sum(a.bytes_read IS NULL), sum(a.bytes_written IS NULL)
		FROM access a JOIN execution e ON e.id = a.execution JOIN file f ON f.id = a.file
		WHERE f.kind = 'regular' GROUP BY e.id, f.id" >"$T/csv" 2>>"$T/why"
	$PYTHON - "$T/w" "$T/csv" "$T/expect" <<'PY' >>"$T/why" 2>&1
import csv, glob, os, sys
folder, rows, expect = sys.argv[1:]
sums = {}
for argv, path, r, w, *_ in list(csv.reader(open(rows)))[1:]:
    key = os.path.basename(argv.split()[0]) if argv else '', path
    for way, n in (('read', r), ('written', w)):
        if n:
            sums[key + (way,)] = sums.get(key + (way,), 0) + int(n)
told = 0
for line in open(expect):
    program, way, *paths = line.split()
    for path in [p for pattern in paths for p in sorted(glob.glob(os.path.join(folder, pattern))) or [pattern]]:
        told += 1
        size, n = os.path.getsize(path), sums.get((program, path, way))
        if n != size:
            print(f'{program} {way} {path}: {n}, but the file has {size}')
if not told:
    print('nothing was compared')
PY
	[ ! -s "$T/why" ]
	result $? "exact: $1" "$T/why"
}

moved "bytes of cp" cp 'cat m/f?? >big; cp big copy; cp --reflink=never --sparse=never big copy2; install -m 600 big copy3' <<-END
	cat read m/f??
	cat written big
	cp written copy copy2
	install written copy3
END
moved "bytes of tar" tar 'tar cf t.tar m; mkdir out; tar xf t.tar -C out' <<-END
	tar read m/f* t.tar
	tar written t.tar out/m/f*
END
moved "bytes of tar | zstd" zstd 'tar cf - m | zstd -q >t.tar.zst; zstd -dcq t.tar.zst >t.tar; gzip -n t.tar; gzip -dc t.tar.gz >t2.tar' <<-END
	tar read m/f*
	zstd written t.tar.zst
	zstd read t.tar.zst
	gzip written t.tar.gz
	gzip read t.tar.gz
	gzip written t2.tar
END
moved "bytes of sort" sort 'cat m/f* >in; cp in in2; sort in -o out; sort -S 100k --parallel=2 -T . in2 >out2; sort -m out out2 -o out3' <<-END
	cat read m/f*
	cat written in
	sort read in in2 out out2
	sort written out out2 out3
END
moved "bytes of an import of sqlite3" sqlite3 'seq 30000 | awk "{ print \$1 \",\" \$1 * 7 }" >rows.csv
	printf "%s\n" "create table t(a, b);" ".mode csv" ".import rows.csv t" ".output dump" ".dump" | sqlite3 db; sqlite3 -csv db "select * from t" >back.csv' <<-END
	awk written rows.csv
	sqlite3 read rows.csv
	sqlite3 written dump back.csv
END
moved "bytes of awk, sed, tr, dd, split, perl" perl 'cat m/f* >in; awk "{ print \$1 + 1 }" in >a; sed s/1/2/ a >b; tr 0-9 a-j <b >c; dd if=c of=d bs=4097 2>/dev/null; split -b 100000 d part.
	perl -pe s/a/b/ d >e; cksum <e >sum' <<-END
	awk read in
	awk written a
	sed read a
	sed written b
	tr read b
	tr written c
	dd read c
	dd written d
	split read d
	split written part.*
	perl read d
	perl written e
	cksum read e
END
finish
