#!/bin/sh
# --count of everyday scripts: what each file was given and how much of it was read is known, to the byte, though shells fork,
# replace descriptors and wait for others all the time. What it was is told by the sizes of the files.
# shellcheck source=tests/prog/lib.sh
. "$(dirname "$0")/../tests/prog/lib.sh"

# Whatever stands before it in the path, a shim of pyenv say, is a script of its own, with pipes of its own.
PATH=$(dirname "$(command -v "$PYTHON")"):$PATH

needs_count
case $(stat -f -c %T "$T") in
ext2/ext3 | tmpfs) zeros=yes ;;
*) zeros= ;; # files can be cloned unseen: that a process wrote nothing is not claimed
esac

size()
{
	wc -c <"$D/$1" | tr -d ' '
}

# Of the file: every access that way is known, and all together moved so many bytes.
moved() # PATH WAY BYTES [PROGRAM]
{
	got=$(awk -F'\t' -v f="$D/$1" -v w="$2" -v p="${4:-}" -v zeros="$zeros" '
		$4 == f && $5 == w && $6 != "mmap" && (p == "" || index($2, p) == 1) {
			if ($9 != "?") n += $9
			else if (zeros || $2 !~ /^fork of/) unknown = 1
			any = 1
		}
		END { print !any ? "nothing" : unknown ? "? " n + 0 : n + 0 }' "$D.tsv")
	case $got in
	"$3") ;;
	\?*) echo "$1 $2 ${4:-}: is not known" >>"$D.unknown" && [ "${got#? }" -le "$3" ] || echo "$1 $2 ${4:-}: >=${got#? }, it was $3" >>"$D.wrong" ;;
	*) echo "$1 $2 ${4:-}: $got, it was $3" >>"$D.wrong" ;;
	esac
}

# No pipe's bytes are unknown, and what went in came out if nobody left early.
pipes()
{
	awk -F'\t' '$4 ~ /^pipe:/ && $9 == "?" { print $2, $4, $5 ": is not known" }' "$D.tsv" >>"$D.unknown"
	awk -F'\t' '$4 ~ /^pipe:/ { if ($5 == "read") r[$4] += $9; else w[$4] += $9; seen[$4] = 1 }
		END { for (p in seen) if (r[p] != w[p]) print p ": " r[p] + 0 " read, " w[p] + 0 " written" }' "$D.tsv" >"$D.pipes"
	[ -s "$D.unknown" ] || cat "$D.pipes" >>"$D.wrong"
}

# script NAME SHELL: the script $D.sh, and what it moved by the function truth_NAME. On a busy machine a program may not have been
# stopped in time, and then less is known: tried again. What is said is true each time.
script()
{
	for try in 1 2 3 4 5 6; do
		rm -rf "$D" "$D.home"
		mkdir -p "$D"
		seq 3000 >"$D/in"
		(cd "$D" && STEMMA_HOME=$D.home exec "$STEMMA" run --count -- "$2" "$D.sh") >/dev/null 2>"$D.err" </dev/null || {
			not_ok "$2: $1: the script runs" "$D.err"
			return
		}
		STEMMA_HOME=$D.home "$STEMMA" stat --tsv @ >"$D.tsv" 2>"$D.err" || cat "$D.err"
		: >"$D.unknown"
		: >"$D.wrong"
		"truth_$1" "$@"
		[ ! -s "$D.wrong" ] && [ -s "$D.unknown" ] || break
	done
	cat "$D.wrong" "$D.unknown" >"$D.why"
	[ ! -s "$D.why" ]
	result $? "$2: $1" "$D.why"
}

D=$T/s
shells=sh
thorough && command -v bash >/dev/null 2>&1 && shells='sh bash'

