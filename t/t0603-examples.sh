#!/bin/sh
# Ordinary command lines stay as they are: those of the EXAMPLES of manual pages. Pages of this machine, and of packages that
# are fetched where the machine's mirror can be reached. What is redacted and was not judged right by hand
# (tests/redact/examples-known.txt) is a false one: at most 5 in 1,000.
# Usage: t0603-examples.sh PROGRAM-redact_corpus
corpus=$(realpath "${1:-$(dirname "$0")/../build/tests/redact_corpus}")
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

packages='git-man nmap lvm2 btrfs-progs nftables iptables ipset podman buildah skopeo borgbackup restic rclone aria2 tmux parallel gdal-bin
nco cdo bcftools bedtools sox gmt miller datamash qpdf libimage-exiftool-perl ghostscript slurm-client squashfs-tools mtools
xmlstarlet csvkit sqlite3 redis-tools ldap-utils smbclient nfs-common cifs-utils openssh-client gpg httpie lftp mosquitto-clients
snmp ipmitool network-manager apache2-utils wpasupplicant krb5-user cryptsetup-bin steghide ccrypt tcpdump tshark ngrep socat ncat
fio stress-ng sysstat strace ltrace valgrind ripgrep fd-find hyperfine duplicity rdiff-backup mercurial subversion fossil devscripts
dpkg-dev reprepro schroot sbuild mmdebstrap qemu-utils libvirt-clients virtinst lxc pandoc groff poppler-utils ffmpeg mkvtoolnix
netpbm graphviz units moreutils rsync mutt msmtp swaks'
mkdir "$T/pages" "$T/packages"
if command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null; then
	# shellcheck disable=SC2086 # words
	there=$(apt-cache policy $packages 2>/dev/null | awk '/^[a-z]/ { p = $1 } /Candidate: [0-9]/ { sub(":", "", p); print p }')
	# shellcheck disable=SC2086 # words
	[ -n "$there" ] && (cd "$T/packages" && timeout 300 apt-get -q download $there >"$out" 2>"$err")
	for p in "$T/packages"/*.deb; do
		[ -f "$p" ] && dpkg-deb --fsys-tarfile "$p" | tar -x -C "$T/pages" --wildcards './usr/share/man/man1/*' './usr/share/man/man8/*' 2>/dev/null
	done
fi
$PYTHON "$here/tests/redact/examples.py" -n 8000 /usr/share/man "$T/pages/usr/share/man" >"$T/lines" 2>"$err"
n=$(wc -l <"$T/lines")
if [ "$n" -lt 500 ]; then
	skip 'ordinary command lines stay' "$n examples are here: no manual pages, and no packages can be fetched"
	finish
	exit
fi
"$corpus" --stays <"$T/lines" >"$T/said"
grep -v '^     ->' "$T/said" | sed '$d' | grep -vF -f "$here/tests/redact/examples-known.txt" >"$T/false"
echo "# $n lines, $(tail -n 1 "$T/said" | awk '{ print $3 }') redacted, $(wc -l <"$T/false") of them wrongly"
cp "$T/false" "$out"
[ "$(($(wc -l <"$T/false") * 1000))" -le "$((5 * n))" ]
check 'ordinary command lines stay'
sed "s/^/# wrongly: /" "$T/false"
finish
