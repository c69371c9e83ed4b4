#!/bin/sh
# cc: whole builds, by make, CMake and a configure script, with ccache before and behind, and inside a recorded run.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=t/cc.sh
. "$here/t/cc.sh"

mkdir -p "$T/src" "$T/bin"
cd "$T/src" || exit 1
cat >main.c <<'END'
#include <stdio.h>
#include "gen.h"
int part(void);
int main(void) { printf("%d\n", part() + GENERATED); return 0; }
END
echo 'int part(void) { return 40; }' >part.c
cat >gen.c <<'END'
#include <stdio.h>
int main(void) { puts("#define GENERATED 2"); return 0; }
END
cat >Makefile <<'END'
prog: main.o libpart.a
	$(CC) -o $@ main.o -L. -lpart
main.o: gen.h
gen.h: gen
	./gen >$@
gen: gen.c
	$(CC) -o $@ $<
libpart.a: part.o
	ar rcsD $@ $<
.c.o:
	$(CC) -O1 -MMD -c -o $@ $<
clean:
	rm -f *.o *.a *.d gen gen.h prog
-include *.d
END
cat >CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.10)
project(small C)
add_library(part STATIC part.c)
add_executable(gen gen.c)
add_custom_command(OUTPUT gen.h COMMAND gen > gen.h DEPENDS gen)
add_executable(prog main.c gen.h)
target_include_directories(prog PRIVATE ${CMAKE_CURRENT_BINARY_DIR})
target_link_libraries(prog part)
END
cat >configure <<'END'
#!/bin/sh
# what a configure script asks of a compiler
set -e
CC=${CC:-cc}
$CC --version >/dev/null
echo 'int main(void) { return 0; }' >conftest.c
$CC -o conftest conftest.c
./conftest
echo '#include <no_such_header.h>' >conftest.c
if $CC -E conftest.c >/dev/null 2>&1; then echo odd; exit 1; fi
echo 'char no_such_function(void); int main(void) { return no_such_function(); }' >conftest.c
if $CC -o conftest conftest.c 2>/dev/null; then echo odd; exit 1; fi
rm -f conftest*
sed "s|\$(CC)|$CC|" Makefile >Makefile.made
END
chmod +x configure

same_tree()
{
	diff -r "$T/direct" "$T/x" >"$T/differs" || {
		cat "$T/differs" >>"$err"
		return 1
	}
}

# make, in parallel
fresh && make -j2 CC=gcc >"$T/direct.out" 2>&1 && cd "$T" && rm -rf direct && mv x direct && fresh && make -j2 CC="$STEMMA cc gcc" >"$out" 2>"$err" && same_tree && ./prog >"$out" && is "$out" 42
check 'make: the same files'
cmd 0 show prog && says "$out" 'built by     gcc -o prog main.o -L. -lpart' '  main.c  source' '  gen.h  header' && json_prog=$("$STEMMA" show --json prog) && printf '%s' "$json_prog" >"$out" && json '[.things[0].from[] | select(.role == "source") | .path | sub(".*/"; "")] | sort == ["main.c", "part.c"]' && json '[.things[0].inputs[] | select(.role == "archive") | .path | sub(".*/"; "")][0] == "libpart.a"'
check 'the program leads to the source behind its object'
cmd 0 sql --csv "SELECT count(*) FROM build WHERE cwd = '$T/x'" && says "$out" 4
check 'a record for each command'
cmd 0 show libpart.a; says_not "$out" 'built by'; cmd 0 show part.o && says "$out" 'built by' 'part.c  source'
check 'objects, too'
fresh && ./configure >"$out" 2>"$err" && fresh && CC="$STEMMA cc gcc" ./configure >"$out" 2>"$err" && make -f Makefile.made >>"$out" 2>>"$err" && ./prog >"$out" && is "$out" 42
check 'a configure script finds what it found without'
cmd 0 sql --csv "SELECT count(*) FROM build WHERE argv LIKE '%conftest%' AND code <> 0" && says "$out" 2
check 'its failed attempts are records, too'

if command -v cmake >/dev/null; then
	for how in launcher word link; do
		fresh
		case $how in
		launcher) set -- -DCMAKE_C_COMPILER=gcc "-DCMAKE_C_COMPILER_LAUNCHER=$STEMMA;cc" "-DCMAKE_C_LINKER_LAUNCHER=$STEMMA;cc" ;;
		word) set -- ; CC="$STEMMA cc gcc"; export CC ;;
		link) ln -sf "$STEMMA" "$T/bin/stemma-gcc"; set -- "-DCMAKE_C_COMPILER=$T/bin/stemma-gcc" ;;
		esac
		cmake -S . -B b "$@" >"$out" 2>"$err" && cmake --build b >>"$out" 2>>"$err" && ./b/prog >"$out" && is "$out" 42 && cmd 0 show b/prog && says "$out" 'main.c  source'
		check "CMake: as $how"
		unset CC
	done
