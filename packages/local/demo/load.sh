#!/bin/sh
# Imports the demo into the service that the argument names, `auth` or `bookings`, for docker-compose.yml. The demo's
# passwords are published, so the demo needs URLs that only this machine can reach.
set -eu
case $AUTH_URL in
  https://localhost | https://localhost:* | https://127.0.0.1 | https://127.0.0.1:*) ;;
  *) echo "the demo is not loaded, because AUTH_URL is not a loopback address"; exit 0 ;;
esac
case $PUBLISHED_HOST,$DEMO in
  localhost,* | 127.* | ::1,* | \[::1\],*) ;;
  *,yes) echo "WARNING: HOST is $PUBLISHED_HOST, and the passwords of the demo are published" ;;
  *) echo "the demo is not loaded, because HOST is not a loopback address (DEMO=yes loads it)"; exit 0 ;;
esac
sed -e "s#{scope_base}#$SCOPE_BASE#g" -e "s#{bookings_url}#$BOOKINGS_URL#g" "/demo/$1.json" | node src/commands/import.ts -
