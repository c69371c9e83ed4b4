#!/bin/sh
# cc: records of builds go with the run they were made in, and when nothing refers to them any more; not before.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=t/cc.sh
. "$here/t/cc.sh"

if ! "$STEMMA" run -q -- true 2>"$err"; then
	echo "1..0 # SKIP nothing can be recorded here: $(head -n 1 "$err")"
	exit 0
fi
rm -rf "$STEMMA_HOME"
mkdir -p "$T/src"
cd "$T/src" || exit 1
printf '#include "a.h"\nint f(void);\nint main(void) { return f() - A; }\n' >main.c
printf 'int f(void) { return 7; }\n' >f.c
echo '#define A 7' >a.h
fresh

builds() { "$STEMMA" sql --csv 'SELECT count(*) FROM build' 2>>"$err" | sed 1d | tr -d '\r'; }
kept() { holds "$1"; }

# ---- forget ----
cmd 0 cc gcc -DWORD_OUTSIDE -c f.c -o outside.o && "$STEMMA" run -q -- "$STEMMA" cc gcc -DWORD_INSIDE -c f.c 2>"$err" && "$STEMMA" run -q -- "$STEMMA" cc gcc -DWORD_OTHER -c main.c 2>"$err" && [ "$(builds)" = 3 ] && cmd 0 show f.o && says "$out" 'built by' && kept WORD_INSIDE
check 'two builds in runs, one outside'
cmd 0 trust --seal && cmd 0 forget -n '@~1' && says "$out" '1 build made in it' && kept WORD_INSIDE && [ "$(builds)" = 3 ]
check 'a dry run says it'
cmd 0 forget '@~1' && says "$out" '1 build made in it' && [ "$(builds)" = 2 ] && ! kept WORD_INSIDE && kept WORD_OUTSIDE && kept WORD_OTHER && cmd 0 show f.o && says_not "$out" WORD_INSIDE && cmd 0 fsck && cmd 0 index --rebuild && [ "$(builds)" = 2 ]
check 'a run that is forgotten takes the builds that were made in it'
cmd 0 trust --verify --json && json '.sound and .forgotten == 2'
check 'which is no tampering'
cmd 0 forget @ && [ "$(builds)" = 1 ] && kept WORD_OUTSIDE && cmd 0 show outside.o && says "$out" WORD_OUTSIDE
check 'what was compiled outside stays'

# ---- gc ----
rm -rf "$STEMMA_HOME" && fresh
cmd 0 cc gcc -c main.c && cmd 0 cc gcc -c f.c && cmd 0 cc gcc main.o f.o -o prog && cmd 0 cc gcc -g -DWORD_GONE -c f.c -o gone.o && "$STEMMA" cc gcc -DWORD_FAILED -c nosuch.c >"$out" 2>&1
rm -f gone.o main.o && [ "$(builds)" = 5 ] && cmd 0 gc -n --older-than now --json && json '.builds == 2 and .runs == []' && [ "$(builds)" = 5 ] && cmd 0 gc --older-than 90d && says "$err" 'nothing to remove'
check 'a dry run: what made nothing that is there'
cmd 0 gc --older-than now && says "$out" '2 unused builds' && [ "$(builds)" = 3 ] && ! kept WORD_GONE && ! kept WORD_FAILED && cmd 0 show prog && says "$out" 'main.c  source' 'f.c  source' && cmd 0 fsck && cmd 0 gc --older-than now && says "$err" 'nothing to remove'
check 'it goes; an object that is gone stays with the program it is in'
cp -p prog kept && "$STEMMA" run -q -- ./kept 2>"$err" && rm -f prog f.o kept && echo stays >made && cmd 0 gc -n --older-than now --json && json '.builds == 3 and (.runs | length) == 1' && "$STEMMA" run -q -- sh -c './none; cat made >result' 2>"$err"
check 'a run that used it may go, and it may go with the run'
fresh && rm -rf "$STEMMA_HOME" && cmd 0 cc gcc -c main.c f.c && cmd 0 cc gcc main.o f.o -o prog && "$STEMMA" run -q -- sh -c './prog; echo x >result' 2>"$err" && rm -f prog main.o f.o && cmd 0 gc --older-than now --json && json '.builds == 0 and .runs == [] and .kept == 1' && [ "$(builds)" = 2 ]
check 'a program that is gone, and made what is there: its build stays'
rm -f result && cmd 0 gc --older-than now --json && json '.builds == 2 and (.runs | length) == 1' && [ "$(builds)" = 0 ] && cmd 1 log && cmd 0 fsck
check 'and goes with it'
cmd 0 cc gcc -c main.c f.c && [ "$(builds)" = 1 ] && cmd 0 gc --older-than now && [ "$(builds)" = 1 ] && cmd 0 gc --force --older-than now && [ "$(builds)" = 0 ]
check '--force'
rm -rf "$STEMMA_HOME"
for i in 1 2 3 4; do
	"$STEMMA" cc gcc -DN=$i -c f.c -o "o$i.o" && rm "o$i.o"
done
size=$(cat "$STEMMA_HOME"/logs/*/*/*.stl | wc -c)
cmd 0 gc --max-size $((size - 10)) && cmd 0 sql --csv 'SELECT argv FROM build' && says_not "$out" N=1 && says "$out" N=4 && says "$out" N=2
check 'by size: the oldest first, until it fits'
finish
