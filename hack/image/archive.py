#!/usr/bin/env python3
"""Makes container images out of plain programs, without a container engine.

Writes one OCI image layout as a tar (with the manifest.json that `docker load` reads as well; `ctr images import`
reads it) with every image that a kubeadm cluster of one version needs. An image is a list of layers; a layer is a set of files, each either a
static program or, for tools of Debian, a dynamic one with the libraries that ldd finds for it in a Debian
root file system. Layers with the same content are stored once. Called by hack/images.

  archive.py --rootfs DIR --version v1.37.2 --program NAME=FILE... --tag NAME=TAG[,TAG]... -o OUT
"""
import argparse
import hashlib
import io
import json
import os
import re
import subprocess
import tarfile

REGISTRY = "registry.k8s.io/"
EPOCH = "2026-01-01T00:00:00Z"
KUBERNETES = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
# what kube-proxy and flannel call, and what a test pod looks around with
NETWORK_TOOLS = ["/usr/sbin/" + t for t in (
    "iptables", "iptables-save", "iptables-restore", "ip6tables", "ip6tables-save", "ip6tables-restore",
    "xtables-nft-multi", "nft", "conntrack")] + ["/usr/bin/" + t for t in (
        "kmod", "ip", "ping", "dash", "sh", "cp", "cat", "sleep", "ls", "mkdir", "curl")]
EXTENSIONS = "/usr/lib/x86_64-linux-gnu/xtables/"   # loaded by iptables at run time, with libraries of their own


def merged(path):
    """The real place of a path of a merged-/usr Debian: /lib/x is /usr/lib/x."""
    return "/usr" + path if path.startswith(("/bin/", "/sbin/", "/lib/", "/lib64/")) else path


def with_libraries(rootfs, tools):
    """{path in image: ("file" | "link", source)} of tools, their link targets and their libraries."""
    files, todo = {}, list(tools)
    while todo:
        path = merged(todo.pop())
        if path in files:
            continue
        real = rootfs + path
        if os.path.islink(real):
            target = os.readlink(real)
            if "/etc/alternatives/" in target:      # take the nft flavour of iptables directly
                target = "xtables-nft-multi"
            files[path] = ("link", target)
            todo.append(os.path.normpath(os.path.join(os.path.dirname(path), target)))
            continue
        files[path] = ("file", real)
        ldd = subprocess.run(["chroot", rootfs or "/", "ldd", path], capture_output=True, text=True, check=False)
        todo += re.findall(r"(/\S+) \(0x", ldd.stdout)
    return files


