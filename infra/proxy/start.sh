#!/bin/sh
# Starts nginx as an ordinary user. The file system is read-only, so nginx writes only to /tmp. TLS_CERTIFICATE and
# TLS_KEY are the paths of mounted files. Without them, the script creates a self-signed certificate for localhost,
# which is only for development.
set -eu
if [ -z "${TLS_CERTIFICATE:-}" ]; then
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj /CN=localhost \
    -addext subjectAltName=DNS:localhost,IP:127.0.0.1 -keyout /tmp/tls.key -out /tmp/tls.crt 2>/dev/null
  TLS_CERTIFICATE=/tmp/tls.crt TLS_KEY=/tmp/tls.key
  echo 'start-proxy: TLS_CERTIFICATE is not set, so a self-signed certificate for localhost was created (for development only)' >&2
fi
# Makes nginx look up the names of the services every 5 s, so that it finds new and restarted containers. nginx needs
# brackets around an IPv6 address.
nameserver=$(awk '$1 == "nameserver" { print $2; exit }' /etc/resolv.conf)
case $nameserver in *:*) nameserver="[$nameserver]" ;; esac
printf 'resolver %s valid=5s ipv6=off;\nresolver_timeout 2s;\n' "$nameserver" >/tmp/resolver.conf
printf 'ssl_certificate %s;\nssl_certificate_key %s;\n' "$TLS_CERTIFICATE" "$TLS_KEY" >/tmp/tls.conf
printf 'set $auth %s;\n' "${AUTH_UPSTREAM:-auth:4000}" >/tmp/auth.conf
printf 'set $bookings %s;\n' "${BOOKINGS_UPSTREAM:-bookings:4001}" >/tmp/bookings.conf
exec nginx -c /etc/nginx/nginx.conf
