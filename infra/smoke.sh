#!/bin/sh
# Checks that a running demo works: gets a token and books a bay. Accepts any certificate, because the certificate of
# the demo is self-signed. Usage:
#   infra/smoke.sh https://localhost:8443 https://localhost:8444
set -eu
auth=$1 bookings=$2
token=$(curl -skS --retry 5 "$auth/connect/token" -u demo-pat-north:demo-pat-north-secret \
  -d grant_type=client_credentials -d scope=https://bay-booking.example/golf/bookings | sed 's/.*"access_token":"\([^"]*\)".*/\1/')
# The booking starts at a random minute of the next four years, so that the script can run many times. The nanoseconds
# of the clock are the random number. `sed` removes leading zeros, because the shell would read the number as octal.
start=$(($(date +%s) + 86400 + $(date +%N | sed 's/^0*//' | cut -c1-7) % 2000000 * 60))
at() { date -u -d "@$1" +%Y-%m-%dT%H:%M:%SZ; }
response=$(curl -skS -w '\n%{http_code}' "$bookings/api/bookings" -H "Authorization: Bearer $token" -H 'Content-Type: application/json' \
  -d "{\"bayId\":\"bay-n1-01\",\"userAlias\":\"smoke\",\"startDate\":\"$(at $start)\",\"endDate\":\"$(at $((start + 60)))\"}")
echo "$response"
case $response in *201) ;; *) echo 'the booking was not created' >&2; exit 1 ;; esac
