# Whether this machine can run virtual machines at its own speed.
# shellcheck shell=bash

# Also without hardware for it a machine may have /dev/kvm (pvm): no distribution's kernel boots on that.
kvm_works() { [[ -w /dev/kvm ]] && grep -qE '^flags.* (vmx|svm)( |$)' /proc/cpuinfo; }
