-- The server itself.

-- name: server
-- Facts about the server and this database, and the number of other connections.
SELECT current_setting('server_version') AS version, pg_database_size(current_database()) AS size_bytes,
       (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
        AND pid <> pg_backend_pid()) AS connections;
