#!/usr/bin/env python3
"""Packs the manager into a container image, without a container engine: the program, the libraries that ldd finds
for it on this machine, this machine's CA certificates, by which it trusts servers of images (https), and nothing
else. (Not static: a static glibc resolves no host names.)

  manager.py --binary FILE --tag localhost/tatara:v0.1.0 -o OUT      (root, for ldd in a file system of its own)
"""
import argparse
import os
import sys

from archive import Archive, layer, with_libraries

ROOTS = "/etc/ssl/certs/ca-certificates.crt"    # of Debian's package ca-certificates


def roots():
    try:
        with open(ROOTS, encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        sys.exit(f"manager.py: {ROOTS} is missing: install the package ca-certificates (hack/doctor does)")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--tag", required=True)
    parser.add_argument("-o", "--output", required=True)
    options = parser.parse_args()

    binary = os.path.realpath(options.binary)
    files = with_libraries("", [binary])
    files["/tatara"] = files.pop(binary)
    files.update({"/" + d: ("link", "usr/" + d) for d in ("lib", "lib64")})
    base = layer({}, dirs=["tmp", "etc"], texts={
        "/etc/passwd": "tatara:x:65532:65532:tatara:/:/sbin/nologin\n",
        "/etc/group": "tatara:x:65532:\n",
        "/etc/nsswitch.conf": "hosts: files dns\n",
        ROOTS: roots(),
    })
    out = Archive(options.output)
    out.image([options.tag], [base, layer(files)], "/tatara", "65532:65532")
    out.close()


if __name__ == "__main__":
    main()
