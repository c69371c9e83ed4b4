#!/bin/sh
# What runs the pages, and what measures them, finds what is wrong: an output that is not the shown one, a command that never ends, a
# long sentence, a page that is hard to read.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

page() # STATUS: page.py on the page on standard input
{
	cat >"$T/page.md"
	rm -rf "$T/page"
	$PYTHON -B "$here/t/page.py" "$STEMMA" "$T/page" "$T/page.md" >"$out" 2>"$err"
	[ $? = "$1" ]
}
readable() # STATUS EASE WORDS LINES
{
	want=$1
	shift
	cat >"$T/page.md"
	$PYTHON -B "$here/t/readable.py" "$@" "$T/page.md" >"$out" 2>"$err"
	[ $? = "$want" ]
}

page 0 <<'END'
<!-- file: in.txt -->
```
one
two
```

```console
$ cat in.txt
one
two
$ n=3
$ echo "$n at 2026-11-21T14:23:14 took 137 ms; also this"; ls /nosuch 2>/dev/null; echo $?
3 at 2020-01-01T00:00:00Z took 2.5 s; …
2
$ seq 100
1
…
100
```
END
says "$out" 'ok 4' '1..4'
check 'what is printed is shown; times, durations and what the page leaves out do not count'
page 1 <<'END'
```console
$ echo one
two
$ echo three
```
END
says "$out" 'not ok 1 -' '# shown: two' '# real: one' 'not ok 2 -' '# real: three'
check 'another output, and one that is not shown'
page 1 <<'END'
```console
$ echo 3 files
4 files
```
END
check 'a number that is not one of what varies'
page 1 <<'END'
```console
$ exit 0
$ echo more
more
```
END
says "$out" '(not reached)'
check 'a command that is not reached'
page 0 <<'END'
<!-- not run: it needs a cluster -->
```console
$ false
```
<!-- needs: no-such-program-here -->
```console
$ no-such-program-here
```
END
says "$out" 'SKIP it needs a cluster' 'SKIP it needs no-such-program-here' '1..2'
check 'what is not run is reported with its reason'
printf 'A dog ran home. It ate.\n' | readable 0 50 35 150
check 'a page that is easy'
printf 'Organizational considerations necessitate comprehensive administrative reconsideration.\n' | readable 1 50 35 150 && says "$out" 'not ok'
check 'one that is hard'
printf 'A dog%s.\n' "$(printf ' ran and%.0s' 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18)" | readable 1 50 35 150 && says "$out" 'longest sentence 38'
check 'a sentence that is long'
printf 'A dog ran home.\n\n\n' | readable 1 50 35 2 && says "$out" '3 lines'
check 'a page that is long'
finish
