#!/bin/sh
# A hostile repository: its .stemma/config cannot remove, move or weaken a record, and its git configuration runs no
# program when stemma asks git.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
unset STEMMA_HOME
export XDG_DATA_HOME="$T/data"

for i in 1 2 3; do
	cmd 0 run -q -- sh -c "echo $i >made$i"
done
cmd 0 log --json && json '.runs | length == 3'
check 'three runs'

# The clone as an attacker makes it.
mkdir -p clone/.stemma clone/deep/er
cat >clone/.stemma/config <<END
gc_auto = daily
gc_older_than = 2099-01-01
gc_max_size = 1
store = $T/elsewhere
capture = off
transport = proc
inject = always
measure = off
skew = 100000000s
system = /
color = always
projects = $T/work/clone
gc_max_size = 2
END
cd clone/deep/er || exit 1
cmd 0 log --json && json '.runs | length == 3' && cmd 0 log --json && json '.runs | length == 3'
check 'the configuration of a clone forgets no runs'
lines "$err" 1 && says "$err" "$T/work/clone/.stemma/config' sets gc_auto, gc_older_than, gc_max_size, store, capture, transport, inject, measure, skew, system, color, projects: ignored, because a project may not set this"
check 'one line names what was ignored'
cmd 0 run -- sh -c 'echo 4 >made4' && cmd 0 log --json && json '.runs | length == 4' && json '.runs[0].capture // "complete" | startswith("off") | not' && ! [ -e "$T/elsewhere" ] && cmd 0 config --json && json '[.settings[] | select(.origin | contains("clone"))] == []'
check 'nor does it move or weaken the record'
printf 'hdf5 = dataset\nxattr = on\n' >"$T/work/clone/.stemma/config" && cmd 0 config xattr && is "$out" on && lines "$err" 0 && cmd 0 config hdf5 && is "$out" dataset
check 'a project may ask that more is recorded'
mkdir -p "$HOME/.config/stemma" && printf 'hdf5 = on\nxattr = on\n' >"$HOME/.config/stemma/config" && printf 'hdf5 = off\nxattr = off\n' >"$T/work/clone/.stemma/config" && cmd 0 config hdf5 && is "$out" on && cmd 0 config xattr && is "$out" on
check 'but not that less is'
printf 'measure = off\nprojects = /\n' >"$T/work/clone/.stemma/config" && echo "projects = /none:$T/work/clone" >>"$HOME/.config/stemma/config" && cmd 0 config measure && is "$out" off && cmd 0 config projects && is "$out" "/none:$T/work/clone" && STEMMA_PROJECTS=/none cmd 0 config measure && is "$out" on
check 'a project that the user names sets everything but which projects are named'
rm "$HOME/.config/stemma/config"

# Links: what they lead to may be a file of the user's own.
echo 'xattr = on' >"$T/work/mine" && rm "$T/work/clone/.stemma/config" && ln -s "$T/work/mine" "$T/work/clone/.stemma/config" && cmd 0 config xattr && is "$out" off && says "$err" 'symbolic link'
check 'a symbolic link is not followed'
mv "$T/work/clone/.stemma" "$T/work/real" && rm "$T/work/real/config" && echo 'xattr = on' >"$T/work/real/config" && ln -s "$T/work/real" "$T/work/clone/.stemma" && cmd 0 config xattr && is "$out" off && says "$err" 'symbolic link'
check 'nor one in the place of .stemma'
rm "$T/work/clone/.stemma" && mkdir "$T/work/clone/.stemma" && mkfifo "$T/work/clone/.stemma/config" && cmd 0 config xattr && is "$out" off && says "$err" 'is not a file'
check 'a pipe does not hold anybody up'
rm "$T/work/clone/.stemma/config"
if [ "$(id -u)" = 0 ]; then
	echo 'xattr = on' >"$T/work/clone/.stemma/config"
	for f in . .stemma .stemma/config; do
		chown 12345 "$T/work/clone/$f" && cmd 0 config xattr && is "$out" off && says "$err" 'another user' && chown 0 "$T/work/clone/$f"
		check "a project of another user is ignored: $f"
	done
	cmd 0 config xattr && is "$out" on
	check 'and else it holds'
else
	skip 'a project of another user is ignored' 'only root can give files away'
fi

# ---- modules of the working folder ----
for m in h5py sys timeit json; do
	echo "open('$T/imported', 'w')" >$m.py
done
"$STEMMA" doctor >"$out" 2>"$err" </dev/null
! [ -e "$T/imported" ]
check 'doctor imports nothing from the working folder'

# ---- git in a hostile repository ----
if ! command -v git >/dev/null 2>&1 || ! command -v gcc >/dev/null 2>&1; then
	skip 'git runs no programs of a repository' 'no git, or no gcc'
	finish
	exit
fi
cd "$T/work" && mkdir repo && cd repo || exit 1
git init -q . && git config user.email me@example.org && git config user.name me
echo 'int main(void) { return 0; }' >a.c && printf 'b\na\n' >in.txt && git add . && git commit -q -m one
cmd 0 run -q --digest -- sh -c 'sort in.txt >out.txt'
printf 'c\n' >in.txt && git commit -q -a -m two
cat >"$T/evil" <<END
#!/bin/sh
echo "\$0 \$*" >>"$T/ran"
cat
END
chmod +x "$T/evil"
for k in core.fsmonitor core.sshCommand core.pager core.editor diff.external gpg.program filter.evil.clean filter.evil.smudge filter.evil.process diff.evil.textconv diff.evil.command merge.evil.driver credential.helper alias.status alias.rev-list alias.cat-file alias.log alias.show core.gitProxy uploadpack.packObjectsHook; do
	git config "$k" "$T/evil"
done
git config log.showSignature true
git config pager.log "$T/evil"
git config remote.origin.url "ext::$T/evil"
git config remote.origin.promisor true
git config extensions.partialClone origin
git config protocol.ext.allow always
mkdir -p .git/hooks .git/info && echo '* filter=evil diff=evil merge=evil' >.git/info/attributes
for h in fsmonitor-watchman post-index-change reference-transaction pre-auto-gc post-checkout; do
	cp "$T/evil" ".git/hooks/$h"
done
rm -f "$T/ran"
# The attack works: git itself runs them.
touch a.c && git status >/dev/null 2>&1
[ -s "$T/ran" ]
check 'git itself runs the programs of this repository'
rm -f "$T/ran" && touch a.c && echo 'int main(void) { return 1; }' >b.c && cmd 0 cc gcc -c a.c -o a.o && ! [ -e "$T/ran" ]
check 'stemma cc does not'
rm -f "$T/ran" && echo d >in.txt && cmd 0 rerun @ --json && json '.files[] | select(.name == "in.txt") | .state == "from git"' && ! [ -e "$T/ran" ]
check 'nor rerun, which finds the file all the same'
git rev-parse HEAD~1:in.txt | sed 's|^\(..\)|.git/objects/\1/|' >"$T/blob" && rm -f "$(cat "$T/blob")" && cmd 1 rerun @~1 --json && ! [ -e "$T/ran" ]
check 'nor where an object is missing, for which git asks a remote'
finish
