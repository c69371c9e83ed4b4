#!/bin/sh
# The example examples/h5bench with the parallel HDF5 1.14 and the Open MPI 5 of Debian 13: t1035 again, which holds the record against
# what each rank counted itself. With `vol`: by the connector, each rank its own.
# shellcheck source=t/trixie.sh
. "$(dirname "$0")/trixie.sh"
wants usr/include/hdf5/openmpi/hdf5.h libhdf5-openmpi-dev
wants usr/bin/prterun openmpi-bin
how=--hdf5
if [ "${1:-}" = vol ]; then
	how=--hdf5=vol
	connector
fi
cat >"$T/mpicc" <<END
#!/bin/sh
# As mpicc: the last -o and the .c are files of here, all else is of the root.
out= from= args=
while [ \$# -gt 0 ]; do
	case \$1 in
	-o) out=\$2 && shift ;;
	*.c) from=\$1 ;;
	*) args="\$args \$1" ;;
	esac
	shift
done
made=\$(mktemp -d "$root/tmp/h5.XXXXXX") && cp "\$from" "\$made/p.c" &&
	chroot "$root" mpicc.openmpi -I/usr/include/hdf5/openmpi \$args -o "/tmp/\${made##*/}/p" "/tmp/\${made##*/}/p.c" -L/usr/lib/x86_64-linux-gnu/hdf5/openmpi -lhdf5 \\
		-Wl,--dynamic-linker="$root/lib64/ld-linux-x86-64.so.2" -Wl,--disable-new-dtags,-rpath,"$lib" && cp "\$made/p" "\$out"
done=\$?
rm -rf "\$made"
exit \$done
END
# The launcher is one of that root, too; what it loads later lies where these say.
cat >"$T/launch" <<END
#!/bin/sh
export OPAL_PREFIX="$root/usr" PRTE_PREFIX="$root/usr" PMIX_PREFIX="$root/usr" OMPI_MCA_btl=self,sm
exec "$root/lib64/ld-linux-x86-64.so.2" --library-path "$lib" "$root/usr/bin/prterun" --allow-run-as-root --map-by :OVERSUBSCRIBE "\$@"
END
chmod +x "$T/mpicc" "$T/launch"
export STEMMA="${STEMMA:-$BUILD/src/cmd/stemma}" STEMMA_EVTEXT="${STEMMA_EVTEXT:-$BUILD/tests/stemma-evtext}" BUILD HDF5=hdf5-openmpi
export STEMMA_H5HOW="$how" STEMMA_H5MPICC="$T/mpicc" STEMMA_H5LAUNCH="$T/launch"
sh "$here/t/t1035-h5bench.sh"
