#!/bin/bash
# Run once by the image of PostgreSQL, when the database is made: the login of the service and its rights.
set -euo pipefail
password=$(cat /run/secrets/service_password)
psql --set ON_ERROR_STOP=1 --set password="$password" --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" <<'SQL'
CREATE ROLE tidegate_app NOLOGIN;
CREATE ROLE tidegate_service LOGIN PASSWORD :'password';
GRANT tidegate_app TO tidegate_service;
GRANT pg_monitor TO tidegate_app;
ALTER ROLE tidegate_service SET role = 'tidegate_app';
ALTER ROLE tidegate_service SET statement_timeout = '5s';
ALTER ROLE tidegate_service SET lock_timeout = '2s';
ALTER ROLE tidegate_service SET idle_in_transaction_session_timeout = '10s';
ALTER ROLE tidegate_service SET jit = off;
SQL
