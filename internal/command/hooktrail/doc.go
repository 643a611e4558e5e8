// Package hooktrail implements the hooktrail command. It runs the demo or all services in one
// process (up), shows the runs in the ledger, checks hooks.yaml files, and manages tenants of a
// NATS server.
package hooktrail
