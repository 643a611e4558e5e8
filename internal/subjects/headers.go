package subjects

// The headers that Hooktrail sets on messages or reads from them.
const (
	// BatchID names the atomic batch of a message. Each attempt has a new one.
	BatchID = "Nats-Batch-Id"
	// BatchSequence is the position of the message in its batch, a decimal from 1.
	BatchSequence = "Nats-Batch-Sequence"
	// BatchCommit marks the last message of a batch with the value [Commit].
	BatchCommit = "Nats-Batch-Commit"
	// ExpectedLastSubjectSequence is the stream sequence that the last message on
	// the subject must have, or 0. It fences off concurrent writers. The variant
	// with an explicit subject is not used, because account imports do not map it.
	ExpectedLastSubjectSequence = "Nats-Expected-Last-Subject-Sequence"
	// MessageID lets the server drop duplicates, across all tenants. Third-party
	// publishers of single events set it to the event id, if no other client can
	// know or guess the id. Batches never have it.
	MessageID = "Nats-Msg-Id"
)

// Commit is the value of [BatchCommit].
const Commit = "1"
