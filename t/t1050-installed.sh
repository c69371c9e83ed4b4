#!/bin/sh
# What is installed is found: the libraries by which programs tell of themselves, from a prefix that nobody has told the
# dynamic linker of, in Python, Java and C, by pkg-config and CMake, as a shared and as a static library. Where one is
# missing, `stemma run` says so, once.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
command -v meson >/dev/null || {
	echo "1..0 # SKIP no meson to install by"
	exit
}
# meson writes down there what it installed, wherever to.
[ -w "$BUILD/meson-logs" ] || {
	echo "1..0 # SKIP the build folder is another user's, and meson install writes to it"
	exit
}
unset PYTHONPATH LD_LIBRARY_PATH PKG_CONFIG_PATH
export PYTHONDONTWRITEBYTECODE=1
meson install -C "$BUILD" --no-rebuild --quiet --destdir "$T/dest" >"$out" 2>"$err" &&
	prefix=$(find "$T/dest" -path '*/bin/stemma') && prefix=${prefix%/bin/stemma} && [ -x "$prefix/bin/stemma" ]
check 'it is installed'
libdir=$(find "$prefix" -name libstemma-app.so.1) libdir=${libdir%/*}
python=$prefix/share/stemma/python
STEMMA=$prefix/bin/stemma
fresh()
{
	rm -rf "$STEMMA_HOME"
}
# told TEXT: the record's words, one a line.
told()
{
	cmd 0 sql --csv "SELECT kind || ' ' || name || ' ' || coalesce(value, number) AS words FROM annotation ORDER BY kind, name, number" && tr -d '\r' <"$out" >"$T/words" && is "$T/words" "words
$1"
}
cat >train.py <<'END'
import stemma
stemma.config('rate', 0.25)
stemma.metric('loss', 0.5)
stemma.metric('loss', 0.25)
print('trained')
END
words='config rate 0.25
metric loss 0.25
metric loss 0.5'
cat >quiet.py <<'END'
import stemma
assert isinstance(stemma.present(), bool)
END

fresh && PYTHONPATH=$python cmd 0 run -- $PYTHON train.py && is "$out" trained && ! [ -s "$err" ] && told "$words"
check 'Python: stemma run says where the library is'
fresh && PYTHONPATH=$python cmd 0 run -- env -u STEMMA_APP_LIBRARY $PYTHON train.py && ! [ -s "$err" ] && told "$words"
check 'Python: the package finds it from where it lies'
cp -r "$python/stemma" "$T/vendored" && rm -f "$T/vendored/_installed.py" && mkdir "$T/own" && mv "$T/vendored" "$T/own/stemma" &&
	fresh && PYTHONPATH=$T/own cmd 0 run -- $PYTHON train.py && ! [ -s "$err" ] && told "$words"
check 'Python: so does a copy of the package elsewhere'
mv "$T/dest" "$T/moved" && fresh && STEMMA=$T/moved${STEMMA#"$T/dest"} PYTHONPATH=$T/moved${python#"$T/dest"} cmd 0 run -- $PYTHON train.py && ! [ -s "$err" ] &&
	STEMMA=$T/moved${STEMMA#"$T/dest"} told "$words"
check 'a prefix that was moved'
mv "$T/moved" "$T/dest"
cat >reads.py <<'END'
from stemma.record import Record
with Record() as record:
    print(len(record.runs()))
END
fresh && cmd 0 run -- true && PYTHONPATH=$python $PYTHON reads.py >"$out" 2>"$err" && is "$out" 1
check 'Python: the package that reads a record finds its library, too'
fresh && STEMMA_APP_LIBRARY=$libdir/libstemma-app.so.1 cmd 0 run -- sh -c 'echo "$STEMMA_APP_LIBRARY"' && is "$out" "$libdir/libstemma-app.so.1" &&
	STEMMA_APP_LIBRARY=/own/choice cmd 0 run -- sh -c 'echo "$STEMMA_APP_LIBRARY"' && is "$out" /own/choice && cmd 0 export -f prov-n @ && says "$out" PATH= && says_not "$out" STEMMA_APP_LIBRARY=
check "the user's own choice of a library stays, and none of it is recorded as the command's environment"

# ---- missing libraries
jar=$prefix/share/java/stemma-app.jar
java=
if [ -f "$jar" ] && command -v javac >/dev/null && command -v java >/dev/null; then
	cat >Tells.java <<'END'
import org.stemma.App;
public class Tells {
    public static void main(String[] args) {
        App.config("rate", 0.25);
        App.metric("loss", 0.5);
        System.out.println("told");
    }
}
END
	java='java -Xshare:auto -XX:TieredStopAtLevel=1 -Xmx256m -cp'
	javac -cp "$jar" -d classes Tells.java >"$out" 2>"$err" && fresh && cmd 0 run -- $java "$jar:classes" Tells && is "$out" told && ! [ -s "$err" ] && told 'config rate 0.25
metric loss 0.5'
	check 'Java: stemma run says where the library is'
else
	skip 'Java: stemma run says where the library is' 'no Java, or the library for it was not built'
fi
elsewhere=$("$PYTHON" -c '
import ctypes, sys
for name in sys.argv[1:]:
    try:
        ctypes.CDLL(name)
        print(name)
    except OSError:
        pass' libstemma-app.so.1 "${libdir#"$T/dest"}/libstemma-app.so.1" "${libdir#"$T/dest"}/libstemma-app-jni.so")
if [ -n "$elsewhere" ]; then
	skip 'a library that is missing' "this machine has stemma installed: $elsewhere"
else
	mkdir "$T/put-away" && mv "$libdir"/libstemma-app* "$T/put-away/"
	lacks='stemma: annotations of a Python program are not recorded: libstemma-app was not found (set STEMMA_APP_LIBRARY to its path)'
	fresh && PYTHONPATH=$python cmd 7 run -- sh -c "$PYTHON train.py; $PYTHON train.py & wait; $PYTHON train.py; exit 7" && is "$out" 'trained
trained
trained' && is "$err" "$lacks" && cmd 0 show @ && says "$out" 'it did not find the library' && cmd 0 sql --csv 'SELECT reason, text FROM gap' && says "$out" 'untold,Python: libstemma-app was not found' && lines "$out" 2 && cmd 1 table
	check 'Python: three programs without it are said once, and stand in the record'
	fresh && PYTHONPATH=$python cmd 0 run -q -- $PYTHON train.py && ! [ -s "$err" ] && PYTHONPATH=$python cmd 0 run -- $PYTHON quiet.py && ! [ -s "$err" ] && cmd 0 show --json @ && ! grep -q untold "$out"
	check 'nothing is said with -q, nor of a program that says nothing'
	for way in --capture=safe --transport=trace --transport=proc --capture=tree --capture=off; do
		fresh && PYTHONPATH=$python cmd 0 run $way -- $PYTHON train.py && says "$err" "$lacks"
		check "so it is with $way"
	done
	if [ -n "$java" ]; then
		fresh && cmd 0 run -- sh -c "$java $jar:classes Tells; $java $jar:classes Tells" && is "$out" 'told
told' && [ "$(grep -c 'libstemma-app-jni was not found' "$err")" = 1 ]
		check 'Java: the same'
	else
		skip 'Java: the same' 'no Java, or the library for it was not built'
	fi
	mkdir empty && cd empty && for where in garbage :x /nowhere/at/all:x "$T/work/empty" ''; do
		STEMMA_APP=$where PYTHONPATH=$python $PYTHON ../train.py >"$out" 2>"$err" && is "$out" trained && ! [ -s "$err" ] || break
	done && [ -z "$(ls)" ] && cd ..
	check 'outside of a run no file is made'
	cd "$T/work" || exit 1
	mv "$T"/put-away/libstemma-app* "$libdir/"
fi
# Whatever the channel's folder holds in the mark's place ends neither the run nor its record.
fresh && cmd 0 run -- sh -c 'mkdir "${STEMMA_APP%:*}/no-library-python"; ln -s /etc "${STEMMA_APP%:*}/no-library-java"; echo done' && is "$out" done && [ -d /etc ] && cmd 0 show @
check 'a folder and a link in the place of marks'

# ---- C
cat >tells.c <<'END'
#include <stemma/app.h>
#include <stdio.h>
int main(void)
{
	stemma_app_config("rate", "0.25", NULL);
	stemma_app_metric("loss", 0.5, STEMMA_APP_NO_STEP);
	puts("told");
	return 0;
}
END
c_words='config rate 0.25
metric loss 0.5'
if command -v cc >/dev/null && command -v pkg-config >/dev/null; then
	export PKG_CONFIG_PATH="$libdir/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$T/dest"
	# shellcheck disable=SC2046 # words
	cc -o shared tells.c $(pkg-config --cflags --libs stemma-app) >"$out" 2>"$err" && fresh && LD_LIBRARY_PATH=$libdir cmd 0 run -- ./shared && is "$out" told && told "$c_words"
	check 'C: by pkg-config'
	# shellcheck disable=SC2046
	cc -o static tells.c $(pkg-config --cflags stemma-app) "$libdir/libstemma-app.a" >"$out" 2>"$err" && fresh && cmd 0 run -- ./static && is "$out" told && told "$c_words" && ./static >"$out" && is "$out" told
	check 'C: the static library, which needs nothing at run time'
else
	skip 'C: by pkg-config' 'no cc or no pkg-config'
	skip 'C: the static library, which needs nothing at run time' 'no cc or no pkg-config'
fi
if command -v cmake >/dev/null && command -v cc >/dev/null && command -v make >/dev/null; then
	mkdir cm && cat >cm/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.13)
project(tells C)
find_package(stemma-app 2 QUIET)
if(stemma-app_FOUND)
  message(FATAL_ERROR "version 2 is there")
endif()
find_package(stemma-app 1.0 REQUIRED)
find_package(stemma-app REQUIRED)
if(NOT EXISTS "${stemma-app_FORTRAN_SOURCE}")
  message(FATAL_ERROR "no Fortran source at '${stemma-app_FORTRAN_SOURCE}'")
endif()
add_executable(by_shared ../tells.c)
target_link_libraries(by_shared PRIVATE stemma::app)
add_executable(by_static ../tells.c)
target_link_libraries(by_static PRIVATE stemma::app_static)
END
	cmake -S cm -B cm/build -DCMAKE_PREFIX_PATH="$prefix" >"$out" 2>"$err" && cmake --build cm/build >"$out" 2>"$err" &&
		fresh && cmd 0 run -- cm/build/by_shared && told "$c_words" && fresh && cmd 0 run -- cm/build/by_static && told "$c_words"
	check 'C: by CMake, both libraries'
else
	skip 'C: by CMake, both libraries' 'no cmake, cc or make'
fi
finish
