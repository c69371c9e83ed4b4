#!/bin/sh
# What well-known programs do with files.
# shellcheck source=tests/prog/lib.sh
. "$(dirname "$0")/../tests/prog/lib.sh"

# tool_case NAME TOOL SCRIPT: the script in sh; files that no line tells of may be read and written; truth lines on standard input.
tool_case()
{
	if command -v "$2" >/dev/null; then
		OPTIONS=--open shell_case "$1" sh "$3"
	else
		cat >/dev/null
		skip_ "$1" "no $2 here"
	fi
}

tool_case "cp" cp 'cp in y; cp -p y z; cp --sparse=never page page2' <<-END
	*@cp read DIR/in
	*@cp write DIR/y
	*@cp read DIR/y
	*@cp write DIR/z
	*@cp write DIR/page2
	*@cp not-written DIR/in
END
tool_case "mv into a directory" mv 'mv in in2 sub; mv sub bus; cat bus/in >y' <<-END
	*@mv rename DIR/in DIR/sub/in
	*@mv rename DIR/in2 DIR/sub/in2
	*@mv rename DIR/sub DIR/bus
	*@cat read DIR/bus/in
	*@cat write DIR/y
END
tool_case "tar" tar 'tar cf t.tar in in2 sub; mkdir out; tar xf t.tar -C out' <<-END
	*@tar read DIR/in
	*@tar read DIR/in2
	*@tar write DIR/t.tar
	*@tar read DIR/t.tar
	*@tar create DIR/out/in
	*@tar write DIR/out/in2
	*@tar create DIR/out/sub
END
tool_case "sort -o over its own input" sort 'sort -o x x' <<-END
	*@sort write DIR/x
END
tool_case "sed -i" sed 'sed -i s/hello/bye/ in; cat in >y' <<-END
	*@sed read DIR/in
	*@cat read DIR/in
	*@cat write DIR/y
	*@cat not-written DIR/in
END
tool_case "dd, tee, split, install" dd 'dd if=in of=y bs=1 count=3 status=none; tee t1 t2 <in >/dev/null; split -n 2 page p.; install -m 600 in z' <<-END
	*@dd may-read DIR/in
	*@dd write DIR/y
	*@tee write DIR/t1
	*@tee write DIR/t2
	*@split read DIR/page
	*@split write DIR/p.aa
	*@split write DIR/p.ab
	*@install write DIR/z
END
tool_case "gzip" gzip 'gzip -n in; zcat in.gz >y' <<-END
	*@gzip read DIR/in
	*@gzip create DIR/in.gz
	*@gzip write DIR/in.gz
	*@gzip unlink DIR/in
	*@gzip read DIR/in.gz
	*@gzip write DIR/y
END
tool_case "find and xargs" xargs 'find . -name "in*" -type f | sort | xargs cat >y' <<-END
	*@find flow pipe *@sort
	*@sort flow pipe *@xargs
	*@cat read DIR/in
	*@cat read DIR/in2
	*@cat write DIR/y
END
tool_case "gcc: compile" gcc 'echo "int f(int x); int f(int x) { return x; }" >a.c; gcc -c a.c -o a.o; gcc -pipe -c a.c -o b.o' <<-END
	*@cc1 read DIR/a.c
	*@as write DIR/a.o
	*@cc1 flow pipe *@as
	*@as no-access DIR/a.c
	*@cc1 no-access DIR/a.o
	*@as write DIR/b.o
END
tool_case "gcc: link, ar" gcc 'echo "int main(void) { return 3; }" >a.c; gcc -c a.c; ar cr liba.a a.o; gcc -o prog liba.a; ./prog; [ $? = 3 ]' <<-END
	*@as write DIR/a.o
	*@ar read DIR/a.o
	*@ar write DIR/liba.a
	*@* program DIR/prog
END
# A pipe full of tokens joins all that make starts; it is not data.
tool_case "make -j2" make 'printf "all: y z\ny: in\n\tcat in >y\nz: in2\n\tcat in2 >z; true\n" >Makefile; make -s -j2' <<-END
	*@make read DIR/Makefile
	*@cat read DIR/in
	*@cat read DIR/in2
	*@cat write DIR/y
	*@cat write DIR/z
	*@cat no-flow pipe *@make
	*@make no-flow pipe *@cat
	*@make no-flow pipe *@sh
	*@make no-flow pipe *@dash
	*@make no-flow fifo *@dash
END
tool_case "python" python3 "echo 'import m, subprocess
print(open(\"in\").read() + m.text, file=open(\"y\", \"w\"))
subprocess.run([\"cp\", \"y\", \"z\"])' >s.py; echo 'text = \"t\"' >m.py; env -u PYTHONDONTWRITEBYTECODE PYTHONPYCACHEPREFIX= $PYTHON s.py; env -u PYTHONDONTWRITEBYTECODE $PYTHON s.py" <<-END
	*@* anyone-read DIR/s.py
	*@* anyone-read DIR/m.py
	*@* anyone-read DIR/in
	*@* write DIR/y
	*@* create DIR/__pycache__
	*@cp read DIR/y
	*@cp write DIR/z
END
tool_case "sqlite, write-ahead log" sqlite3 'sqlite3 db "pragma journal_mode=wal; create table t(a); insert into t values (1)" >/dev/null; sqlite3 db "select * from t" >y' <<-END
	*@sqlite3 create DIR/db
	*@sqlite3 write DIR/db
	*@* group DIR/db-wal DIR/db
	*@sqlite3 may-read DIR/db
	*@sqlite3 write DIR/y
END
tool_case "sqlite, journal" sqlite3 'sqlite3 db "create table t(a)"; sqlite3 db "insert into t values (1)"; sqlite3 db "select * from t" >y' <<-END
	*@sqlite3 create DIR/db
	*@sqlite3 write DIR/db
	*@* group DIR/db-journal DIR/db
	*@sqlite3 write DIR/y
END
tool_case "git" git 'export GIT_CONFIG_GLOBAL=/dev/null HOME=$PWD; git init -q r; cp in r; cd r; git add in; git -c user.name=a -c user.email=b commit -q -m m; git status -s; cd ..; git clone -q r r2' <<-END
	*@git read DIR/r/in
	*@git create DIR/r2/in
	*@git write DIR/r2/in
END
tool_case "perl -i, flock, mktemp" perl 'perl -pi -e s/hello/bye/ in; flock lock cat in >y; t=$(mktemp -p .); cat in >"$t"; mv "$t" z' <<-END
	*@perl read DIR/in
	*@cat read DIR/in
	*@cat write DIR/y
	*@mktemp flow pipe *@dash
	*@cat write DIR/z
END
finish