else
	skip 'CMake' 'no cmake here'
fi

if command -v ccache >/dev/null; then
	export CCACHE_DIR="$T/ccache" CCACHE_NODIRECT=
	unset CCACHE_NODIRECT
	fresh && cmd 0 cc ccache gcc -c main.c; fresh && (cd "$T/src" && echo '#define GENERATED 2' >gen.h); fresh
	cmd 0 cc ccache gcc -c main.c && cp main.o "$T/first.o" && latest gaps && is "$out" '' && roles header && says "$out" "$T/x/gen.h" /usr/include/stdio.h && latest version && says "$out" "$(gcc --version | head -n 1)"
	check 'ccache behind: what it compiles is seen'
	rm main.o && cmd 0 cc ccache gcc -c main.c && cmp main.o "$T/first.o" && latest gaps && is "$out" cached && roles source && is "$out" "$T/x/main.c"
	check 'what it had is said to be from a cache'
	cmd 0 show main.o && says_not "$out" 'is a cache' && says "$out" 'gen.h  header' 'also by'
	check 'and the object leads to the record of when it was made'
	outputs && is "$out" "$T/x/main.o"
	check 'the books of ccache are no output'
	"$STEMMA" sql --csv 'SELECT count(*) FROM build' | sed 1d | tr -d '\r' >"$T/before"
	CCACHE_DIR=$T/ccache2
	ln -sf "$STEMMA" "$T/bin/stemma-cc"
	fresh && CCACHE_PREFIX=$T/bin/stemma-cc ccache gcc -c part.c >"$out" 2>"$err" && "$STEMMA" sql --csv 'SELECT count(*) FROM build' | sed 1d | tr -d '\r' >"$T/after" && [ "$(cat "$T/after")" -gt "$(cat "$T/before")" ] && cmd 0 show part.o && says "$out" 'part.c  source'
	check 'ccache in front: what it compiles is recorded'
	cp "$T/after" "$T/before" && rm part.o && CCACHE_PREFIX=$T/bin/stemma-cc ccache gcc -c part.c >"$out" 2>"$err" && "$STEMMA" sql --csv 'SELECT count(*) FROM build' | sed 1d | tr -d '\r' | cmp - "$T/before" && cmd 0 show part.o && says "$out" 'part.c  source'
	check 'and what it had is found by its bytes'
	unset CCACHE_DIR
	# The project lies below a folder of that name; the cache's own is where its configuration, or nobody, says.
	mkdir -p "$T/ccache/sccache" "$T/conf/ccache" "$T/books"
	for how in configured variable default; do
		case $how in
		configured) printf '# %s\n cache_dir = $BOOKS/of a cache\n' 'where it is' >"$T/conf/ccache/ccache.conf"; set -- BOOKS="$T/books" XDG_CONFIG_HOME="$T/conf" ;;
		variable) set -- CCACHE_DIR="$T/books/v" ;;
		default) set -- HOME="$T/books" XDG_CACHE_HOME="$T/books/x" ;;
		esac
		fresh && mv "$T/x" "$T/ccache/sccache/x" && cd "$T/ccache/sccache/x" || exit 1
		env -u CCACHE_DIR "$@" "$STEMMA" cc ccache gcc -c main.c 2>"$err" && roles source && is "$out" "$PWD/main.c" && roles header && says "$out" "$PWD/gen.h" && outputs && is "$out" "$PWD/main.o" && env "$@" "$STEMMA" cc ccache gcc -c main.c && latest gaps && is "$out" cached && roles source && is "$out" "$PWD/main.c" && outputs && is "$out" "$PWD/main.o" && roles header && says_not "$out" "$T/books" && [ -n "$(find "$T/books" -name CACHEDIR.TAG)" ]
		check "a project below a folder called ccache; the cache's own: $how"
		cd "$T" && rm -rf "$T/ccache/sccache/x" "$T/books" && mkdir "$T/books" || exit 1
	done
	rm -f "$T/src/gen.h"
else
	skip 'ccache' 'no ccache here'
fi

