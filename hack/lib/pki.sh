# Certificates, and kubeconfigs of a management plane, by openssl.
# shellcheck shell=bash

# issue NAME SUBJECT EXTENSIONS: a key and a certificate of the CA in the current folder
issue() {
  openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "$2" -keyout "$1.key" -out "$1.csr" 2>/dev/null
  openssl x509 -req -in "$1.csr" -CA ca.crt -CAkey ca.key -days 3650 -extfile <(printf '%s\n' "keyUsage=critical,digitalSignature" "$3") -out "$1.crt" 2>/dev/null
  rm "$1.csr"
}

# make_ca NAME: ca.key and ca.crt in the current folder
make_ca() {
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650 -subj "/CN=$1" \
    -addext keyUsage=critical,digitalSignature,keyCertSign -keyout ca.key -out ca.crt 2>/dev/null
}

make_pki() (   # make_pki FOLDER
  umask 077
  mkdir -p "$1"
  cd "$1" || exit
  make_ca tatara-management
  # serves etcd and the API server; etcd also knows the API server by it
  issue server /CN=kube-apiserver "$(printf '%s\n' extendedKeyUsage=serverAuth,clientAuth \
    subjectAltName=IP:127.0.0.1,IP:10.0.0.1,DNS:localhost,DNS:kubernetes.default.svc)"
  issue admin /O=system:masters/CN=admin extendedKeyUsage=clientAuth
  issue kube-controller-manager /CN=system:kube-controller-manager extendedKeyUsage=clientAuth
  openssl ecparam -name prime256v1 -genkey -noout -out sa.key
  openssl ec -in sa.key -pubout -out sa.pub 2>/dev/null
)

# kubeconfig_with SERVER-PORT USER NAMESPACE PKI CREDENTIAL-LINES
kubeconfig_with() {
  cat <<Y
apiVersion: v1
kind: Config
current-context: management
clusters:
- name: management
  cluster: {server: "https://127.0.0.1:$1", certificate-authority-data: $(base64 -w0 "$4/ca.crt")}
contexts:
- name: management
  context: {cluster: management, user: "$2", namespace: "$3"}
users:
- name: "$2"
  user: {$5}
Y
}

write_kubeconfig() {   # write_kubeconfig FILE PORT NAME PKI: by client certificate
  (umask 077 && kubeconfig_with "$2" "$3" default "$4" \
    "client-certificate-data: $(base64 -w0 "$4/$3.crt"), client-key-data: $(base64 -w0 "$4/$3.key")" >"$1.tmp")
  mv "$1.tmp" "$1"
}

token_kubeconfig() { kubeconfig_with "$1" "$2" "$3" "$5" "token: $4"; }   # PORT ACCOUNT NAMESPACE TOKEN PKI