def layer(files, dirs=(), texts=None):
    """An uncompressed, reproducible layer tar of files {path: ("file" | "link", source)}."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        made = set()

        def add(path, data=b"", **fields):
            info = tarfile.TarInfo(path.strip("/"))
            for key, value in fields.items():
                setattr(info, key, value)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))

        def mkdir(path):
            path = path.strip("/")
            if path and path not in made:
                mkdir(os.path.dirname(path))
                made.add(path)
                add(path, type=tarfile.DIRTYPE, mode=0o1777 if path.endswith("tmp") else 0o755)

        for path in dirs:
            mkdir(path)
        for path in sorted(files):
            kind, source = files[path]
            mkdir(os.path.dirname(path))
            if kind == "link":
                add(path, type=tarfile.SYMTYPE, linkname=source)
            else:
                with open(source, "rb") as file:
                    add(path, file.read(), mode=0o755)
        for path, text in (texts or {}).items():
            mkdir(os.path.dirname(path))
            add(path, text.encode(), mode=0o644)
    return buffer.getvalue()


def place(descriptor):
    return "blobs/" + descriptor["digest"].replace(":", "/")


class Archive:
    """An OCI image layout (image-spec 1.0) that is there as a whole or not at all."""

    def __init__(self, path):
        self.path, self.index, self.docker, self.have = path, [], [], set()
        self.part = f"{path}.tmp.{os.getpid()}"
        self.tar = tarfile.open(self.part, "w")

    def put(self, name, data):
        if name not in self.have:
            self.have.add(name)
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(data), 0o644
            self.tar.addfile(info, io.BytesIO(data))

    def blob(self, kind, data):
        """Stores data, and returns its descriptor."""
        digest = hashlib.sha256(data).hexdigest()
        self.put("blobs/sha256/" + digest, data)
        return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": "sha256:" + digest, "size": len(data)}

    def image(self, tags, layers, entrypoint, user=""):
        layers = [self.blob("layer.v1.tar", data) for data in layers]
        config = self.blob("config.v1+json", json.dumps({
            "architecture": "amd64", "os": "linux", "created": EPOCH,
            "config": {"Entrypoint": [entrypoint], "User": user, "WorkingDir": "/",
                       "Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"]},
            "rootfs": {"type": "layers", "diff_ids": [layer["digest"] for layer in layers]},
            "history": [{"created": EPOCH, "created_by": "hack/images"} for _ in layers],
        }, sort_keys=True).encode())
        manifest = self.blob("manifest.v1+json", json.dumps({
            "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "config": config,
            "layers": layers}, sort_keys=True).encode())
        for tag in tags:
            names = {"io.containerd.image.name": tag, "org.opencontainers.image.ref.name": tag.rpartition(":")[2]}
            self.index.append({**manifest, "platform": {"architecture": "amd64", "os": "linux"}, "annotations": names})
        self.docker.append({"Config": place(config), "RepoTags": tags, "Layers": [place(layer) for layer in layers]})

    def close(self):
        self.put("oci-layout", b'{"imageLayoutVersion": "1.0.0"}')
        index = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": self.index}
        self.put("index.json", json.dumps(index).encode())
        self.put("manifest.json", json.dumps(self.docker).encode())
        self.tar.close()
        os.replace(self.part, self.path)


def pairs(values):
    return dict(v.split("=", 1) for v in values)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rootfs", required=True)
    parser.add_argument("--version", required=True, help="the tag of the kube-* images")
    parser.add_argument("--program", action="append", default=[], help="NAME=FILE")
    parser.add_argument("--tag", action="append", default=[], help="NAME=TAG,TAG: an image beside the kube-* ones")
    parser.add_argument("-o", "--output", required=True)
    options = parser.parse_args()
    programs, tags = pairs(options.program), pairs(options.tag)

    base = layer({}, dirs=["tmp", "etc", "var/run", "run"], texts={
        "/etc/passwd": "root:x:0:0:root:/root:/sbin/nologin\nnobody:x:65534:65534:nobody:/:/sbin/nologin\n",
        "/etc/group": "root:x:0:\nnobody:x:65534:\n",
        "/etc/nsswitch.conf": "hosts: files dns\n",
    })
    tools = with_libraries(options.rootfs, NETWORK_TOOLS + [EXTENSIONS + f for f in os.listdir(options.rootfs + EXTENSIONS)])
    tools.update({"/" + d: ("link", "usr/" + d) for d in ("bin", "sbin", "lib", "lib64")})
    network = layer(tools)
    out = Archive(options.output)

    def program(name, where="/usr/local/bin"):
        return layer({f"{where}/{name}": ("file", programs[name])})

    def names(image, registry=REGISTRY):
        return [f"{registry}{image}:{tag}" for tag in dict.fromkeys(tags[image].split(","))]

    for name in KUBERNETES:
        out.image([f"{REGISTRY}{name}:{options.version}"], [base, program(name)], f"/usr/local/bin/{name}")
    out.image([f"{REGISTRY}kube-proxy:{options.version}"], [base, network, program("kube-proxy")], "/usr/local/bin/kube-proxy")
    if "etcd" in tags:
        out.image(names("etcd"), [base, program("etcd"), program("etcdctl")], "/usr/local/bin/etcd")
    if "pause" in tags:
        out.image(names("pause"), [program("pause", "")], "/pause", "65535:65535")
        out.image(names("coredns/coredns"), [base, program("coredns", "")], "/coredns")
        out.image(names("flannel-io/flannel", "ghcr.io/"),
                  [base, network, program("flanneld", "/opt/bin"), program("flannel", "/opt/cni/bin")], "/opt/bin/flanneld")
        out.image(["localhost/tools:1"], [base, network], "/bin/sh")
    out.close()


if __name__ == "__main__":
    main()
