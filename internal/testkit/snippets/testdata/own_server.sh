# The steps of docs/operations.md for a server of your own, up to its start.
hooktrail tenant add acme --out acme.nk
hooktrail nats creds --dir creds
cp /src/deploy/nats.conf . && cp -r creds/nats auth
sed -i 's#store_dir: "/data"#store_dir: "/tmp/nats"#' nats.conf
sed -n '/^   include "nats.conf"/,/^   tls/p' /src/docs/operations.md > server.conf
nats-server -c server.conf -t
