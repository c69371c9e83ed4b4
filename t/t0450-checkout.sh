#!/bin/sh
# git checkout reads files of the work folder only to compare them: what it writes there came from its store.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

command -v git >/dev/null || {
	echo '1..0 # SKIP there is no git'
	exit 0
}
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b GIT_CONFIG_GLOBAL=/dev/null
mkdir g && cd g || exit 1
{
	git init -q . && echo 1 >x && echo 1 >y && git add -A && git commit -qm 1
	git checkout -q -b other && echo 2 >y && git commit -qam 2 && git checkout -q -
	touch x y
} >/dev/null 2>&1
blob=$(git rev-parse other:y)
object=.git/objects/$(echo "$blob" | sed 's/^../&\//')
cmd 0 run -q -- git checkout -q other && cmd 0 run -q -- cp y fromy && grep -q 2 fromy
check 'a branch is checked out'
cmd 1 find 'from x' && says "$err" 'nothing found'
check 'what was only compared is in no file'
cmd 0 lineage y && says "$out" 'git checkout' "$object" && says_not "$out" ' x@{' && says_not "$out" '.git/index'
check 'the file is from the store'
cmd 0 why y && says "$out" "made by git checkout from $object@{1}" && says_not "$out" 'x@{'
check 'and why names the object first'
cmd 0 find "from $object" && says "$out" 'y@{1}' 'fromy@{1}'
check 'downwards from the object'
cmd 0 lineage --all y && says "$out" 'x@{'
check '--all has what it read'
echo 3 >z
cmd 0 run -q -- git add z && cmd 0 find 'from z' && says "$out" '.git/objects/'
check 'what is added is in the store'
git commit -qm 3 && git checkout -q - 2>/dev/null
echo local >>x
cmd 0 run -q -- git stash -q && cmd 0 run -q -- git stash pop -q && cmd 0 lineage x && says "$out" 'git'
check 'other commands are as they were'
finish
