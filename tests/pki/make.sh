#!/bin/sh
# Makes the authorities of this folder with OpenSSL 3, as users bring them. They guard nothing.
set -eu
cd "$(dirname "$0")"
self() { # self OUT KEY SUBJECT EXTENSION...
  out=$1 key=$2 subject=$3
  shift 3
  {
    printf '[req]\ndistinguished_name=dn\nprompt=no\nx509_extensions=ext\n[dn]\n%b\n[ext]\n' "$subject"
    printf '%s\n' "$@"
  } >req.cnf
  openssl req -x509 -new -key "$key" -days 36500 -config req.cnf -out "$out"
  rm req.cnf
}
ca='basicConstraints=critical,CA:TRUE'
sign='keyUsage=critical,digitalSignature,keyEncipherment,keyCertSign'

openssl genrsa -traditional -out rsa-pkcs1.key 2048
openssl pkcs8 -topk8 -nocrypt -in rsa-pkcs1.key -out rsa-pkcs8.key
openssl pkcs8 -topk8 -passout pass:secret -in rsa-pkcs1.key -out encrypted.key
openssl ecparam -name prime256v1 -genkey -out ec-sec1.key
openssl pkcs8 -topk8 -nocrypt -in ec-sec1.key -out ec-pkcs8.key
openssl ecparam -name secp384r1 -genkey -noout -out ec384-sec1.key
self rsa.crt rsa-pkcs1.key 'C=JP\nO=Forge\nCN=Forge CA' "$ca" "$sign"
self ec.crt ec-sec1.key 'CN=kubernetes' "$ca" "$sign"
self ec384.crt ec384-sec1.key 'CN=kubernetes' "$ca"
self leaf.crt ec-sec1.key 'CN=leaf' 'basicConstraints=CA:FALSE'
self no-cert-sign.crt ec-sec1.key 'CN=kubernetes' "$ca" 'keyUsage=digitalSignature'
self repeated.crt ec-sec1.key '0.DC=com\n1.DC=example\nCN=Forge CA' "$ca" "$sign"
printf 'sha256:%s\n' "$(openssl x509 -in rsa.crt -noout -pubkey |
  openssl pkey -pubin -outform DER | sha256sum | cut -d' ' -f1)" >rsa.hash