# git
if command -v git >/dev/null; then
	fresh
	git init -q . && git add -A && git -c user.name=a -c user.email=a@b.invalid commit -q -m one
	commit=$(git rev-parse HEAD)
	cmd 0 cc gcc -o gen gen.c && latest git_commit,git_state && is "$out" "$commit,clean"
	check 'git: the commit'
	echo '/* more */' >>part.c && cmd 0 cc gcc -o gen gen.c && latest git_commit,git_state && is "$out" "$commit,dirty" && cmd 0 show gen && says "$out" "$commit, with changes"
	check 'with changes'
	# Compiling: git is not asked each time, and what it said holds no longer than nothing has changed. The truth is git's.
	state() { latest git_state && cat "$out"; }
	# clean: what was read is as committed; dirty: something is not.
	lies() { { [ "$1" = clean ] && [ -n "$(git status --porcelain -uno gen.c)" ]; } || { [ "$1" = dirty ] && [ -z "$(git status --porcelain -uno)" ]; }; }
	git checkout -q part.c && rm -rf "$STEMMA_HOME/trees" && sleep 0.3 && printf '#!/bin/sh\necho asked >>"%s"\nexec "%s" "$@"\n' "$T/asked" "$(command -v git)" >"$T/bin/git" && chmod +x "$T/bin/git" && : >"$T/asked"
	good=1
	for change in : ':' 'echo "/* a */" >>part.c' ':' 'echo "/* a */" >>gen.c' ':' 'git checkout -q gen.c' 'git checkout -q part.c' ':' 'rm part.c' 'git checkout -q part.c' 'echo "/* b */" >>main.c; git add main.c' 'git reset -q --hard' 'echo "#define X" >>Makefile' ':' 'git reset -q --hard' 'git -c user.name=a -c user.email=a@b.invalid commit -q --allow-empty -m two'; do
		eval "$change"
		PATH=$T/bin:$PATH cmd 0 cc gcc -c gen.c && said=$(state) && ! lies "$said" || good=
		echo "$change: $said" >>"$T/states"
	done
	sort "$T/states" | uniq -c >"$out"
	[ $good ]
	check 'compiling: never what git does not say'
	rm -rf "$STEMMA_HOME/trees" && sleep 0.3 && : >"$T/asked"
	for _ in 1 2 3 4 5 6 7 8; do PATH=$T/bin:$PATH cmd 0 cc gcc -c gen.c && [ "$(state)" = clean ] || good=; done
	[ $good ] && lines "$T/asked" 1
	check 'a tree as committed is asked of git once'
	echo '/* c */' >>gen.c && sleep 0.3 && PATH=$T/bin:$PATH cmd 0 cc gcc -c gen.c && [ "$(state)" != clean ] && rm -rf "$STEMMA_HOME/trees" && : >"$T/asked" && for _ in 1 2 3 4 5; do PATH=$T/bin:$PATH cmd 0 cc gcc -c gen.c && [ "$(state)" = dirty ] || good=; done
	[ $good ] && lines "$T/asked" 1 && git checkout -q gen.c && PATH=$T/bin:$PATH cmd 0 cc gcc -c gen.c && [ "$(state)" != dirty ]
	check 'and one with changes'
	git checkout -q . && commit=$(git rev-parse HEAD)
	git pack-refs --all && cmd 0 cc gcc -c gen.c && latest git_commit && is "$out" "$commit" && git checkout -q --detach && cmd 0 cc gcc -c gen.c && latest git_commit && is "$out" "$commit" && git worktree add -q "$T/tree" 2>>"$err" && cd "$T/tree" && cmd 0 cc gcc -o gen gen.c && latest git_commit,git_state && is "$out" "$commit,clean"
	check 'packed references, no branch, a work tree'
	mkdir "$T/empty" && cd "$T/empty" && git init -q . && cp "$T/src/gen.c" . && cmd 0 cc gcc -o gen gen.c && latest git_commit,git_state && is "$out" ','
	check 'a repository without a commit'
	cd "$T/x" || exit 1
else
	skip 'git' 'no git here'
fi

# Inside a run
for mode in complete safe; do
	fresh
	if cmd 0 run --capture=$mode -- make CC="$STEMMA cc gcc" && ./prog >"$out" && is "$out" 42; then
		cmd 0 lineage prog && says "$out" main.c part.c && says_not "$out" memfd && latest gaps,execution && says "$out" ',x' && cmd 0 show prog && says "$out" 'run          01' 'main.c  source'
		check "inside a run ($mode): both records, and one leads to the other"
	else
		cat "$err" >"$T/why"
		check "inside a run ($mode)"
	fi
done
finish
