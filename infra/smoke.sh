#!/bin/sh
# Does a system with the demo work from outside? Gets a token and books a bay: infra/smoke.sh https://localhost:8443 https://localhost:8444
# Certificates are not checked: this is for development's self-signed one.
set -eu
auth=$1 bookings=$2
token=$(curl -skS --retry 5 "$auth/connect/token" -u demo-pat-north:demo-pat-north-secret \
  -d grant_type=client_credentials -d scope=https://bay-booking.example/golf/bookings | sed 's/.*"access_token":"\([^"]*\)".*/\1/')
# Any minute of the next years, so that it can be run again and again.
start=$(($(date +%s) + 86400 + $(date +%N | sed 's/^0*//' | cut -c1-7) % 2000000 * 60))
at() { date -u -d "@$1" +%Y-%m-%dT%H:%M:%SZ; }
answer=$(curl -skS -w '\n%{http_code}' "$bookings/api/bookings" -H "Authorization: Bearer $token" -H 'Content-Type: application/json' \
  -d "{\"bayId\":\"bay-n1-01\",\"userAlias\":\"smoke\",\"startDate\":\"$(at $start)\",\"endDate\":\"$(at $((start + 60)))\"}")
echo "$answer"
case $answer in *201) ;; *) echo 'no booking was made' >&2; exit 1 ;; esac
