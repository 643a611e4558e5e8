// Package ocsf maps the records of a ledger to the Open Cybersecurity Schema Framework, one
// JSON object per record, for SIEMs.
//
// schema.go defines the version of the schema and all classes, attributes and values that are used.
// Each row contains the ledger, the leaf, the event id and the SHA-256 of the record. With these,
// auditor proof can prove the record. Rows contain the arguments of tool calls, but no prompts,
// messages or results.
//
//	tool.*, approval, prompts, messages, models  API Activity
//	runs, sessions, sub-agents, steps            Application Lifecycle
//	error, hook.executed that failed             Application Error
//	audit.accessed                               Datastore Activity
//	gap.recorded, conflicts, quarantine          Detection Finding
//	everything else                              Base Event
package ocsf
