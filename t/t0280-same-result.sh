#!/bin/sh
# Real programs: what they print, make and return is the same with a recorder as without, byte for byte.
# shellcheck source=tests/prog/lib.sh
. "$(dirname "$0")/../tests/prog/lib.sh"

export STEMMA_HOME="$T/home"

# Files to work on, the same for each run.
material()
{
	rm -rf "$T/w"
	mkdir -p "$T/w/tree/a/b" "$T/w/src"
	(
		cd "$T/w" || exit
		seq 1 2000 | awk '{ print ($1 * 7919) % 2003, "line", $1 }' >numbers
		for i in 1 2 3 4 5 6 7 8; do
			echo "file $i" >"tree/a/f$i"
			echo "int f$i(int x); int f$i(int x) { return x + $i; }" >"src/f$i.c"
		done
		cp numbers tree/a/b/n
		ln -s ../f1 tree/a/b/sym
		{
			for i in 1 2 3 4 5 6 7 8; do echo "int f$i(int);"; done
			printf '%s\n' '#include <stdio.h>' 'int main(void) { printf("%d\n", f1(1) + f8(2)); return 0; }'
		} >src/main.c
		printf 'CFLAGS = -O1\nprog: main.o f1.o f2.o f3.o f4.o f5.o f6.o f7.o f8.o\n\t$(CC) -o $@ $^\n%%.o: %%.c\n\t$(CC) $(CFLAGS) -c -o $@ $<\n' >src/Makefile
		find . -exec touch -h -d '2020-01-01 00:00:00' {} +
	)
}

# A listing of all that there is: type, mode, size, name, target, and the sum of what it holds.
listing()
{
	(cd "$T/w" && find . ! -name '*.pyc' -printf '%y %m %s %P %l\n' | grep -v -e '^d' -e ' repo[12]/.git/' | sort &&
		find . -type f ! -path '*/.git/*' ! -name '*.pyc' -exec cksum {} + | sort -k 3)
}

# same NAME NEEDED COMMAND
same()
{
	if ! command -v "$2" >/dev/null; then
		skip_ "$1" "no $2 here"
		return
	fi
	for R in "" "$STEMMA run --"; do
		f=$([ -z "$R" ] && echo plain || echo recorded)
		material
		(cd "$T/w" && exec sh -c "R='$R'; $3") >"$T/$f.out" 2>"$T/$f.err" </dev/null
		echo "status $?" >>"$T/$f.out"
		{
			cat "$T/$f.out" "$T/$f.err"
			listing
		} >"$T/$f"
	done
	if ! grep -q '^status 0' "$T/plain.out"; then
		skip_ "$1" "it does not work here: $(tail -1 "$T/plain.err")"
		return
	fi
	diff "$T/plain" "$T/recorded" >"$T/why"
	result $? "$1" "$T/why"
}

same "sort" sort '$R sort -n numbers -o sorted'
same "sort in pieces, with temporary files" sort '$R sort -S 8k --parallel=2 -T . numbers -o sorted'
same "tar" tar '$R tar -cf t.tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner tree && mkdir out && $R tar -xvf t.tar -C out'
same "tar and gzip" gzip '$R tar -czf t.tar.gz --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner tree && gzip -dc t.tar.gz | cksum; rm t.tar.gz'
same "find and xargs" xargs '$R sh -c "find tree -type f | sort | xargs -P 1 -n 1 cksum"'
same "find -exec, xargs -P" xargs '$R sh -c "find tree -type f -print0 | xargs -0 -P 4 -I% cp % %.copy; find tree -name \"*.copy\" | sort"'
same "cp -a, mv, rm -r" cp '$R sh -c "cp -a tree tree2 && mv tree2/a tree2/z && rm -r tree2/z/b && ls -R tree2"'
same "sed -i, awk, tr, cut" sed '$R sh -c "sed -i s/line/LINE/ numbers && awk \"{ s += \\\$1 } END { print s }\" numbers && tr a-z A-Z <numbers | cut -c 1-10 | uniq -c | tail -3"'
same "dd" dd '$R dd if=numbers of=copy bs=100 count=7 skip=1 status=none'
same "python" python3 "\$R $PYTHON -c 'import json, tempfile, subprocess, multiprocessing as m
def f(x): return x * x
if __name__ == \"__main__\":
    open(\"out.json\", \"w\").write(json.dumps({\"a\": [1, 2, 3]}))
    print(subprocess.check_output([\"wc\", \"-l\", \"numbers\"], text=True), sorted(m.Pool(3).map(f, range(20))))'"
same "python threads" python3 "\$R $PYTHON -c 'import threading
def f(i): open(\"t%d\" % i, \"w\").write(str(i)); return open(\"numbers\").read()
ts = [threading.Thread(target=f, args=(i,)) for i in range(30)]
[t.start() for t in ts]; [t.join() for t in ts]; print(len(ts))'"
same "perl" perl '$R perl -e "open(F, q(<), q(numbers)); my @l = <F>; open(G, q(>), q(out)); print G reverse @l; print scalar(@l), qq(\n)"'
same "the compiler" gcc 'cd src && $R gcc -O1 -c main.c && $R gcc -O1 -c f1.c && ls'
same "compile and link, pipes" gcc 'cd src && $R gcc -pipe -O1 -o prog *.c && ./prog'
same "make -j2" make 'cd src && $R make -s -j2 && ./prog && $R make -s -j2 && $R make -q'
same "git" git 'export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
	export GIT_AUTHOR_DATE="1 Jan 2020 00:00:00 +0000" GIT_COMMITTER_DATE="1 Jan 2020 00:00:00 +0000"
	$R git init -q -b main repo1 && cp -r tree repo1/ && cd repo1 && $R git add tree && $R git commit -q -m first && cd .. &&
	$R git clone -q repo1 repo2 && cd repo2 && $R git log --format="%H %s" && $R git status --short && $R git fsck 2>/dev/null'
same "sqlite" sqlite3 '$R sqlite3 db "create table t(a); insert into t values (1), (2); pragma journal_mode=wal; insert into t values (3); select sum(a) from t" &&
	$R sqlite3 db "select count(*) from t; begin; insert into t values (4); rollback; select * from t"'
same "a large file" cksum '$R sh -c "head -c 30000000 /dev/zero | cksum; head -c 3000000 /dev/zero >big; cksum big"'
same "env -i, nohup, timeout, nice" timeout '$R env -i /usr/bin/timeout 20 nice sh -c "cat numbers | wc -l"; $R timeout 0.2 sleep 10; echo $?'
same "a shell script of many kinds" bash '$R bash -c "shopt -s globstar; for f in tree/**/f?; do { read l; echo \"\$l \$RANDOM\" | cut -d\" \" -f 1,2; } <\$f; done; printf \"%s\n\" {a..e}{1..3} | paste -sd, ; mapfile -t x <numbers; echo \${#x[@]}; trap \"echo bye\" EXIT; (sleep 0.1; echo later) & wait"'
same "set-id programs" su '[ "$(id -u)" = 0 ] || exit 1; $R su -s /bin/sh nobody -c "id -u; cat numbers | wc -l"'
same "tracing tools" strace '$R strace -o /dev/null -f sh -c "cat numbers | wc -l"'
same "setpriv, unshare" unshare '$R unshare -Ur sh -c "id -u; cat numbers | wc -l"'
finish
