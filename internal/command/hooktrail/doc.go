// Package hooktrail implements the hooktrail command. Its subcommands run the demo, run all
// services in one process (up), show the runs in the ledger, check hooks.yaml files, and manage the
// accounts and tenants of a NATS server.
package hooktrail
