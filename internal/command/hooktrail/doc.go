// Package hooktrail implements the hooktrail command. It runs the demo and all services in one
// process (up), shows the runs in the ledger, checks hooks.yaml files, and manages accounts and
// tenants of a NATS server.
package hooktrail
