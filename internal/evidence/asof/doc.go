// Package asof finds the events of a tenant that its ledger does not have yet, so that a
// verdict can say as of when it speaks.
//
// [Ask] looks at the outboxes of the data directory and asks the stream for the last
// message of the tenant. It waits for a limited time until the events of that moment are
// in the ledger. Events that arrive later do not count, so a busy tenant gets a verdict
// too. After the verification, [Question.Answer] counts the events that the verified
// checkpoint lacks.
//
// The position in the signed checkpoint decides, and not the state of the auditor or of
// its consumer. Two auditors may share a consumer, and a ledger may be a copy.
package asof
