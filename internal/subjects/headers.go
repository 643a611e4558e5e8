package subjects

// The headers that Hooktrail sets on messages or reads from them.
const (
	// BatchID names the atomic batch of a message.
	BatchID = "Nats-Batch-Id"
	// BatchSequence is the position of the message in its batch, a decimal from 1.
	BatchSequence = "Nats-Batch-Sequence"
	// BatchCommit marks the last message of a batch with the value [Commit].
	BatchCommit = "Nats-Batch-Commit"
	// ExpectedLastSubjectSequence is the required stream sequence of the last
	// message on the subject, or 0. Account imports do not map the variant with
	// an explicit subject.
	ExpectedLastSubjectSequence = "Nats-Expected-Last-Subject-Sequence"
	// MessageID lets the server drop duplicates, across all tenants. Third-party
	// publishers set it to the event id, if no other client can guess the id.
	MessageID = "Nats-Msg-Id"
)

// Commit is the value of [BatchCommit].
const Commit = "1"
