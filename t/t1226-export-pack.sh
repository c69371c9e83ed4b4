#!/bin/sh
# stemma export -f pack: a folder that runs elsewhere. Ten runs are packed, and run again in a root that has nothing but the files of the
# packages that the pack names: the same bytes, or the reason why not.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

# root PACK: in $T/root the files of its packages of dpkg, and what run.sh itself needs; false where that cannot be made
root()
{
	rm -rf "$T/root" && mkdir -p "$T/root/dev" "$T/root/tmp" "$T/root/etc" "$T/root/proc" || return 1
	for d in bin sbin lib lib64; do
		[ ! -L /$d ] || { mkdir -p "$T/root/usr/$d" && ln -s usr/$d "$T/root/$d"; } || return 1
	done
	mknod "$T/root/dev/null" c 1 3 2>>"$err" && : >"$T/root/dev/null" || return 1
	sed -n 's/^dpkg	\([^	]*\)	.*	\(.*\)$/\1:\2/p' "$1/packages.tsv" | sed 's/:all$//' | while read -r p; do
		dpkg-query -L "$p" 2>/dev/null
	done | grep -v -e /share/doc/ -e /share/man/ -e /share/locale/ | sort -u | while read -r f; do
		[ -f "$f" ] || [ -L "$f" ] && printf '%s\n' "${f#/}"
	done >"$T/list"
	tar -C / -cf - --no-recursion -T "$T/list" 2>>"$err" | tar -C "$T/root" --keep-directory-symlink -xf - 2>>"$err"
	for p in sha256sum cut dirname mkdir cp chmod touch env ln sh; do # what run.sh starts, and libraries of these
		p=$(readlink -f "$(command -v $p)") && { echo "$p" && ldd "$p" | grep -o '/[^ ]*'; }
	done | sort -u | while read -r f; do
		[ -e "$T/root$f" ] || { mkdir -p "$T/root$(dirname "$f")" && cp -L "$f" "$T/root$f"; }
	done
	[ -e "$T/root/bin/sh" ] || ln -s "$(readlink -f /bin/sh)" "$T/root/bin/sh"
	chroot "$T/root" /bin/sh -c 'sha256sum </dev/null' >/dev/null 2>>"$err"
}

# again PACK: run.sh in such a root; its output is in out, its status is the function's
again()
{
	root "$1" || return 99
	cp -r "$1" "$T/root/pack" && chroot "$T/root" /bin/sh /pack/run.sh >"$out" 2>"$err"
}

mkdir -p "$T/w/bin" && cd "$T/w" || exit 1
seq 1 200 >numbers.txt
printf 'b\na\nc\n' >'odd '\''name'\''.txt'
printf '#!/bin/sh\nsort -n "$1" | uniq -c\n' >bin/own.sh
cp "$(command -v uniq)" bin/own-program
printf 'import sys, helper\nopen(sys.argv[2], "w").write(helper.f(open(sys.argv[1]).read()))\n' >fit.py
printf 'def f(t):\n    return str(sum(int(x) for x in t.split()))\n' >helper.py
printf 'out.txt: numbers.txt\n\tsort -n numbers.txt >out.txt\n' >Makefile
chmod +x bin/own.sh
export PYTHONDONTWRITEBYTECODE=1

if ! command -v dpkg-query >/dev/null 2>&1 || ! dpkg-query -S /usr/bin/sort >/dev/null 2>&1; then
	skip 'packs' 'sort is of no package of dpkg here'
	finish
	exit
fi

