#!/usr/bin/env bash
# What a virtual machine has beyond its packages and files. image.sh ROOT
set -euo pipefail
root=$1
echo tatara >"$root/etc/hostname"
: >"$root/etc/machine-id"        # each machine makes its own
rm -f "$root"/etc/ssh/ssh_host_* "$root/var/lib/dbus/machine-id"
ln -sfn /run/systemd/resolve/resolv.conf "$root/etc/resolv.conf"
for unit in systemd-networkd systemd-resolved ssh qemu-guest-agent serial-getty@ttyS0; do
  chroot "$root" systemctl --quiet enable "$unit"
done
# nothing periodic, and no hardware that a virtual machine has not
for unit in apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer e2scrub_reap.service \
  man-db.timer systemd-pcrphase.service systemd-pcrphase-sysinit.service systemd-binfmt.service getty@tty1.service \
  proc-sys-fs-binfmt_misc.automount dev-hugepages.mount sys-kernel-debug.mount sys-kernel-tracing.mount \
  cloud-init-hotplugd.socket; do
  ln -sfn /dev/null "$root/etc/systemd/system/$unit"
done
# a small one, quick to unpack
chroot "$root" update-initramfs -c -k all >/dev/null
for file in "$root"/boot/initrd.img-*; do ln -sfn "boot/${file##*/}" "$root/initrd.img"; done
[[ -f $root/initrd.img && -f $root/vmlinuz ]] || { echo 'there is no kernel, or no initial RAM disk' >&2; exit 1; }
# GRUB as one file for each kind of firmware; it finds the root file system by its label
cat >"$root/boot/grub/load.cfg" <<'C'
search --no-floppy --set=root --label tatara-root
set prefix=($root)/boot/grub
configfile /boot/grub/grub.cfg
C
modules=(normal configfile search search_label part_gpt ext2 linux echo test)
chroot "$root" grub-mkimage -O i386-pc -c /boot/grub/load.cfg -p /boot/grub -o /boot/grub/core.img biosdisk "${modules[@]}"
chroot "$root" grub-mkimage -O x86_64-efi -c /boot/grub/load.cfg -p /boot/grub -o /boot/grub/bootx64.efi fat "${modules[@]}"
