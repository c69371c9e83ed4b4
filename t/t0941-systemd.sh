#!/bin/sh
# The service under a real systemd, the first process of an emulated machine (tests/kernel/boot): started, asked,
# reloaded, hung, killed, stopped. Kernels as t0940-kernels.sh has them; needs systemd's programs. Some minutes.
set -u
here=$(cd "$(dirname "$0")/.." && pwd -P)
BUILD=${BUILD:-$here/build}
kernels=${STEMMA_KERNELS:-$BUILD/kernels}
export PATH="$PATH:/usr/sbin:/sbin"
count=0
failed=0

nothing()
{
	echo "1..0 # SKIP $1"
	exit 0
}
[ "$(uname -m)" = x86_64 ] || nothing "kernels for x86-64 alone are tried"
for program in qemu-system-x86_64 busybox cpio mke2fs ldd systemctl; do
	command -v $program >/dev/null || nothing "$program is not installed"
done
[ -x /usr/lib/systemd/systemd ] || nothing "systemd is not installed"
[ -x "$BUILD/src/daemon/stemmad" ] || nothing "stemmad was not built"
image=$(find -L "$kernels" -path '*/boot/vmlinuz-6*' 2>/dev/null | head -n 1)
[ -n "$image" ] || nothing "no kernel 6 in $kernels (tools/get-kernels fetches some)"

T=$(mktemp -d "${TMPDIR:-/tmp}/stemma-t.XXXXXX") || exit 1
trap 'rm -rf "$T"' EXIT
trap 'exit 1' INT TERM HUP
to=$T/tree
add()
{ # FILE: with its libraries
	mkdir -p "$to$(dirname "$1")"
	cp -L "$1" "$to$1"
	{ ldd "$1" 2>/dev/null || :; } | sed -n 's/^[^/]*\(\/[^ ]*\) .*/\1/p' | while read -r lib; do
		mkdir -p "$to$(dirname "$lib")"
		[ -e "$to$lib" ] || cp -L "$lib" "$to$lib"
	done
}
"$here/tests/kernel/tree" "$to" "$here" "$BUILD" >"$T/log" 2>&1
add /usr/lib/systemd/systemd
add "$(command -v systemctl)"
for lib in /usr/lib/*/systemd/*.so; do
	add "$lib"
done
mkdir -p "$to/usr/lib/systemd/system" "$to/etc/systemd/system/stemmad.service.d" "$to/var/log"
cp /usr/lib/systemd/system/*.target "$to/usr/lib/systemd/system/"
cp "$BUILD/src/daemon/stemmad" "$to/usr/sbin/stemmad"
cp "$here/packaging/systemd/stemmad.service" "$to/etc/systemd/system/"
# Slow as it is, it may take more of the processor; and the watchdog is not waited for so long.
printf '[Service]\nWatchdogSec=8\nStandardError=append:/var/log/stemmad\nExecStart=\nExecStart=/usr/sbin/stemmad -o max_cpu=1000\n' >"$to/etc/systemd/system/stemmad.service.d/test.conf"
printf '[Unit]\nDefaultDependencies=no\n[Service]\nType=oneshot\nExecStart=/bin/sh /run-command\n' >"$to/etc/systemd/system/try.service"
printf '[Unit]\nDefaultDependencies=no\nWants=try.service\n' >"$to/etc/systemd/system/default.target"
echo 0123456789abcdef0123456789abcdef >"$to/etc/machine-id"
printf '#!/bin/sh\nmount -t tmpfs run /run\nexec /usr/lib/systemd/systemd\n' >"$to/init-of-tree"
chmod 755 "$to/init-of-tree"
cat >"$to/try.sh" <<'END'
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
show()
{
	systemctl show -p "$1" --value stemmad
}
until_active()
{ # another process than before, and it answers
	i=0
	until [ "$(show ActiveState)" = active ] && [ "$(show MainPID)" != "$pid" ] && stemmad --stats >/dev/null 2>&1; do
		i=$((i + 1))
		[ $i -lt 60 ] || break
		sleep 1
	done
	pid=$(show MainPID)
}
pid=0
echo "first process: $(cat /proc/1/comm)"
systemctl start stemmad && echo "started: $(show ActiveState)"
until_active
[ "$(readlink "/proc/$pid/ns/mnt")" = "$(readlink /proc/self/ns/mnt)" ] && echo "mounts: the machine's"
sed -n 's/^CapEff:\t0*//p' "/proc/$pid/status" | sed 's/^/capabilities: /'
sed -n 's/^CapAmb:\t0*//p' "/proc/$pid/status" | sed 's/^/for others: /'
helper=$(sed -n 's/ .*//p' "/proc/$pid/task/$pid/children")
cat "/proc/$pid/status" "/proc/$helper/status" | sed -n 's/^Uid:[\t ]*//p' | tr '\t' ' ' | uniq -c | sed 's/^ */users: /'
echo hello >/tmp/made
/s/build/src/cmd/stemma --node why /tmp/made
systemctl reload stemmad
sleep 1
grep 'settings were reread' /var/log/stemmad
kill -STOP "$pid"
until_active
echo "hung: restarts $(show NRestarts)"
kill -KILL "$pid"
until_active
echo "killed: restarts $(show NRestarts)"
/s/build/src/cmd/stemma --node sql "SELECT 'gaps: ' || count(DISTINCT began) AS n FROM gap WHERE reason = 'recorder_died'"
systemctl stop stemmad
echo "stopped: $(show ActiveState) $(show Result)"
END
BOOT_SECONDS=${BOOT_SECONDS:-900} "$here/tests/kernel/boot" "$image" "${image%/boot/*}/lib/modules" "$to" sh /try.sh >"$T/out" 2>>"$T/log"
says()
{ # LINE WHAT
	count=$((count + 1))
	if grep -q "$1" "$T/out"; then
		echo "ok $count - $2"
	else
		failed=1
		echo "not ok $count - $2"
		tail -n 30 "$T/out" "$T/log" | cut -c 1-200 | sed 's/^/# /'
	fi
}
says '^first process: systemd' "systemd is the first process"
says '^started: active' "the service starts, and says so itself"
says "^mounts: the machine's" "it sees the mounts that all others see"
says '^capabilities: c000000000' "few capabilities are left"
says '^for others: $' "... and none for what it starts"
says '^users: 2 900 900 900 900' "it and its helper are a user of their own"
says '^/tmp/made@{1}: made by' "it records, and is asked"
says 'settings were reread' "reload"
says '^hung: restarts 1' "hung: the watchdog starts another"
says '^killed: restarts 2' "killed: another is started"
says '^gaps: 2' "... and both intervals are told"
says '^stopped: inactive success' "stopped in good order"
echo "1..$count"
[ $failed = 0 ]