# pack N COMMAND: the run in a folder of its own, and its pack
pack()
{
	n=$1
	shift
	mkdir -p "$T/w$n" && cp -r "$T/w/." "$T/w$n" && cd "$T/w$n" || return 1
	cmd 0 run -q --digest -- "$@" && cmd 0 export -f pack -o "$T/p$n" @
}
made=0
tried=0
for n in 1 2 3 4 5 6 7 8 9 10; do
	case $n in
	1) pack 1 sort -rn numbers.txt -o sorted.txt ;;
	2) pack 2 sh -c 'sort -rn numbers.txt | uniq -c >counts.txt' ;;
	3) pack 3 sh -c "cat \"odd 'name'.txt\" numbers.txt >\"both of'em.txt\"" ;;
	4) pack 4 bin/own.sh numbers.txt && : ;;
	5) pack 5 sh -c 'bin/own-program -c numbers.txt >u.txt; mkdir -p deep/er && cp u.txt deep/er/v.txt' ;;
	6) pack 6 /usr/bin/python3 fit.py numbers.txt sum.txt ;;
	7) pack 7 sh -c 'awk "{ s += \$1 } END { print s }" numbers.txt >awk.txt' ;;
	8) pack 8 sh -c 'gzip -n -c numbers.txt >n.gz && gzip -dc n.gz | md5sum >sum.txt' ;;
	9) pack 9 sh -c 'sed s/1/one/g numbers.txt >s.txt; grep -c one s.txt >c.txt; tr a-z A-Z <s.txt >t.txt' ;;
	10) pack 10 sh -c 'split -l 50 numbers.txt part. && cat part.a? | tac >back.txt' ;;
	esac
	check "run $n is packed"
	[ -e "$T/p$n/missing.txt" ] && sed 's/^/# missing: /' "$T/p$n/missing.txt"
	again "$T/p$n"
	status=$?
	if [ $status = 99 ]; then
		sed 's/^/# /' "$err" | head -n 5
		skip "run $n in a clean root" 'no root can be made here (it needs root, and a device)'
		continue
	fi
	tried=$((tried + 1))
	[ $status = 0 ] && made=$((made + 1))
	[ $status = 0 ] && says_not "$out" different && says_not "$out" missing
	check "run $n in a clean root makes the same bytes"
done
echo "# $made of $tried runs made the same bytes"

# What is in it.
cp "$T/p6/inputs.tsv" "$out" && says "$out" "$T/w6/fit.py" "$T/w6/helper.py" "$T/w6/numbers.txt" && says_not "$out" /usr/bin/python3 && says_not "$out" odd
check 'inputs are those that the run used, programs of packages not among them'
grep -q '^dpkg	coreutils	' "$T/p1/packages.tsv" && grep -q '^dpkg	libc6	' "$T/p1/packages.tsv" && cp "$T/p1/Apptainer.def" "$out" && says "$out" 'Bootstrap: docker' "coreutils=$(dpkg-query -W -f '${Version}' coreutils)" 'exec /pack/run.sh'
check 'packages by name and version, and a recipe'
h=$(sha256sum "$T/w1/numbers.txt" | cut -d ' ' -f 1) && cmp -s "$T/p1/files/$h" "$T/w1/numbers.txt"
check 'contents by their digest'
sh -n "$T/p3/run.sh" && cd / && cmd 2 export -f pack -o "$T/none" || sh "$T/p1/run.sh" >"$out" 2>"$err"
sh "$T/p1/run.sh" >"$out" 2>"$err"
[ $? = 2 ] && says "$err" 'exists, and the command would overwrite it'
check 'where the outputs lie already it does nothing'
cd "$T/w1" && rm sorted.txt && sh "$T/p1/run.sh" >"$out" 2>"$err" && says "$out" "same      $T/w1/sorted.txt"
check 'in its own place without them it makes them again'
rm sorted.txt && echo changed >>numbers.txt && ! sh "$T/p1/run.sh" >"$out" 2>"$err" && says "$err" 'numbers.txt exists and has other content' && [ ! -e sorted.txt ]
check 'an input that is another file is not overwritten'
cmd 0 export -f pack -o "$T/changed" "$(cd "$T/w1" && "$STEMMA" log --json 2>/dev/null | jq -r '.runs[-1].id')" && says "$err" 'left out: 1 file' && cp "$T/changed/missing.txt" "$out" && says "$out" 'numbers.txt: it has changed, or was removed, since it was recorded'
check 'an input that has changed is not in the pack, which says so'
echo damaged >>"$T/p2/files/$(cut -f 1 "$T/p2/inputs.tsv" | head -n 1)" && cd "$T/w2" && rm -f counts.txt && ! sh "$T/p2/run.sh" >"$out" 2>"$err" && says "$err" 'is damaged'
check 'a damaged content is found'
cmd 2 export -f pack @ || says "$err" 'needs'
check 'it needs a folder'
cmd 125 export -f pack -o "$T/x" "$T/w6/sum.txt" && says "$err" 'a pack is made of one run'
check 'a file is no run'

