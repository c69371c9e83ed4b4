#!/bin/sh
# Names as they come: control characters, invalid UTF-8, long paths, directories, files that are gone or replaced, versions.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

history <<'END'
h = History('01AAAAAAAAAAAAAAAAAAAAAAAA', argv=[b'./odd\xff.sh', 'a\nb', 'it\'s', '\x1b[31m'])
p = h.process(); h.exec(p, ['odd', b'x\xff', 'a\nb', 'it\'s', '$(rm)'], exe='/usr/bin/odd')
names = ['/w/new\nline', b'/w/bad\xff\xfe', '/w/esc\x1b[31mred', '/w/back\\slash', '/w/\u00fc\u202egnp', '/w/x@{2}', '/w/x',
         '/w/sp ace', '/w/7@1', '/w/@', '/w/abcd', '/' + '/'.join(['d' * 200] * 20) + '/' + 'e' * 70]
for name in names:
    h.read(p, h.file(name, size=1))
h.write(p, h.file('/w/x'), size=2, mode=WRITE | TRUNC)
h.write(p, h.file('/w/made'), size=3)
h.exit(p); h.end(); h.save(home, evtext)
END
cmd 1 why '/w/new
line' && lines "$out" 1 && says "$out" '/w/new\nline@{1}: external, first observed'
check 'a line feed in a name stays within its line'
cmd 1 why "$(printf '/w/bad\377\376')" && says "$out" '/w/bad\xff\xfe@{1}:'
check 'invalid UTF-8'
cmd 1 why "$(printf '/w/esc\033[31mred')" && says "$out" '/w/esc\x1b[31mred@{1}:' && ! grep -q "$(printf '\033')" "$out"
check 'an escape sequence never reaches the terminal'
cmd 1 why '/w/back\slash' && says "$out" '/w/back\\slash@{1}:'
check 'a backslash is doubled'
cmd 1 why "$(printf '/w/\303\274\342\200\256gnp')" && says "$out" "$(printf '/w/\303\274')\\xe2\\x80\\xaegnp@{1}"
check 'marks of direction are escaped, letters are not'
long=$($PYTHON -c "print('/' + '/'.join(['d' * 200] * 20) + '/' + 'e' * 70)")
cmd 1 why "$long" && says "$out" 'eeee@{1}: external' && lines "$out" 1
check "a path of ${#long} bytes"
huge=$($PYTHON -c "print('/x' * 60000)")
cmd 1 why "$huge" && [ ! -s "$out" ] && says "$err" 'does not exist'
check 'a path that no system call takes'
cmd 1 why '' && cmd 1 lineage . && says "$err" 'is a directory' && cmd 1 lineage / && says "$err" 'is a directory' && cmd 1 show .
check 'the empty name and directories are refused'
cmd 1 why "$(printf 'no\033such')" && says "$err" 'no\x1bsuch' && ! grep -q "$(printf '\033')" "$err"
check 'names in messages are escaped too'
cmd 0 lineage --json /w/made && json '[.entities[] | select(.path_base64 == "L3cvYmFk//4=") | .path == "/w/bad\ufffd\ufffd"] | length == 1 and all' &&
	json '.executions[0] | .argv[1] == "x\ufffd" and .argv_base64[1] == "eP8=" and .argv_base64[0] == "b2Rk"'
check 'the JSON has them exactly'
json '[.entities[] | select(.path == "/w/new\nline") | has("path_base64")] == [false]'
check 'and no twin where none is needed'
cmd 0 log && lines "$out" 2 && says "$out" "\$'odd\\xff.sh' \$'a\\nb'"
check 'a command line as a shell would take it'
cmd 0 lineage --format dot /w/made && ! grep -q "$(printf '\033')" "$out" && says "$out" '/w/back\\\\slash'
check 'labels of the picture'
cmd 0 lineage --format svg /w/made && says "$out" '</svg>' && ! grep -q "$(printf '\033')" "$out"
check 'the drawn one takes them'

cmd 0 why '/w/x@{2}' && says "$out" '/w/x@{2}: made by odd'
check 'FILE@{N} is a version'
cmd 1 why '/w/x@{1}' && says "$out" '/w/x@{1}: external'
check 'the first one'
cmd 1 why '/w/x@{2}@{1}' && says "$out" '/w/x@{2}@{1}: external'
check 'a file that is called like a version, and its version'
cmd 1 why '/w/made@{9}' && says "$err" "no version 9; its versions are 1 to 1" && cmd 1 why '/w/made@{0}' && cmd 1 why '/w/made@{99999999999999999999}' &&
	cmd 1 why '/w/made@{1' && cmd 1 why '/w/made@{}' && cmd 1 why '@{1}'
check 'versions that are not there'
cmd 0 why '/w/made@1' && says "$out" '/w/made@{1}' && cmd 1 why '/w/7@1' && says "$out" '/w/7@1@{1}'
check 'FILE@N, unless a file is called so'
cmd 0 show @ && says "$out" 'run ' && cmd 0 show -- /w/@ && says "$out" 'file '
check '-- separates runs from files'
cmd 0 show AAAA && says "$out" 'run ' && cmd 0 show 01AAAA && cmd 1 show ZZZZ && cmd 1 show @~1 && says "$err" "there is no run '@~1'" && cmd 1 show -- @
check 'runs by the ends of their ids'
cmd 0 show --json /w/made && id=$(jq -r '.things[0].id' "$out") v=$(jq -r '.things[0].versions[0].id' "$out") x=$(jq -r '.things[0].versions[0].wasGeneratedBy[0].id' "$out") &&
	cmd 0 show "$id" && says "$out" '/w/made' && cmd 0 lineage "$v" && says "$out" '/w/made@{1}' && cmd 0 show "$x" && says "$out" 'odd' &&
	cmd 0 why "$(echo "$v" | cut -c1-12)" && cmd 1 show v0123456789abcdef01234567 && cmd 1 show "${x}0"
check 'public ids, and their beginnings'

# Files on disk: found by what they are, not by what they are called.
cd "$T/work" || exit 1
echo 12 >here; echo 1 >other; ln -s here link
if "$STEMMA" run -- sh -c 'cat here >copy; cat other >late' >"$out" 2>"$err"; then
	cmd 0 why copy && says "$out" 'copy@{1}: made by cat here'
	check 'a relative name'
	cmd 1 why link && says "$out" 'here@{1}: external'
	check 'a symbolic link stands for its file'
	mv copy moved && cmd 0 why moved && says "$out" 'made by cat here'
	check 'a file that was renamed where nobody saw it'
	rm moved && cmd 0 why copy && says "$out" 'copy@{1}: made by cat here'
	check 'a file that is gone'
	mkdir sub && (cd sub && cmd 0 why ../copy && cmd 0 why "$PWD/../../work/./copy" && cmd 0 why ../nosuch/../copy)
	check 'names with dots in them'
	sleep 0.01; echo more >>late && cmd 0 why late && says "$out" 'CHANGED on disk since then' && cmd 0 why 'late@{1}' && says_not "$out" 'CHANGED'
	check 'a file that has changed since'
	rm late; echo new >keep; echo other >late; cmd 0 why late && says "$out" 'ANOTHER file has this name now'
	check 'another file of the same name'
	(cd / && rmdir "$T/work/sub" && mkdir "$T/gone" && cd "$T/gone" && rmdir "$T/gone" && cmd 0 why "$T/work/late" && cmd 1 why late)
	check 'a working directory that is gone'
else
	skip 'files on disk' "nothing can be recorded here: $(head -n 1 "$err")"
fi
finish
