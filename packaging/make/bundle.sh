# shellcheck shell=sh
# bundle.sh - a folder that runs wherever it is put (sourced by tools/package): the command linked statically, so that it takes
# no library of the machine, and what it puts into programs, which takes none either.
#
# What wants libraries of the machine is not in it: HTTPS, SPARQL and Turtle, the daemon, specifications, --hdf5, --mpi and the
# libraries for other programs. `stemma doctor` says so.

# They name no library, not even the C library; so the oldest will do.
BUNDLE_IN_PROGRAMS='src/capture/preload/library/libstemma-safe.so src/cc/tape/libstemma-cc.so'

bundle_build()
{ # ROOT: the folder stemma-VERSION, in /bundle of the root
	# shellcheck disable=SC2016,SC2086 # for the shell inside; words
	root_user "$1" sh -c 'cd /bundle/source && export CC="ccache cc" CCACHE_DIR=/ccache CFLAGS="-g1 -O2 -ffile-prefix-map=/bundle/source=." &&
		meson setup ../build --prefix=/stemma --libdir=lib -Dtests=false -Dstatic=true -Dlate=false -Djava=disabled -Dbpf=disabled -Dhttp=disabled \
			-Dspec=disabled -Dstacks=disabled -Dhdf5_vol=disabled &&
		ninja -j2 -C ../build src/cmd/stemma src/capture/standby/syscall-standby completion/stemma completion/_stemma completion/stemma.fish '"$BUNDLE_IN_PROGRAMS" &&
		root_user "$1" sh -c 'cd /bundle && to=stemma-$1 && shift &&
			mkdir -p $to/bin $to/lib/stemma $to/share/man $to/share/doc/stemma $to/share/stemma/modulefiles/stemma \
				$to/share/bash-completion/completions $to/share/zsh/site-functions $to/share/fish/vendor_completions.d &&
			cp build/src/cmd/stemma $to/bin && cp build/src/capture/standby/syscall-standby $to/lib/stemma &&
			for f; do cp build/$f $to/lib/stemma || exit 1; done && strip --strip-unneeded $to/bin/stemma $to/lib/stemma/* &&
			for f in source/man/*.[1-8]; do mkdir -p $to/share/man/man${f##*.} && cp $f $to/share/man/man${f##*.} || exit 1; done &&
			cp source/LICENSE source/NEWS source/README.md source/packaging/bundle/README $to/share/doc/stemma && ln -s share/doc/stemma/README $to/README &&
			cp build/packaging/[0-9]* $to/share/stemma/modulefiles/stemma && cp build/completion/stemma $to/share/bash-completion/completions &&
			cp build/completion/_stemma $to/share/zsh/site-functions && cp build/completion/stemma.fish $to/share/fish/vendor_completions.d &&
			chmod -R u=rwX,go=rX $to' sh "$VERSION" $BUNDLE_IN_PROGRAMS
}

# Nothing may be asked of the machine: no library by any of its programs, no folder of the build's in them.
bundle_check()
{ # FOLDER
	for f in "$1/bin/stemma" "$1"/lib/stemma/*; do
		needed=$(readelf -dW "$f" 2>/dev/null | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
		[ -z "$needed" ] || { echo "package: ${f##*/} wants $needed" >&2; return 1; }
		if readelf -lW "$f" 2>/dev/null | grep -q INTERP; then
			echo "package: ${f##*/} wants a dynamic linker" >&2
			return 1
		fi
		if grep -aq -e '/bundle/' "$f"; then
			echo "package: ${f##*/} names the folder that it was built in" >&2
			return 1
		fi
	done
}

# What a user does first, as that user. FOLDER is where the bundle lies in the root.
bundle_first_answer='
set -eu
cd "$2"
export HOME="$2" STEMMA_HOME="$2/record"
printf "b\na\n" >in
"$1/bin/stemma" run -- sh -c "sort in >out"
"$1/bin/stemma" why out
"$1/bin/stemma" lineage out
"$1/bin/stemma" doctor --quick >doctor || [ $? = 1 ]
grep -q "^standby  *ok" doctor
ln -s "$1/bin/stemma" link
./link why --json out | grep -q "\"path\": *\"$2/in\""
'

bundle_holds()
{ # FILE: is it the answer?
	# busybox' shell is its own sort
	grep -q 'made by s[oh]' "$1" && grep -q 'from in' "$1" && grep -q -- ' in@{1}  (' "$1" || {
		cat "$1" >&2
		return 1
	}
}

