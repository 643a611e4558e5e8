// Package ocsf maps the records of a ledger to the Open Cybersecurity Schema Framework, which SIEMs
// understand. Each record becomes one JSON object.
//
// Each row has the ledger, leaf, event id and SHA-256 of its record, because auditor proof needs
// them. Rows have the arguments of tool calls, but no prompts, messages or results.
//
//	tool.*, approval, prompts, messages, models  API Activity
//	runs, sessions, sub-agents, steps            Application Lifecycle
//	error, hook.executed that failed             Application Error
//	audit.accessed                               Datastore Activity
//	gap.recorded, conflicts, quarantine          Detection Finding
//	everything else                              Base Event
package ocsf
