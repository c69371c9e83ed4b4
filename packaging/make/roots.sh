# shellcheck shell=sh
# roots.sh - root folders of Debian, made once and kept, and clean copies of them (sourced by tools/package).
#
# Everything here happens in namespaces of its own (tools/package starts them): what is mounted or started here is gone
# when the tool ends, however it ends.
#
#   root_base SUITE           makes $ROOTS/SUITE where it is not: debootstrap's least
#   root_with SUITE NAME KEY COMMAND...   makes $ROOTS/SUITE-NAME of it, by the command, which is called with the folder; again when
#                             KEY is another one than the last time
#   root_open FOLDER          prints a new folder that looks like FOLDER, and whose changes are lost in the end
#   root_do ROOT COMMAND...   runs it there as root, with a clean environment
#   root_ccache ROOT         the user there has a cache for ccache, in /ccache, that is kept
#   root_user ROOT COMMAND... the same as the user `scientist`, in that user's home
ROOTS=${STEMMA_PACKAGE_ROOTS:-/var/tmp/stemma-packages}
proxy=${http_proxy:-}

root_mirror()
{ # The place that this machine takes Debian's packages from.
	if [ -n "${STEMMA_DEBIAN_MIRROR:-}" ]; then
		echo "$STEMMA_DEBIAN_MIRROR"
		return
	fi
	# shellcheck disable=SC2016 # apt's own variables
	apt-get indextargets --format '$(REPO_URI) $(COMPONENT) $(RELEASE)' 'Identifier: Packages' 2>/dev/null |
		awk '$2 == "main" && $1 ~ /\/debian\/?$/ { print $1; exit }'
}

root_base()
{
	[ ! -d "$ROOTS/$1" ] || return 0
	mkdir -p "$ROOTS"
	(
		flock 9 || exit 1
		[ ! -d "$ROOTS/$1" ] || exit 0
		mirror=$(root_mirror)
		[ -n "$mirror" ] || { echo "package: no mirror of Debian in this machine's settings of apt; set STEMMA_DEBIAN_MIRROR" >&2; exit 1; }
		say "a root folder of Debian $1, once: $ROOTS/$1"
		rm -rf "$ROOTS/$1.new"
		timeout -k 5 1500 debootstrap --variant=minbase "$1" "$ROOTS/$1.new" "$mirror" >"$ROOTS/$1.log" 2>&1 || {
			tail -n 5 "$ROOTS/$1.log" >&2
			exit 1
		}
		mv "$ROOTS/$1.new" "$ROOTS/$1"
	) 9>"$ROOTS/$1.lock"
}

root_with()
{
	suite=$1 made=$ROOTS/$1-$2 key=$3
	shift 3
	root_base "$suite" || return 1
	(
		flock 9 || exit 1
		[ "$(cat "$made.key" 2>/dev/null)" != "$key" ] || exit 0
		say "a root folder for building, once: $made"
		rm -f "$made.key"
		[ -d "$made" ] || { rm -rf "$made.new" && cp -a "$ROOTS/$suite" "$made.new" && mv "$made.new" "$made"; } || exit 1
		root_mounts "$made" && "$@" "$made" >"$made.log" 2>&1 || { tail -n 20 "$made.log" >&2; exit 1; }
		printf '%s\n' "$key" >"$made.key"
	) 9>"$made.lock"
}

root_mounts()
{
	mountpoint -q "$1/proc" || mount -t proc proc "$1/proc" || return 1
	mountpoint -q "$1/dev/pts" || mount -t devpts devpts "$1/dev/pts" 2>/dev/null || :
	mkdir -p "$1/dev/shm" && { mountpoint -q "$1/dev/shm" || mount -t tmpfs tmpfs "$1/dev/shm" || :; }
}

root_open()
{
	new=$(mktemp -d "$SCRATCH/root.XXXXXX") || return 1
	mkdir "$new/upper" "$new/work" "$new/root"
	chmod 755 "$new" "$new/upper"
	mount -t overlay overlay -o "lowerdir=$1,upperdir=$new/upper,workdir=$new/work" "$new/root" 2>/dev/null ||
		cp -a "$1/." "$new/root" || return 1
	root_mounts "$new/root" || return 1
	[ ! -e /etc/resolv.conf ] || cp -L /etc/resolv.conf "$new/root/etc/resolv.conf"
	echo "$new/root"
}

root_do()
{
	in=$1
	shift
	env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
		${proxy:+http_proxy="$proxy"} chroot "$in" "$@" </dev/null
}

root_user()
{
	in=$1
	shift
	grep -q '^scientist:' "$in/etc/passwd" || root_do "$in" useradd -m -s /bin/bash scientist || return 1
	# shellcheck disable=SC2016 # for the shell inside
	root_do "$in" runuser -u scientist -- sh -c 'cd && HOME=$PWD exec "$@"' sh "$@"
}

# What was compiled for the same folder is not compiled again.
root_ccache()
{ # ROOT: for the user there
	root_user "$1" true && mkdir -p "$1/ccache" "$ROOTS/ccache" && mount --bind "$ROOTS/ccache" "$1/ccache" &&
		chown "$(stat -c %u:%g "$1/home/scientist")" "$1/ccache"
}

# The longest a command took is no reason to fail: a machine may be busy. It is said.
root_time()
{ # FILE COMMAND...: appends how many seconds it took
	file=$1
	shift
	begin=$(date +%s%N)
	"$@" || return
	end=$(date +%s%N)
	echo "$(((end - begin) / 1000000))" | awk '{ printf "%.1f\n", $1 / 1000 }' >>"$file"
}
