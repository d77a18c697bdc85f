#!/bin/sh
# boot.sh SYSTEM NOTIFY [NAME=FILE...] boots the system in a directory, with systemd as process 1: in namespaces of its
# own, and on a copy of the system that is in memory. Each FILE is /usr/local/bin/NAME there. Systemd says to the socket
# NOTIFY when it has started. What was started here ends with this process.
set -eu
system=$1 notify=$2
shift 2
group=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)/culvert-boot-$$
mkdir "$group"
echo $$ >"$group/cgroup.procs"
# shellcheck disable=SC2016 # the variables are those of the inner shell
exec unshare --fork --kill-child --pid --mount --uts --ipc --net --cgroup --propagation private sh -euc '
system=$1 notify=$2
shift 2
mount -t tmpfs tmpfs /mnt
mkdir /mnt/upper /mnt/work /mnt/root
mount -t overlay -o "lowerdir=$system,upperdir=/mnt/upper,workdir=/mnt/work" overlay /mnt/root
cd /mnt/root
mount -t proc proc proc
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs -o mode=755 tmpfs dev
for device in null zero full random urandom tty; do
	touch "dev/$device"
	mount --bind "/dev/$device" "dev/$device"
done
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts
mount -t tmpfs tmpfs dev/shm
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
mount -t tmpfs -o mode=755 tmpfs run
mkdir run/host
touch run/host/notify
mount --bind "$notify" run/host/notify
for program in "$@"; do
	touch "usr/local/bin/${program%%=*}"
	mount --bind "${program#*=}" "usr/local/bin/${program%%=*}"
done
mkdir old
pivot_root . old
cd /
umount -l old
rmdir old
mount --make-rshared /
exec env -i container=culvert NOTIFY_SOCKET=/run/host/notify PATH=/usr/sbin:/usr/bin:/sbin:/bin \
	/lib/systemd/systemd --system systemd.unit=multi-user.target
' sh "$system" "$notify" "$@"
