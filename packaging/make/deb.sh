# shellcheck shell=sh
# deb.sh - Debian's packages (sourced by tools/package).
#
# What is committed is exported, made into a source package and built as an ordinary user, in a root folder that has the
# build dependencies; lintian reads the result. Then it is installed in a root folder that has nothing, where a user of no
# privilege asks the first question.

deb_get()
{ # ROOT ARG...
	in=$1
	shift
	root_do "$in" apt-get -q -y -o Dpkg::Use-Pty=0 "$@"
}

deb_build_root()
{ # ROOT: what is needed to build, and lintian
	mkdir -p "$1/tmp/needs/debian" && cp "$SOURCE/packaging/debian/control" "$1/tmp/needs/debian" && deb_get "$1" update &&
		deb_get "$1" install --no-install-recommends build-essential ccache fakeroot lintian &&
		deb_get "$1" build-dep --no-install-recommends /tmp/needs && rm -rf "$1/tmp/needs" && root_do "$1" apt-get clean
}

deb_source()
{ # FOLDER: puts the upstream source and the tree with debian/ there
	mkdir -p "$1" && source_archive "stemma-$VERSION" | gzip -9n >"$1/stemma_$VERSION.orig.tar.gz" &&
		tar -xzf "$1/stemma_$VERSION.orig.tar.gz" -C "$1" && cp -rL "$1/stemma-$VERSION/packaging/debian" "$1/stemma-$VERSION/debian"
}

deb_build()
{ # ROOT FOLDER [SETTINGS]: builds in that folder of the root, as a user, whose shell begins with SETTINGS
	root_ccache "$1" && deb_source "$1$2" && root_do "$1" chown -R scientist: "$2" &&
		root_user "$1" sh -c "${3:-}
			export CC='ccache cc' CCACHE_DIR=/ccache DEB_BUILD_OPTIONS=parallel=2
			cd '$2/stemma-$VERSION' && dpkg-buildpackage -us -uc" >"$SCRATCH/build.log" 2>&1 || {
		tail -n 30 "$SCRATCH/build.log" >&2
		return 1
	}
}

# Tags of lintian that count: all but what asks for a bug of Debian's that the package closes.
deb_lint()
{ # ROOT FOLDER
	root_user "$1" sh -c "cd '$2' && lintian --version && lintian --fail-on error,warning --suppress-tags initial-upload-closes-no-bugs *.changes 2>/dev/null"
}

# What the command loads by itself, as its note says, has to be among what its package depends on.
deb_loads()
{ # ROOT FOLDER
	# shellcheck disable=SC2016 # for the shell inside
	root_do "$1" sh -c 'cd "$1" && dpkg-deb -f stemma_*.deb Depends Recommends >/tmp/depends && rm -rf /tmp/x && dpkg-deb -x stemma_*.deb /tmp/x &&
		objcopy -O binary --only-section=.note.dlopen /tmp/x/usr/bin/stemma /tmp/note --set-section-flags .note.dlopen=alloc &&
		for so in $(grep -ao "lib[a-z0-9-]*\.so\.[0-9]*" /tmp/note | sort -u); do
			p=$(dpkg-query -S "*/$so" | sed "s/:.*//;q")
			echo "loads $so of $p"
			grep -q "$p" /tmp/depends || { echo "package: $so is loaded, and $p not among what the package depends on" >&2; exit 1; }
		done' sh "$2"
}

# No folder of the build, nor of this tool, is named in what is installed.
deb_paths()
{ # ROOT FOLDER
	for f in "$1$2"/*.deb; do
		case $f in *dbgsym*) continue ;; esac
		rm -rf "$SCRATCH/x" && dpkg-deb -x "$f" "$SCRATCH/x" || return 1
		if grep -rlaF -e "$2" -e /usr/lib/ccache "$SCRATCH/x" >&2; then
			echo "package: these files of ${f##*/} name a folder of the build" >&2
			return 1
		fi
	done
}

