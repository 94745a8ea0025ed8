#!/bin/bash
# Creates both databases and their roles, with the passwords from environment variables. The PostgreSQL container runs
# this script when it starts for the first time.
set -euo pipefail
for name in auth bookings; do
  # The names of the two variables, such as AUTH_OWNER_PASSWORD. `${!owner_password}` is the value of that variable.
  owner_password="${name^^}_OWNER_PASSWORD" service_password="${name^^}_SERVICE_PASSWORD"
  OWNER_PASSWORD="${!owner_password}" SERVICE_PASSWORD="${!service_password}" \
    psql -v ON_ERROR_STOP=1 --no-psqlrc -U "$POSTGRES_USER" -d postgres -v name="$name" -f /infra/service.sql
done
