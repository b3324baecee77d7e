#!/usr/bin/env python3
"""Makes a disk image start GRUB from a BIOS, as grub-bios-setup does, but in a plain file.

  grub-bios.py DISK BOOT.IMG CORE.IMG START SIZE     of the BIOS boot partition, in sectors

BOOT.IMG goes into the first sector, in front of the partition table, and is told where CORE.IMG starts; the first
sector of CORE.IMG is told where its rest lies.
"""
import struct
import sys

SECTOR = 512
CODE = 440              # the first sector's own code; behind it are the disk's signature and the partition table
KERNEL_SECTOR = 0x5c    # in BOOT.IMG: where CORE.IMG starts
DRIVE_CHECK = 0x66      # in BOOT.IMG: a jump over "use the drive that the BIOS names", for old BIOSes
BLOCK_LIST = 500        # in CORE.IMG: start, length and segment of its rest
SEGMENT = 0x820


def main():
    disk, boot, core = sys.argv[1:4]
    start, size = int(sys.argv[4]), int(sys.argv[5])
    with open(boot, "rb") as file:
        boot = bytearray(file.read())
    with open(core, "rb") as file:
        core = bytearray(file.read())
    if len(boot) != SECTOR:
        sys.exit(f"{sys.argv[2]} has {len(boot)} bytes, not {SECTOR}")
    sectors = -(-len(core) // SECTOR)
    if sectors > size:
        sys.exit(f"{sys.argv[3]} has {sectors} sectors, its partition {size}")
    struct.pack_into("<Q", boot, KERNEL_SECTOR, start)
    boot[DRIVE_CHECK:DRIVE_CHECK + 2] = b"\x90\x90"
    struct.pack_into("<QHH", core, BLOCK_LIST, start + 1, sectors - 1, SEGMENT)
    with open(disk, "r+b") as file:
        file.write(boot[:CODE])
        file.seek(start * SECTOR)
        file.write(core)


if __name__ == "__main__":
    main()
