// Package asof finds the events of a tenant that its ledger does not have yet. A verdict about the
// ledger can then say up to which moment it applies.
//
// [Ask] looks at the outboxes of the data directory and asks the stream for the last message of the
// tenant. It waits for a limited time until all events of that moment are in the ledger. Events
// that arrive later are ignored, so that a tenant with constant traffic also gets a verdict. After
// the verification, [Question.Answer] counts the events that the verified checkpoint does not
// cover.
//
// The comparison uses the position in the signed checkpoint. The state of the auditor or of its
// consumer would be wrong, because two auditors may share a consumer and a ledger may be a copy.
package asof
