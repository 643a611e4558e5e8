// Package hooktrail is the hooktrail command: the demo, all services in one
// process (up), the runs in the ledger, the hooks of a hooks.yaml file, and the
// accounts of a NATS server.
package hooktrail
