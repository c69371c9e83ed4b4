# shellcheck shell=sh
# rpm.sh - RPM's packages, built and tried on Debian (sourced by tools/package). rpm does not know what Debian has installed, so what the
# spec requires is not checked: the same libraries are there under Debian's names. Untested on a system of rpm's own.

rpm_make()
{
	deb_root bookworm || return 1
	root=$(root_open "$ROOTS/bookworm-build") && root_ccache "$root" && deb_get "$root" update >"$SCRATCH/log" 2>&1 &&
		deb_get "$root" install --no-install-recommends rpm rpmlint >"$SCRATCH/log" 2>&1 || { tail -n 10 "$SCRATCH/log" >&2; return 1; }
	mkdir -p "$root/rpm/SOURCES" && source_archive "stemma-$VERSION" | gzip -9n >"$root/rpm/SOURCES/stemma-$VERSION.tar.gz" &&
		cp "$SOURCE/packaging/rpm/stemma.spec" "$root/rpm" && root_do "$root" chown -R scientist: /rpm || return 1
	say 'building for rpm'
	root_user "$root" sh -c 'export CC="ccache cc" CCACHE_DIR=/ccache
		rpmbuild --nodeps -ba --define "_topdir /rpm" --define "dist .test" --define "debug_package %{nil}" --define "optflags -O2 -g" /rpm/stemma.spec' >"$SCRATCH/build.log" 2>&1 || {
		tail -n 30 "$SCRATCH/build.log" >&2
		return 1
	}
	rm -rf "$OUT/rpm" && mkdir -p "$OUT/rpm" && find "$root/rpm/RPMS" "$root/rpm/SRPMS" -name '*.rpm' -exec cp {} "$OUT/rpm" \; || return 1
	say 'rpmlint'
	cp "$SOURCE/packaging/rpm/rpmlint.toml" "$root/rpm" && root_user "$root" rpmlint -c /rpm/rpmlint.toml /rpm/stemma.spec >"$SCRATCH/lint" 2>&1
	tail -n 3 "$SCRATCH/lint"
	grep -q ' 0 errors' "$SCRATCH/lint" || { cat "$SCRATCH/lint" >&2; return 1; }
	say 'the first answer of the package for rpm'
	root=$(root_open "$ROOTS/bookworm") && deb_get "$root" update >"$SCRATCH/log" 2>&1 &&
		deb_get "$root" install --no-install-recommends rpm libsqlite3-0 libjansson4 libseccomp2 >"$SCRATCH/log" 2>&1 &&
		mkdir "$root/packages" && cp "$OUT"/rpm/stemma-"$VERSION"-*.x86_64.rpm "$root/packages" &&
		root_do "$root" sh -c 'rpm --nodeps -ivh /packages/*.rpm' >"$SCRATCH/log" 2>&1 || { tail -n 10 "$SCRATCH/log" >&2; return 1; }
	root_user "$root" sh -c 'printf "b\na\n" >in; stemma run -- sh -c "sort in > out" && stemma why out && stemma doctor --quick >doctor; grep -q "^standby  *ok" doctor' >"$SCRATCH/answer" 2>&1 &&
		grep -q 'made by sort' "$SCRATCH/answer" || { cat "$SCRATCH/answer" >&2; return 1; }
	cat "$SCRATCH/answer"
	echo 'rpm: built, installed and asked on Debian bookworm'
}
