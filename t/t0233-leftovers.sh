#!/bin/sh
# The folder in memory that a run's programs find by name is gone with the run, whatever they made in it; one whose run was
# killed altogether goes with a later run of the same user.
# shellcheck source=tests/prog/lib.sh
. "$(dirname "$0")/../tests/prog/lib.sh"

export STEMMA_HOME="$T/record"
cd "$T" || exit 1
id=$(id -u)

# litter FOLDER: what a program may leave there.
cat >litter <<'END'
cd "$1" && : >.hidden && : >..hidden && mkdir sub .sub sub/deep sub/closed && : >sub/deep/file && ln -s "$2" link && ln -s "$2.d" sub/link && mkfifo pipe && : >sub/closed/file && chmod 0 sub/closed
END
mkdir kept.d
echo kept >kept
echo kept >kept.d/file

# shellcheck disable=SC2016 # for the command
"$STEMMA" run -- sh -c 'echo "${STEMMA_APP%%:*}" && sh litter "${STEMMA_APP%%:*}" "$0"' "$T/kept" >folder 2>err
r=$?
folder=$(cat folder)
case $folder in
/*/stemma-app-"$id"-*) ;;
*) r=1 ;;
esac
ls -laR "$folder" >>err 2>&1
[ $r = 0 ] && [ ! -e "$folder" ]
result $? "a run's folder goes with it, whatever is in it" err
[ "$(cat kept kept.d/file)" = "kept
kept" ]
result $? "and nothing that stands elsewhere" err

# What a killed run leaves: nobody has it locked. One that another run has is left alone. They get their names when all is in
# them, and the lock: other runs of this user may come by.
top=${folder%/stemma-app-*}
made=$(mktemp -d "$top/stemma-t-XXXXXX")
for d in left held other; do
	mkdir "$made/$d" && sh litter "$made/$d" "$T/kept"
done
mkdir "$made/strict" && : >"$made/strict/file" && chmod 0 "$made/strict"
name=${made##*-}
left=$top/stemma-app-$id-left$name
held=$top/stemma-app-$id-held$name
strict=$top/stemma-app-$id-strict$name
other=$top/stemma-app-${id}0-other$name
mv "$made/left" "$left"
mv "$made/other" "$other"
chmod 700 "$made/strict" && mv "$made/strict" "$strict"
chmod 0 "$strict" 2>/dev/null
if command -v flock >/dev/null; then
	# shellcheck disable=SC2016
	flock -s "$made/held" sh -c 'mv "$3" "$2" && "$1" run -- true && [ -e "$2/sub/deep/file" ]' - "$STEMMA" "$held" "$made/held" 2>err
	result $? "another run's folder is left alone" err
else
	skip_ "another run's folder is left alone" "there is no flock here"
fi
"$STEMMA" run -- true 2>err
ls -laR "$left" "$strict" >>err 2>&1
[ ! -e "$left" ] && [ ! -e "$strict" ]
result $? "what a killed run left is taken away" err
[ "$(cat kept kept.d/file "$other/..hidden")" = "kept
kept" ]
result $? "nothing else is, nor another user's" err
chmod -R u+rwx "$held" "$other" "$made" 2>/dev/null
rm -rf "$held" "$other" "$made"

# Where a folder cannot be used it is not left behind: no rights, no descriptors. A mode that no other test's has.
strict()
{
	find /dev/shm /tmp /var/tmp -maxdepth 1 -name "stemma-*-$id-*" -perm 0200 2>/dev/null | sort
}
strict >before
(umask 0577 && STEMMA_HOME=$T/strict "$STEMMA" run --capture=safe -- true) 2>err
for _ in 1 2 3; do # another who runs this test may have made one a moment ago
	strict | comm -13 before - >after
	[ -s after ] || break
	sleep 0.5
done
cat after >>err
[ ! -s err ]
result $? "a umask that takes the rights away" err
if [ "$id" = 0 ] && unshare -m true 2>/dev/null; then
	# shellcheck disable=SC2016
	unshare -m sh -c 'mount -t tmpfs none /dev/shm && mount -t tmpfs none /var/tmp || exit 77
		for limit in 4 5 6 7 8 9 10 11 12 13 14 15 16; do
			(ulimit -n $limit && exec "$1" run -- true)
		done
		ls -d /dev/shm/* /var/tmp/stemma-[as]*-* >left 2>/dev/null
		: >all' - "$STEMMA" >out 2>err
	if [ -e all ]; then
		[ ! -s left ]
		result $? "hardly any descriptors" left
	else
		skip_ "hardly any descriptors" "no file system can be mounted here"
	fi
else
	skip_ "hardly any descriptors" "only where a file system can be mounted"
fi
finish
