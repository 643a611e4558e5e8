// Package hooktrail implements the hooktrail command. The command runs the demo, runs all services
// in one process (up), and shows the runs in the ledger. It also checks hooks.yaml files, and
// manages accounts and tenants of a NATS server.
package hooktrail
