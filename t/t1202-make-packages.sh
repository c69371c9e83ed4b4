#!/bin/sh
# Packages are made of what is committed and give their first answers in root folders that have nothing: tools/package.
set -u
here=$(cd "$(dirname "$0")/.." && pwd -P)
skip()
{
	echo "1..0 # SKIP $1"
	exit 0
}
[ "$(uname -m)" = x86_64 ] || skip 'for x86-64 only'
[ "$(id -u)" = 0 ] || skip 'root folders are made and changed to, which only root can'
for tool in debootstrap unshare git; do
	command -v $tool >/dev/null || skip "no $tool"
done
git -c safe.directory='*' -C "$here" rev-parse -q --verify HEAD >/dev/null || skip 'no repository, from which a source could be exported'
unshare --mount --pid --fork true 2>/dev/null || skip 'no namespaces for mounts and processes here'
T=$(mktemp -d "${TMPDIR:-/tmp}/stemma-t.XXXXXX") || exit 1
trap 'rm -rf "$T"' EXIT
trap 'exit 1' INT TERM HUP
export OUT="$T/packages"
count=0
failed=0
makes()
{ # WHAT WORDS...: this part of the tool ends well
	what=$1
	shift
	count=$((count + 1))
	if "$here/tools/package" "$@" >"$T/out" 2>"$T/err" </dev/null; then
		echo "ok $count - $what"
	else
		echo "not ok $count - $what"
		failed=1
		tail -n 40 "$T/err" | sed 's/^/# /'
	fi
	sed 's/^/# /' "$T/out"
}
makes 'packages for Debian 12: built, read by lintian, installed, asked, removed' deb bookworm
makes 'packages for Debian 13: the same' deb trixie
makes 'the bundle answers in Debian and in a root folder with busybox alone' bundle
makes 'a second build for Debian 12, elsewhere, gives the same bytes' again bookworm
makes 'packages for rpm are built and answer' rpm
makes 'the recipes for Nix, conda and Spack can be read' recipes
echo "1..$count"
exit $failed
