# shellcheck shell=sh disable=SC2154
# modules.sh - programs from Debian's source packages, plain and traced (sourced after lib.sh).
#
#   source_of PACKAGE          it is unpacked in $T/src/PACKAGE; 1, and $why, where it cannot be had
#   built PACKAGE ARG...       configured once, then made by gcc (or $plain_cc) in $T/plain/PACKAGE and by stemma cc in $T/traced/PACKAGE.
#                              The arguments are programs where it has a configure, else make's
#
# With STEMMA_DEBIAN_SOURCES in $sources the packages are taken from that folder (PACKAGE_*.orig.tar.*).

mkdir "$T/src" "$T/plain" "$T/traced"

# With lists, state and settings in $T: the machine's are not touched.
apt()
{
	timeout -k 5 300 apt-get -q -o Dir::Etc::SourceList="$T/apt/sources.list" -o Dir::Etc::SourceParts=/dev/null \
		-o Dir::State="$T/apt/state" -o Dir::State::status="$T/apt/status" -o Dir::Cache="$T/apt/cache" \
		-o APT::Sandbox::User= "$@" >"$T/apt/said" 2>&1 </dev/null
}

# The archive that this machine installs from; in $why why there is none.
apt_begins()
{
	why='no apt-get'
	command -v apt-get >/dev/null || return 1
	why='no Debian archive is set up'
	# shellcheck disable=SC2016 # apt's own variables
	apt-get indextargets --format '$(SITE) $(RELEASE)' 'Created-By: Packages' 'Origin: Debian' 'Component: main' 2>/dev/null |
		awk '$2 !~ /-/ { print; exit }' >"$T/archive"
	read -r site release <"$T/archive" || return 1
	key=/usr/share/keyrings/debian-archive-keyring.gpg
	[ -e $key ] || key=
	mkdir -p "$T/apt/state/lists/partial" "$T/apt/cache/archives/partial"
	: >"$T/apt/status"
	why='the lists of source packages cannot be had'
	lists "$release"
}

# lists RELEASE: its source packages can be asked for, too
lists()
{
	echo "deb-src ${key:+[signed-by=$key] }$site $1 main" >>"$T/apt/sources.list"
	apt update && ! grep -q '^[EW]:' "$T/apt/said"
}

# A mirror may not give out a single file; the stable release's, of another version, does as well.
fetched()
{
	from "$release" "$1" && return
	[ -n "${stable_is:-}" ] || { lists stable && stable_is=there; } || stable_is=none
	[ "$stable_is" = there ] && from stable "$1"
}

from()
{
	(cd "$T/src/$2" && apt source -t "$1" --download-only --tar-only "$2")
}

source_of()
{
	mkdir "$T/src/$1"
	if [ -n "$sources" ]; then
		why="not in $sources"
		cp "$sources/$1"_*.orig.tar.*z* "$T/src/$1" 2>/dev/null || return 1
	else
		[ -n "${apt_is:-}" ] || { apt_begins && apt_is=there; } || apt_is=$why
		why=$apt_is
		[ "$apt_is" = there ] || return 1
		why="$site has no source of it that can be fetched"
		fetched "$1" || return 1
	fi
	why='it cannot be unpacked'
	(cd "$T/src/$1" && tar xf "$(find . -name "$1_*.orig.tar.*z*" ! -name '*.asc')" --strip-components=1)
}

built()
{
	package=$1
	shift
	if [ -x "$T/src/$package/configure" ]; then
		(cd "$T/src/$package" && FORCE_UNSAFE_CONFIGURE=1 timeout -k 5 900 ./configure -q --disable-nls --without-openssl CC=gcc CFLAGS='-O2 -g') >"$out" 2>&1 </dev/null || return 1
		# shellcheck disable=SC2016 # make's variables
		mk='wanted: $(BUILT_SOURCES) $(WANTED)'
		# shellcheck disable=SC2016
		[ ! -e "$T/src/$package/lib/Makefile" ] || mk=$(printf 'wanted:\n\tfor w in $(WANTED); do $(MAKE) -C `dirname $$w` `basename $$w` || exit 1; done')
		printf 'include Makefile\n%s\n' "$mk" >"$T/src/$package/stemma.mk"
	fi
	for kind in plain traced; do
		cp -a "$T/src/$package" "$T/$kind/$package"
		cc=${plain_cc:-gcc}
		[ $kind = plain ] || cc="$STEMMA cc --trace gcc"
		if [ -e "$T/src/$package/stemma.mk" ]; then
			[ ! -e "$T/src/$package/lib/Makefile" ] || timeout -k 5 1500 make -s -C "$T/$kind/$package/lib" CC="$cc" >"$out" 2>&1 </dev/null || return 1
			timeout -k 5 1500 make -s -C "$T/$kind/$package" -f stemma.mk wanted WANTED="$*" CC="$cc" >>"$out" 2>&1 </dev/null || return 1
		else
			timeout -k 5 1500 make -s -C "$T/$kind/$package" "$@" CC="$cc" >"$out" 2>&1 </dev/null || return 1
		fi
	done
}