cat >"$T/redirections" <<'SH'
sort -r in > a
grep 7 a | wc -l > b
(head -c 100 in; cat b) > c
{ echo one; cat c; } > d
cp in e
gzip -k e
x=$(cat b)
echo "$x" > f
cat <<X > g
$x and text
X
nosuchprogram 2> h
cat missing 2> i
exec 3> j
echo three >&3
cat b >&3
exec 3>&-
echo more >> j
true
SH
truth_redirections()
{
	moved in read $(($(size in) * 2 + 100))
	moved a write "$(size in)" sort
	moved a write "$(size in)"
	moved a read "$(size a)"
	moved b write "$(size b)"
	moved b read $(($(size b) * 3))
	moved c write "$(size c)"
	moved c write 100 head
	moved d write "$(size d)"
	moved e write "$(size e)"
	moved e read "$(size e)"
	moved e.gz write "$(size e.gz)"
	for f in f g h i j; do
		moved $f write "$(size $f)"
	done
	pipes
}

cat >"$T/loops" <<'SH'
i=0
while [ $i -lt 40 ]; do
	wc -l < in | cat > one
	cat one one > two
	i=$((i + 1))
done
for i in 1 2 3; do cat two; done | sort > three
while read -r line; do echo "$line"; done < three > four
(while read -r line; do echo "$line"; done) < four > five
cat five | while read -r line; do x=$(echo "$line" | cat); echo "$x"; done > six
true
SH
truth_loops()
{
	moved one write $(($(size one) * 40))
	moved one read $(($(size one) * 80))
	moved two write $(($(size two) * 40))
	moved two read $(($(size two) * 3))
	for f in three four five six; do
		moved $f write "$(size $f)"
	done
	if [ "$2" != bash ]; then # which goes back in a file that others may read on
		moved three read "$(size three)"
		moved four read "$(size four)"
	fi
	moved five read "$(size five)"
	pipes
}

cat >"$T/programs" <<'SH'
find . -name 'in' -exec cp {} a \;
printf '%s\n' in a | xargs cat > b
tar cf - in a | gzip > c
perl -e 'open F, ">d"; print F `cat in`; close F; system("cat a >> d")'
python3 -c '
import os, subprocess
open("e", "w").write(subprocess.check_output(["cat", "in"]).decode())
subprocess.run("cat a >> e", shell=True)
with open("f", "w") as f:
    subprocess.run(["cat"], stdin=open("in"), stdout=f)
with open("g", "wb", 0) as g:
    g.write(b"first")
    if not os.fork():
        g.write(b"of the child")
        os._exit(0)
    os.wait()
    if not os.fork():
        g.write(b"before")
        os.dup2(g.fileno(), 1)
        os.execvp("cat", ["cat", "in"])
    os.wait()
    if not os.fork():
        os.setsid()
        h = os.open("h", os.O_WRONLY | os.O_CREAT, 0o644)
        os.dup2(h, g.fileno(), True)
        g.write(b"not of g")
        os.execvp("cat", ["cat", "/dev/null"])
    os.wait()
    g.write(b"last")
'
tee i < in | tail -c 10 > j
true
SH
truth_programs()
{
	moved a write "$(size in)" cp
	moved b write $(($(size in) * 2))
	moved c write "$(size c)"
	moved d write $(($(size in) * 2))
	moved e write $(($(size in) * 2))
	moved f write "$(size in)" cat
	moved g write $(($(size in) + 27))
	moved g write "$(size in)" cat
	moved g write 9 python3
	moved g write 18 'fork of python3'
	moved h write 8
	moved i write "$(size in)"
	moved j write 10
	pipes
}

cat >"$T/makes" <<'SH'
cat > Makefile <<'X'
all: one two three four
one: in
	cat in > $@; echo x >> $@
two: in
	sort -r in | uniq > $@
three: one
	(cat one; echo y) > $@
four:
	cp in $@ && echo "$$(cat $@ | wc -l)" >> $@
X
make -s -j2
true
SH
truth_makes()
{
	for f in one two three four; do
		moved $f write "$(size $f)"
	done
	moved one read "$(size one)"
	moved four read "$(size in)"
}

for sh in $shells; do
	for name in redirections loops programs makes; do
		missing=
		case $name in
		programs) command -v perl >/dev/null 2>&1 || missing=perl ;;
		makes) command -v make >/dev/null 2>&1 || missing=make ;;
		esac
		if [ "$missing" ]; then
			skip_ "$sh: $name" "there is no $missing"
			continue
		fi
		cp "$T/$name" "$D.sh"
		script $name "$sh"
	done
done
finish
