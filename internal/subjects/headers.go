package subjects

// The headers that Hooktrail sets on messages or reads from them.
const (
	// BatchID is the id of the atomic batch that contains the message.
	BatchID = "Nats-Batch-Id"
	// BatchSequence is the position of the message in the batch, as a decimal number from 1.
	BatchSequence = "Nats-Batch-Sequence"
	// BatchCommit has the value [Commit] on the last message of a batch.
	BatchCommit = "Nats-Batch-Commit"
	// ExpectedLastSubjectSequence is the stream sequence that the last message on the same subject
	// must have, or 0 if there must be none. A variant of this header names the subject. Hooktrail
	// does not use it, because account imports do not map the subject in it.
	ExpectedLastSubjectSequence = "Nats-Expected-Last-Subject-Sequence"
	// MessageID lets the server drop duplicates. All tenants share the ids. Third-party publishers
	// may set it to the event id if no other client can guess that id.
	MessageID = "Nats-Msg-Id"
)

// Commit is the value of [BatchCommit].
const Commit = "1"
