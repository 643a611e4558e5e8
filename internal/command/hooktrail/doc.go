// Package hooktrail is the whole house in one process: the demo, all services
// together ([Command]'s up), and a look at single runs. It alone imports the
// services, and adds nothing to what they do: everything here can be had from
// the separate commands too.
//
// Up stops in the order of the flow. First the publisher, until all it took is in
// the stream; then the tracker, whose decisions are events too; then the auditor
// and the metrics, until they have handled the stream's last message; the server
// last. A deadline bounds it, and what did not make it goes on at the next start.
package hooktrail
