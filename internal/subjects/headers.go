package subjects

// Headers of NATS messages.
const (
	// BatchID is the id of the atomic batch that contains the message.
	BatchID = "Nats-Batch-Id"
	// BatchSequence is the position of the message in the batch, as a decimal number from 1.
	BatchSequence = "Nats-Batch-Sequence"
	// BatchCommit has the value [Commit] on the last message of a batch.
	BatchCommit = "Nats-Batch-Commit"
	// ExpectedLastSubjectSequence is the stream sequence that the last message on the same subject
	// must have, or 0 if no message may exist on that subject. Hooktrail does not use the variant
	// of this header for another subject, because account imports do not map the subject in that
	// header.
	ExpectedLastSubjectSequence = "Nats-Expected-Last-Subject-Sequence"
	// MessageID makes the server drop a message whose id it has seen. All tenants share one set of
	// ids, so a third-party publisher should not use an id that another client can guess.
	MessageID = "Nats-Msg-Id"
)

// Commit is the value of [BatchCommit].
const Commit = "1"