bundle_in_debian()
{ # SUITE: as a user, in a folder with a space in its name
	root_base "$1" && root=$(root_open "$ROOTS/$1") && root_user "$root" mkdir 'my tools' work &&
		tar -xzf "$BUNDLE" -C "$root/home/scientist/my tools" &&
		root_user "$root" sh -c "$bundle_first_answer" sh "/home/scientist/my tools/stemma-$VERSION" /home/scientist/work >"$SCRATCH/answer" 2>&1
	done=$?
	[ $done = 0 ] && bundle_holds "$SCRATCH/answer" || { cat "$SCRATCH/answer" >&2; return 1; }
	# The other ways of recording, too.
	for way in --transport=trace --capture=safe --capture=tree; do
		root_user "$root" sh -c "cd work && STEMMA_HOME=\$PWD/record '/home/scientist/my tools/stemma-$VERSION/bin/stemma' run -q $way -- sh -c 'sort in >$way' && STEMMA_HOME=\$PWD/record '/home/scientist/my tools/stemma-$VERSION/bin/stemma' log -n 1 --json" >"$SCRATCH/log" 2>&1 || {
			cat "$SCRATCH/log" >&2
			return 1
		}
	done
	echo "bundle: answers in Debian $1"
}

bundle_in_nothing()
{ # a root folder that holds one program, which is linked statically
	from=$(root_open "$ROOTS/bookworm") && deb_get "$from" update >"$SCRATCH/log" 2>&1 &&
		deb_get "$from" install --no-install-recommends busybox-static >"$SCRATCH/log" 2>&1 || { tail -n 10 "$SCRATCH/log" >&2; return 1; }
	root=$SCRATCH/nothing
	mkdir -p "$root/bin" "$root/proc" "$root/dev" "$root/tmp" "$root/opt" "$root/data" && chmod 1777 "$root/tmp" && chmod 777 "$root/data" || return 1
	# Who the user is, a service of the machine knows.
	printf '#!/bin/sh\n[ "$*" != "-- passwd 4711" ] || echo guest:x:4711:4711::/data:/bin/sh\n' >"$root/bin/getent" && chmod +x "$root/bin/getent" &&
		cp "$from/bin/busybox" "$root/bin/busybox" && ln -s busybox "$root/bin/sh" && ln -s busybox "$root/bin/sort" && ln -s busybox "$root/bin/grep" &&
		ln -s busybox "$root/bin/ln" && mknod -m 666 "$root/dev/null" c 1 3 && mount -t proc proc "$root/proc" && tar -xzf "$BUNDLE" -C "$root/opt" || return 1
	env -i PATH=/bin "$(command -v chroot)" --userspec=4711:4711 "$root" /bin/sh -c "$bundle_first_answer" sh "/opt/stemma-$VERSION" /data >"$SCRATCH/answer" 2>&1
	done=$?
	umount "$root/proc"
	[ $done = 0 ] && bundle_holds "$SCRATCH/answer" || { cat "$SCRATCH/answer" >&2; return 1; }
	cat "$SCRATCH/answer"
	grep -q 'by guest@' "$SCRATCH/answer" || { echo 'package: the name of the user is missing' >&2; return 1; }
	echo "bundle: answers in a root folder with busybox alone"
}

# Both systems find the bundle by its module files, and leave nothing when they are told to.
bundle_in_modules()
{
	for package in lmod:/usr/share/lmod/lmod/init/bash environment-modules:/usr/share/modules/init/bash; do
		root=$(root_open "$ROOTS/bookworm") && deb_get "$root" update >"$SCRATCH/log" 2>&1 &&
			deb_get "$root" install --no-install-recommends "${package%%:*}" >"$SCRATCH/log" 2>&1 &&
			tar -xzf "$BUNDLE" -C "$root/opt" || { tail -n 10 "$SCRATCH/log" >&2; return 1; }
		# shellcheck disable=SC2016 # for the shell inside
		root_user "$root" bash -c '. "$1"; module use "/opt/stemma-$2/share/stemma/modulefiles" && module load stemma && cd &&
			[ "$(command -v stemma)" = "/opt/stemma-$2/bin/stemma" ] && stemma --version && [ -e "${MANPATH%%:*}/man1/stemma.1" ] &&
			module unload stemma && ! command -v stemma' bash "${package#*:}" "$VERSION" >"$SCRATCH/log" 2>&1 || { cat "$SCRATCH/log" >&2; return 1; }
		echo "bundle: is a module for ${package%%:*}"
	done
}

bundle_make()
{
	deb_root bookworm || return 1
	root=$(root_open "$ROOTS/bookworm-build") && root_ccache "$root" && mkdir -p "$root/bundle" && source_archive bundle/source | tar -xf - -C "$root" &&
		root_do "$root" chown -R scientist: /bundle || return 1
	say 'building the bundle'
	bundle_build "$root" >"$SCRATCH/build.log" 2>&1 || { tail -n 30 "$SCRATCH/build.log" >&2; return 1; }
	bundle_check "$root/bundle/stemma-$VERSION" || return 1
	BUNDLE=$OUT/stemma-$VERSION-$(uname -m).tar.gz
	tar -C "$root/bundle" --sort=name --owner=0 --group=0 --numeric-owner --mtime="$(source_date)" -cf - "stemma-$VERSION" | gzip -9n >"$BUNDLE" || return 1
	echo "bundle: $(($(stat -c %s "$BUNDLE") / 1024)) KiB: $BUNDLE"
	say 'the first answer of the bundle'
	bundle_in_debian trixie && bundle_in_debian bookworm || return 1
	bundle_in_modules && bundle_in_nothing
}