deb_first_answer()
{ # SUITE: in a clean root
	root=$(root_open "$ROOTS/$1") && root_user "$root" true && mkdir "$root/packages" && cp "$OUT/$1"/*.deb "$root/packages" || return 1
	times=$SCRATCH/times
	: >"$times"
	root_time "$times" deb_get "$root" update >"$SCRATCH/log" 2>&1 &&
		root_time "$times" root_do "$root" sh -c 'apt-get -q -y -o Dpkg::Use-Pty=0 install --no-install-recommends /packages/stemma_*.deb' >"$SCRATCH/log" 2>&1 &&
		root_time "$times" root_user "$root" sh -c 'printf "b\na\n" >in; stemma run -- sh -c "sort in > out" && stemma why out' >"$SCRATCH/answer" 2>"$SCRATCH/log" || {
		tail -n 20 "$SCRATCH/log" >&2
		return 1
	}
	grep -q 'made by sort' "$SCRATCH/answer" && grep -q 'from in' "$SCRATCH/answer" || { cat "$SCRATCH/answer" "$SCRATCH/log" >&2; return 1; }
	cat "$SCRATCH/answer"
	# shellcheck disable=SC2046 # three words
	set -- "$1" $(cat "$times")
	echo "$1: lists $2 s, installation $3 s, first run and answer $4 s"
	root_user "$root" stemma doctor --quick >"$SCRATCH/doctor"
	for package in stemmad stemma-spec python3-stemma libstemma-dev libstemma-java; do
		grep -q "$package" "$SCRATCH/doctor" || { echo "package: the doctor does not say that $package lacks" >&2; return 1; }
	done
	# All of them, recommended ones too, and away again: nothing of them stays.
	rm "$root"/packages/*-dbgsym_* && root_do "$root" sh -c 'apt-get -q -y -o Dpkg::Use-Pty=0 install --no-install-recommends /packages/*.deb' >"$SCRATCH/log" 2>&1 &&
		root_user "$root" stemma doctor --quick >"$SCRATCH/doctor" && grep '^languages  *ok' "$SCRATCH/doctor" && root_user "$root" python3 -c 'import stemma.record' &&
		deb_get "$root" purge '*stemma*' >"$SCRATCH/log" 2>&1 || { tail -n 20 "$SCRATCH/log" >&2; return 1; }
	left=$(find "$root/usr" "$root/etc" "$root/var/lib" -name '*stemma*' ! -path '*/apt/*' | head -n 5)
	[ -z "$left" ] || { echo "package: left after the packages were removed: $left" >&2; return 1; }
}

deb_autopkgtest()
{ # SUITE: the tests that the source package brings along, by Debian's own tool
	root=$(root_open "$ROOTS/$1") && mkdir "$root/packages" && cp "$OUT/$1"/* "$root/packages" && deb_get "$root" update >"$SCRATCH/log" 2>&1 &&
		deb_get "$root" install --no-install-recommends autopkgtest dpkg-dev >"$SCRATCH/log" 2>&1 &&
		root_user "$root" true && root_do "$root" sh -c 'cd /packages && autopkgtest -B -U *.deb *.dsc -u scientist -- null' >"$SCRATCH/log" 2>&1 || {
		tail -n 40 "$SCRATCH/log" >&2
		return 1
	}
	grep -E '(PASS|FAIL|SKIP)' "$SCRATCH/log"
}

deb_root()
{ # SUITE: $ROOTS/SUITE-build
	root_with "$1" build "$(sed -n '/^Build-Depends/,/^Standards/p' "$SOURCE/packaging/debian/control" | cksum)" deb_build_root
}

deb_make()
{ # SUITE
	deb_root "$1" || return 1
	root=$(root_open "$ROOTS/$1-build") || return 1
	say "building for $1"
	deb_build "$root" /build/one || return 1
	rm -rf "${OUT:?}/$1" && mkdir -p "$OUT/$1"
	find "$root/build/one" -maxdepth 1 -type f -exec cp {} "$OUT/$1" \;
	say "lintian"
	deb_lint "$root" /build/one && deb_paths "$root" /build/one && deb_loads "$root" /build/one || return 1
	say "the first answer in a clean root"
	deb_first_answer "$1" || return 1
	say "the packages' own tests"
	deb_autopkgtest "$1"
}

# The same source, built by another user's settings in another folder, gives the same bytes.
deb_again()
{ # SUITE
	[ -d "$OUT/$1" ] || deb_make "$1" || return 1
	root=$(root_open "$ROOTS/$1-build") || return 1
	say "building for $1 once more, elsewhere"
	deb_build "$root" /somewhere/else/two 'umask 027; export TZ=Pacific/Kiritimati LC_ALL=C LANGUAGE=fr;' || return 1
	for f in "$OUT/$1"/*.deb "$OUT/$1"/*.dsc "$OUT/$1"/*.tar.*; do
		case $f in *dbgsym*) continue ;; esac
		cmp "$f" "$root/somewhere/else/two/${f##*/}" || return 1
	done
	echo "$1: two builds are equal"
}
