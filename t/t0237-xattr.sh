#!/bin/sh
# Extended attributes of files: who set them, who read them, and what came from them (run --xattr). The truth is what each
# little program was written to do.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

$PYTHON -c 'import os; open("probe", "w").close(); os.setxattr("probe", "user.x", b"1")' 2>/dev/null || {
	echo "1..0 # SKIP the file system of $T/work has no extended attributes"
	exit 0
}
rm -f probe
sql() { "$STEMMA" sql --csv "$@" 2>>"$err" | tr -d '\r' | sed 1d; }
py() { # STATUS HOW CODE
	want_py=$1 how=$2
	shift 2
	# shellcheck disable=SC2086 # options
	cmd "$want_py" run $how -- $PYTHON -B -S -E -c "import os; $1"
}
# The programs and the objects in the latest lineage, by what a program was told with its comment (# WORD).
words() { json "[.executions[].argv[-1] | sub(\".*# \"; \"\")] | sort == $1"; }
objects() { json "[.entities[].path | select(startswith(\"$T/work/\")) | sub(\".*/work/\"; \"\")] | sort == $1"; }
touch a b c d e

py 0 --xattr 'os.setxattr("a", "user.rate", b"500") # set'
cmd 0 why a//.@user.rate && says "$out" '# set'
check 'who set an attribute'
py 0 --xattr 'v = os.getxattr("a", "user.rate"); os.setxattr("b", "user.rate", v * 2) # copy'
cmd 0 lineage --json b//.@user.rate && words '["copy", "set"]' && objects '["a//.@user.rate", "b//.@user.rate"]'
check 'an attribute came from an attribute of another file'
cmd 0 lineage --json --down a//.@user.rate && objects '["a//.@user.rate", "b//.@user.rate"]'
check '... and down'
py 0 --xattr 'fd = os.open("c", os.O_RDWR); os.setxattr(fd, "user.n", os.getxattr("b", "user.rate")) # fd' && cmd 0 lineage --json c//.@user.n && words '["copy", "fd", "set"]'
check '... set through a descriptor'
ln -s b link
py 0 --xattr 'os.setxattr("d", "user.n", os.getxattr("link", "user.rate")) # link' && cmd 0 lineage --json d//.@user.n && words '["copy", "link", "set"]'
check '... read by the name of a symbolic link'

# what is no use and no change
py 0 --xattr '
for name in ("user.none", "security.capability", "system.posix_acl_access"):
    try: os.getxattr("a", name)
    except OSError: pass
try: os.setxattr("a", "user.rate", b"x", os.XATTR_CREATE)
except OSError: pass
try: os.setxattr("a", "user.none", b"x", os.XATTR_REPLACE)
except OSError: pass
try: os.removexattr("a", "user.none")
except OSError: pass
os.listxattr("a") # nothing'
sql "SELECT count(*) FROM access x JOIN file f ON f.id = x.file JOIN execution e ON e.id = x.execution WHERE f.kind = 'xattr' AND e.argv LIKE '%# nothing%'" >"$out" && is "$out" 0 &&
	sql "SELECT versions FROM file WHERE kind = 'xattr' AND path LIKE '%/a//.@user.rate'" >"$out" && is "$out" 1
check 'attributes that are not there, of the system, calls that fail: nothing of them'
cmd 1 lineage a//.@user.none
check '... and no such object'

