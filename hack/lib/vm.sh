# A virtual machine by plain libvirt, from the image of hack/image/guest: its keys, its seed, its definition.
# shellcheck shell=bash disable=SC2153
# Uses NAME, DIR, SUBNET and virsh_ of lib/hypervisor.sh.
. "$HACK/lib/kvm.sh"

vm_mac() { sha256sum <<<"$NAME/$1" | sed 's/^\(..\)\(..\)\(..\).*/52:54:00:\1:\2:\3/'; }   # vm_mac MACHINE

vm_serial() { echo "$1-disk" | cut -c1-20; }   # vm_serial MACHINE: of its disk; virtio has room for 20 characters

# vm_keys FOLDER: the user's key and the host's, known before the first boot
vm_keys() {
  local key
  mkdir -p "$1"
  for key in id_ed25519 ssh_host_ed25519_key; do
    [[ -f $1/$key ]] || ssh-keygen -q -t ed25519 -N '' -C "${1##*/}" -f "$1/$key"
  done
}

# vm_seed FOLDER MACHINE: FOLDER/seed.img, what cloud-init reads (NoCloud), with the keys of FOLDER
vm_seed() {
  cat >"$1/user-data" <<Y
#cloud-config
users:
- name: tatara
  shell: /bin/bash
  sudo: ALL=(ALL) NOPASSWD:ALL
  ssh_authorized_keys: [$(cat "$1/id_ed25519.pub")]
ssh_keys:
  ed25519_private: |
$(sed 's/^/    /' "$1/ssh_host_ed25519_key")
  ed25519_public: $(cat "$1/ssh_host_ed25519_key.pub")
Y
  printf 'instance-id: %s\nlocal-hostname: %s\n' "$2" "$2" >"$1/meta-data"
  (umask 077 && truncate -s 256K "$1/seed.img")
  mkfs.vfat -n CIDATA "$1/seed.img" >/dev/null
  mcopy -i "$1/seed.img" "$1/user-data" "$1/meta-data" ::
}

# vm_define MACHINE BIOS-OR-UEFI DISK [SEED]: CPUS (1) and MEMORY_MB (1024), on the network `default`
vm_define() {
  local type=qemu cpu=maximum os='' seed=''
  if kvm_works; then type=kvm cpu=host-passthrough; fi
  [[ $2 != uefi ]] || os=" firmware='efi'"
  [[ -z ${4:-} ]] || seed="<disk type='file' device='disk'><driver name='qemu' type='raw'/><source file='$4'/><target dev='vdb' bus='virtio'/><readonly/></disk>"
  virsh_ define /dev/stdin >/dev/null <<X
<domain type='$type'><name>$1</name><memory unit='MiB'>${MEMORY_MB:-1024}</memory><vcpu>${CPUS:-1}</vcpu>
<os$os><type arch='x86_64' machine='q35'>hvm</type>${os:+<firmware><feature enabled='no' name='secure-boot'/></firmware>}<boot dev='hd'/></os>
<features><acpi/><apic/></features><cpu mode='$cpu'/>
<devices>
<disk type='file' device='disk'><driver name='qemu' type='qcow2' discard='unmap'/><source file='$3'/><target dev='vda' bus='virtio'/><serial>$(vm_serial "$1")</serial></disk>
$seed
<interface type='network'><source network='default'/><mac address='$(vm_mac "$1")'/><model type='virtio'/></interface>
<serial type='file'><source path='/var/log/libvirt/$1-console.log'/></serial>
<channel type='unix'><target type='virtio' name='org.qemu.guest_agent.0'/></channel>
<rng model='virtio'><backend model='random'>/dev/urandom</backend></rng><memballoon model='virtio'/><controller type='usb' model='none'/>
</devices></domain>
X
}

# vm_address MACHINE ADDRESS: DHCP always gives it this one
vm_address() {
  virsh_ net-update default add ip-dhcp-host "<host mac='$(vm_mac "$1")' ip='$2'/>" --live --config >/dev/null
}

vm_overlay() {   # vm_overlay DISK IMAGE SIZE_MB: a disk that starts as the image
  qemu-img create -q -f qcow2 -F qcow2 -b "$2" "$1" "$3M"
}

vm_ssh() {   # vm_ssh FOLDER ADDRESS COMMAND...
  echo "$2 $(cat "$1/ssh_host_ed25519_key.pub")" >"$1/known_hosts"
  ssh -i "$1/id_ed25519" -o IdentitiesOnly=yes -o StrictHostKeyChecking=yes -o ControlPath=none -o LogLevel=ERROR \
    -o UserKnownHostsFile="$1/known_hosts" -o ConnectTimeout=30 "tatara@$2" "${@:3}"
}

vm_answers() {   # vm_answers ADDRESS: an sshd says its name there. Cheap: a login costs an emulated processor seconds
  # shellcheck disable=SC2016
  timeout 10 bash -c 'exec 3<>"/dev/tcp/$0/22" && read -r -t 9 banner <&3 && [[ $banner == SSH-* ]]' "$1" 2>/dev/null
}
