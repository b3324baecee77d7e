#!/usr/bin/env bash
# What every host has: users, and no unit for hardware that is not there. common.sh ROOT
set -euo pipefail
root=$1
for user in debian nosudo; do
  chroot "$root" id "$user" >/dev/null 2>&1 || chroot "$root" useradd -m -s /bin/bash "$user"
done
chmod 440 "$root/etc/sudoers.d/debian"
# Debian's own kernel settings are the machine's, and cannot be changed from a host (hack/host-init)
mkdir -p "$root/etc/sysctl.d"
for file in "$root"/usr/lib/sysctl.d/*; do ln -sfn /dev/null "$root/etc/sysctl.d/${file##*/}"; done
# no udev, no getty, no kernel modules, nothing periodic
for unit in systemd-udevd.service systemd-udev-trigger.service systemd-udevd-control.socket systemd-udevd-kernel.socket \
  systemd-modules-load.service sys-kernel-debug.mount sys-kernel-tracing.mount \
  sys-kernel-config.mount sys-fs-fuse-connections.mount dev-hugepages.mount dev-mqueue.mount \
  systemd-remount-fs.service systemd-binfmt.service proc-sys-fs-binfmt_misc.automount \
  getty.target console-getty.service getty@tty1.service \
  apt-daily.timer apt-daily-upgrade.timer e2scrub_all.timer fstrim.timer dpkg-db-backup.timer; do
  ln -sfn /dev/null "$root/etc/systemd/system/$unit"
done
ln -sfn /lib/systemd/system/multi-user.target "$root/etc/systemd/system/default.target"
mkdir -p "$root/etc/systemd/system/multi-user.target.wants"
ln -sfn /lib/systemd/system/ssh.service "$root/etc/systemd/system/multi-user.target.wants/ssh.service"
mkdir -p "$root/var/log/journal" "$root/old_root"
: >"$root/etc/machine-id"
