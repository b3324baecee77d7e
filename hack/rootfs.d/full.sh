#!/usr/bin/env bash
# What a host with the software preinstalled has beyond its packages and files.
#   PAUSE=tag CGROUP_DRIVER=systemd|cgroupfs full.sh ROOT
set -euo pipefail
root=$1
systemd=false
[[ $CGROUP_DRIVER != systemd ]] || systemd=true
sed -i -e "s/@PAUSE@/$PAUSE/" -e "s/@SYSTEMD_CGROUP@/$systemd/" "$root/etc/containerd/config.toml"
cp -f "$root"/usr/lib/cni/* "$root/opt/cni/bin/"
for unit in containerd kubelet; do
  ln -sfn "/lib/systemd/system/$unit.service" "$root/etc/systemd/system/multi-user.target.wants/$unit.service"
done
# there for the virtual IP, started by whoever configures one
rm -f "$root/etc/systemd/system/multi-user.target.wants/keepalived.service"
mkdir -p "$root/etc/kubernetes/manifests" "$root/etc/cni/net.d"