# Before 1970.
mkdir "$T/old" && cd "$T/old" && echo x >a && echo y >b && touch -d @-1.5 a && touch -d @-0.25 b
cmd 0 run -q --digest -- sh -c 'cat a b >out' && cmd 0 export -f pack -o "$T/p-old" @ && rm -f a b out && sh "$T/p-old/run.sh" >"$out" 2>"$err"
[ $? = 0 ] && is "$out" 'same      '"$T/old/out" && [ "$(stat -c %.9Y a b | tr '\n' ' ')" = '-1.500000000 -0.250000000 ' ]
check 'an input that was modified before 1970 gets its time'

# Names that would be commands.
mkdir -p "$T/evil/a;touch \$(id)" && cd "$T/evil/a;touch \$(id)" && echo x >'$(touch pwned).txt' && echo y >"$(printf 'line\nend')"
cmd 0 run -q --digest -- sh -c 'cat ./* >"out`touch pwned2`.txt"' 'a b' "c'd" && cmd 0 export -f pack -o "$T/p11" @ && sh -n "$T/p11/run.sh" && rm -f out* pwned2 && sh "$T/p11/run.sh" >"$out" 2>"$err"
[ ! -e pwned ] && cp "$T/p11/missing.txt" "$out" && says "$out" 'cannot be in a list'
check 'names of files are no commands'

# What env would take for something else than the program.
mkdir -p "$T/eq" && cd "$T/eq" && printf '#!/bin/sh\necho mine >out.txt\n' >'x=1' && chmod +x 'x=1'
cmd 0 run -q --digest -- ./x=1 sh -c 'echo other >out.txt' && cmd 0 export -f pack -o "$T/p12" @ && rm out.txt && sh "$T/p12/run.sh" >"$out" 2>"$err" && says "$out" "same      $T/eq/out.txt" && [ "$(cat out.txt)" = mine ]
check "a program with a sign in its name is the program, not what stands behind it"
rm out.txt
env -i -- '-S=touch pwned' "PATH=$PATH" "HOME=$HOME" "STEMMA_HOME=$STEMMA_HOME" "LD_LIBRARY_PATH=${LD_LIBRARY_PATH:-}" "$STEMMA" run -q --digest -- sh -c 'echo x >out.txt' && cmd 0 export -f pack -o "$T/p13" @ && rm out.txt && sh "$T/p13/run.sh" >"$out" 2>"$err" && says "$out" "same      $T/eq/out.txt" && [ ! -e pwned ]
check 'variables whose names look like options are variables'
rm out.txt && ln -s "$T/eq/elsewhere" out.txt
sh "$T/p13/run.sh" >"$out" 2>"$err"
[ $? = 2 ] && says "$err" 'out.txt exists, and the command would overwrite it' && [ ! -e elsewhere ]
check 'a link that leads nowhere is a file that is there already'
rm out.txt && printf 'a\n' >in.txt
cmd 0 run -q --digest -- sort in.txt -o out.txt && cmd 0 export -f pack -o "$T/p14" @ && rm in.txt out.txt && ln -s "$T/eq/elsewhere" in.txt
sh "$T/p14/run.sh" >"$out" 2>"$err"
[ $? = 2 ] && says "$err" 'in.txt exists and has other content' && [ ! -e elsewhere ]
check 'in the place of an input, too'
rm in.txt
for name in "$(printf 'line\nend')" "$(printf 'a\tb\\')"; do
	echo y >"$name"
done
cmd 0 run -q --digest -- sh -c 'cat -- *end *b* >"$(printf "new\nname")"' && cmd 0 export -f pack -o "$T/p15" @
[ "$(grep -c . "$T/p15/missing.txt")" = 3 ] && cp "$T/p15/missing.txt" "$out" && says "$out" '/line\nend: its name has a tab or newline' '/a\tb\\: its name has a tab or newline' '/new\nname: run.sh does not compare'
check 'a name that cannot be in a list is named in missing.txt, in one line'
finish
