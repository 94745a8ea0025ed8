#!/bin/bash
# Runs when the PostgreSQL container starts for the first time: creates both databases and their roles, with the
# passwords from the environment.
set -euo pipefail
for name in auth bookings; do
  owner_password="${name^^}_OWNER_PASSWORD" service_password="${name^^}_SERVICE_PASSWORD"
  psql -v ON_ERROR_STOP=1 --no-psqlrc -U "$POSTGRES_USER" -d postgres \
    -v name="$name" -v owner_password="${!owner_password}" -v service_password="${!service_password}" -f /infra/service.sql
done
