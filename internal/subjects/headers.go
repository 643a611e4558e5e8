package subjects

// Headers of NATS messages.
const (
	// BatchID is the id of the atomic batch that contains the message.
	BatchID = "Nats-Batch-Id"
	// BatchSequence is the position of the message in the batch, from 1.
	BatchSequence = "Nats-Batch-Sequence"
	// BatchCommit has the value [Commit] on the last message of a batch.
	BatchCommit = "Nats-Batch-Commit"
	// ExpectedLastSubjectSequence is the stream sequence of the last message on the same subject,
	// or 0 for none. The variant that names a subject does not work across accounts.
	ExpectedLastSubjectSequence = "Nats-Expected-Last-Subject-Sequence"
	// MessageID makes the server drop a message with a repeated id. Ids must be hard to guess,
	// because all tenants share one set of ids.
	MessageID = "Nats-Msg-Id"
)

// Commit is the value of the header [BatchCommit], which ends a batch.
const Commit = "1"
