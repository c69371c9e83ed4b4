# shellcheck shell=sh
# served.sh - for scripts in a mount namespace of their own, by `.`: serves a file system at m ($serve: fuse_serve.py, its file
# is backing) and waits until it is there. Ends with 77 if none can be served; its complaints are in the file served. `umount m` ends it.
mkdir -p m
echo backing >backing
$PYTHON -B "$serve" "$PWD/m" "$PWD/backing" "$PWD/ready" 2>served &
i=0
until [ -e ready ]; do
	i=$((i + 1))
	[ $i -lt 600 ] && kill -0 $! 2>/dev/null || exit 77
	sleep 0.05
done
