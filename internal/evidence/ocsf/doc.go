// Package ocsf maps the records of a ledger to the Open Cybersecurity Schema Framework, one
// JSON object per record, for SIEMs.
//
// schema.go pins the version and has all classes, attributes and values in use. Each row
// has the ledger, the leaf, the event id and the SHA-256 of the record, so that auditor
// proof proves the record. Rows have the arguments of tool calls, but no prompts, messages
// and results.
//
//	tool.*, approval, prompts, messages, models  API Activity
//	runs, sessions, sub-agents, steps            Application Lifecycle
//	error, hook.executed that failed             Application Error
//	audit.accessed                               Datastore Activity
//	gap.recorded, conflicts, quarantine          Detection Finding
//	everything else                              Base Event
package ocsf
