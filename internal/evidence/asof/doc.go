// Package asof finds the events of a tenant that its ledger does not have yet, so that a verdict
// about the ledger can say up to which moment it applies.
//
// [Ask] looks at the outboxes of the data directory and asks the stream for the last message of the
// tenant. It waits for a limited time until the ledger has all events of that moment, and ignores
// later ones. After the verification, [Question.Answer] counts the events that the verified
// checkpoint lacks.
//
// The comparison uses the position in the signed checkpoint. The state of a consumer would be
// wrong, because two auditors may share it and a ledger may be a copy.
package asof
