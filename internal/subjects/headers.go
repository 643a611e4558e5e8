package subjects

// The headers that Hooktrail sets on messages or reads from them.
const (
	// BatchID names the atomic batch that a message belongs to; a fresh one for
	// each attempt.
	BatchID = "Nats-Batch-Id"
	// BatchSequence is the message's place in its batch, a decimal from 1.
	BatchSequence = "Nats-Batch-Sequence"
	// BatchCommit is on the last message of a batch, with the value [Commit].
	BatchCommit = "Nats-Batch-Commit"
	// ExpectedLastSubjectSequence is the fence: the stream sequence of the last
	// message on the literal subject, 0 when there is none. Its companion with a
	// subject of its own is not used, because account imports do not map it.
	ExpectedLastSubjectSequence = "Nats-Expected-Last-Subject-Sequence"
	// MessageID is what the server drops duplicates by, of all tenants alike.
	// Foreign publishers of single events set it to the event id where nobody else
	// can have or guess that; batches of ours never carry it.
	MessageID = "Nats-Msg-Id"
)

// Commit is the value of [BatchCommit].
const Commit = "1"
