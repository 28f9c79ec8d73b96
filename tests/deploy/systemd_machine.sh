# Runs a systemd of its own, in namespaces of its own: sh systemd_machine.sh FOLDER UNITS TARGET
#
# It sees this machine's files; what it writes is in memory, and gone when it ends.
set -e
folder=$1 units=$2 target=$3
mount --make-rprivate /
mount -t tmpfs tmpfs "$folder"
mkdir "$folder/upper" "$folder/work" "$folder/root"
root=$folder/root
mount -t overlay overlay -o "lowerdir=/,upperdir=$folder/upper,workdir=$folder/work" "$root"
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/run"
if [ -d /sys/fs/cgroup/systemd ]; then
    mount -t tmpfs tmpfs "$root/sys/fs/cgroup"
    mkdir "$root/sys/fs/cgroup/systemd" "$root/sys/fs/cgroup/memory" "$root/sys/fs/cgroup/pids"
    mount -t cgroup -o none,name=systemd cgroup "$root/sys/fs/cgroup/systemd"
    mount -t cgroup -o memory cgroup "$root/sys/fs/cgroup/memory"
    mount -t cgroup -o pids cgroup "$root/sys/fs/cgroup/pids"
else
    mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
fi
# Nothing of this machine starts.
rm -rf "$root/etc/systemd/system"
mkdir "$root/etc/systemd/system"
cp -R "$units/." "$root/etc/systemd/system"
# Python may be in the home of whoever runs the tests.
chmod o+x "$root/root"
mkdir -p "$root/opt/penstock"
mkdir "$root/before"
cd "$root"
pivot_root . before
mkdir -p /opt/penstock /run/tests
mount --bind "/before$(dirname "$units")/opt" /opt/penstock
mount --bind "/before$(dirname "$units")/run" /run/tests
umount -l /before
exec env -i container=lxc PATH="$PATH" /lib/systemd/systemd --system --unit="$target" \
    --log-target=console --show-status=no </dev/null >/run/tests/log 2>&1
