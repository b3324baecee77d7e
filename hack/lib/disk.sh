# The disk of a host: an empty one on the shared root file system, made at its first start.
# shellcheck shell=bash
# disk/{upper,work,var}: what differs from the shared root, and /var. With DISK_MB they live in
# disk.img, an ext4 of that size that only the host mounts.

# make_disk NAME ADDR ROOTFS GOLDEN-OR-NOTHING DISK_MB-OR-NOTHING
make_disk() {
  local dir=$DIR/$1 etc=$DIR/$1/disk/upper/etc user
  mkdir -p "$dir/disk/work" "$dir/root" "$etc/ssh"
  cp -a "$3/var" "$dir/disk/var"
  if [[ -n $4 && -z $5 ]]; then
    # blobs and unpacked layers are never written in place: link them; copy the databases
    rm -rf "$dir/disk/var/lib/containerd"
    cp -al "$4/containerd" "$dir/disk/var/lib/"
    find "$dir/disk/var/lib/containerd" -name '*.db' -exec sh -c 'cp -p "$1" "$1.n" && mv "$1.n" "$1"' _ {} \;
  fi
  echo "$1" >"$etc/hostname"
  tr -d - </proc/sys/kernel/random/uuid >"$etc/machine-id"
  printf '127.0.0.1 localhost\n%s %s\n' "$2" "$1" >"$etc/hosts"
  name_servers >"$etc/resolv.conf"
  authorize "$3" "$dir/disk/upper" root 0 /root
  for user in debian:1000 nosudo:1001; do authorize "$3" "$dir/disk/upper" "${user%:*}" "${user#*:}" "/home/${user%:*}"; done
  : >"$dir/hostkeys"
  for type in ed25519 ecdsa; do
    ssh-keygen -q -t "$type" -N '' -C "$1" -f "$etc/ssh/ssh_host_${type}_key"
    cut -d' ' -f1,2 "$etc/ssh/ssh_host_${type}_key.pub" >>"$dir/hostkeys"
  done
  if [[ -n $5 ]]; then
    truncate -s "$5M" "$dir/disk.img"
    mkfs.ext4 -q -m 0 -d "$dir/disk" "$dir/disk.img" 2>/dev/null ||
      { rm -rf "$dir"; die "DISK_MB=$5 is too small for host \"$1\": its /var alone needs more"; }
    rm -rf "$dir/disk"
    mkdir "$dir/disk"
  fi
}

authorize() {   # authorize ROOTFS UPPER USER UID HOME
  install -d -o "$4" -g "$4" -m "$(stat -c %a "$1$5")" "$2$5"
  install -d -o "$4" -g "$4" -m 700 "$2$5/.ssh"
  install -o "$4" -g "$4" -m 600 "$KEY.pub" "$2$5/.ssh/authorized_keys"
}