# versions
py 0 --xattr 'os.removexattr("a", "user.rate"); os.setxattr("a", "user.rate", b"7") # again'
cmd 0 lineage --json a//.@user.rate && words '["again"]' && json '[.edges[] | select(.type == "wasDerivedFrom")] == []'
check 'what is set anew came from nothing older'
cmd 0 lineage --json 'a//.@user.rate@{1}' && words '["set"]'
check '... and the version before is there'
cmd 0 run --xattr -- $PYTHON -B -S -E -c 'import os, sys
for i in range(2000): os.getxattr("a", "user.rate"); os.setxattr("e", "user.i", b"%d" % i) # loop'
sql "SELECT count(*) FROM access x JOIN file f ON f.id = x.file JOIN execution e ON e.id = x.execution WHERE f.kind = 'xattr' AND e.argv LIKE '%# loop%'" >"$out" && is "$out" 2
check 'what is done again and again is one access, each way'
cmd 0 run --xattr -- sh -c "$PYTHON -B -S -E -c 'import os; os.setxattr(\"e\", \"user.o\", b\"1\") # one' && $PYTHON -B -S -E -c 'import os; os.setxattr(\"e\", \"user.t\", os.getxattr(\"e\", \"user.o\")) # two' && $PYTHON -B -S -E -c 'import os; os.setxattr(\"e\", \"user.o\", b\"3\") # three'"
cmd 0 lineage --json e//.@user.t && words '["one", "two"]'
check 'what is set after it was read is no part of what came from it'
py 137 --xattr 'import signal; os.setxattr("e", "user.k", b"1"); os.kill(os.getpid(), 9) # killed' && cmd 0 why e//.@user.k && says "$out" '# killed'
check 'what a killed program set'

# attributes and what files hold: either may have come from the other, and neither stands for the other
echo data >plain
py 0 --xattr 'os.setxattr("plain", "user.tag", b"x") # tag'
py 0 --xattr 'v = open("plain").read() + str(os.getxattr("plain", "user.tag")); open("out", "w").write(v); os.setxattr("out", "user.sum", b"y") # both'
cmd 0 lineage --json out && words '["both", "tag"]' && objects '["out", "plain", "plain//.@user.tag"]'
check 'a file came from a file and from its attribute'
cmd 0 lineage --json out//.@user.sum && words '["both", "tag"]' && objects '["out//.@user.sum", "plain", "plain//.@user.tag"]'
check 'an attribute came from both'
mv plain moved && cmd 0 run --xattr -- true && cmd 0 why moved//.@user.tag && says "$out" '# tag'
check 'a file that is moved keeps its attributes'
mv moved plain
cmd 0 run --xattr -- cp -a plain copied
if $PYTHON -c 'import os; os.getxattr("copied", "user.tag")' 2>/dev/null; then
	cmd 0 lineage --json copied//.@user.tag && json '[.executions[].argv[-1] | sub(".*# "; "")] | sort == ["copied", "tag"]'
	check 'cp -a copies attributes'
else
	skip 'cp -a copies attributes' 'this one does not'
fi

# however it is recorded
for how in '--xattr --transport=trace' '--xattr --exact'; do
	if [ "$how" = '--xattr --exact' ] || "$STEMMA" doctor 2>/dev/null | grep -q '^ptrace.* ok'; then
		word=$(echo "${how##*--}" | tr -d =)
		py 0 "$how" "os.setxattr('d', 'user.$word', os.getxattr('a', 'user.rate')) # $word" && cmd 0 lineage --json "d//.@user.$word" && words "[\"again\", \"$word\"]"
		check "$how"
	else
		skip "$how" 'no ptrace here'
	fi
done
cmd 0 run --xattr --capture=tree -- true && sql "SELECT text FROM gap WHERE run = (SELECT max(id) FROM run)" >"$out" && says "$out" 'extended attributes are not recorded'
check 'where no call is stopped, that is said'
py 0 '' 'os.setxattr("d", "user.off", b"1") # off' && cmd 1 why d//.@user.off && STEMMA_XATTR=on py 0 '' 'os.setxattr("d", "user.off", b"2") # on' && cmd 0 why d//.@user.off && says "$out" '# on'
check 'off, and the setting'

# the same whatever is read when; forget
list="SELECT path, versions FROM file WHERE kind = 'xattr' ORDER BY path, pub"
cmd 0 sql --csv "$list" && cp "$out" "$T/before" && cmd 0 index --rebuild && cmd 0 sql --csv "$list" && cmp "$T/before" "$out" >>"$err" && [ "$(wc -l <"$out")" -gt 10 ]
check 'a rebuilt index is the same'
cmd 0 export --format provio b//.@user.rate && says "$out" 'a provio:Attribute' 'b//.@user.rate'
check 'PROV-IO: an Attribute'
cmd 0 forget plain && ! holds plain// && cmd 1 why plain//.@user.tag && cmd 0 why out//.@user.sum
check 'what belongs to a file that is forgotten goes with it'
finish
