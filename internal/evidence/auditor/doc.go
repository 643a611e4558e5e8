// Package auditor keeps the evidence: it reads the stream into the ledgers of
// all tenants, writes the AgentFS files behind them, and answers what can be
// proved of them.
//
// [Run] is the service. A batch is committed and signed ledger by ledger; only
// then does the auditor's own position move, and only then is the batch
// acknowledged. A crash anywhere in between repeats messages, which the ledgers
// recognise. One process writes below a data directory at a time: a second one
// waits for the first one's lock and takes over when that process is gone.
//
// Behind the ledgers, which never wait for them, run the AgentFS files and, in package
// keep, what brings the newest checkpoints to places outside the data directory. One of
// these places is the bucket at the broker, where auditors with data directories of
// their own and copies of one key take turns: who has not the turn follows the stream
// and shows its checkpoints nowhere.
//
// verify, replay, export and proof read files: they need neither a server nor the
// auditor, and work beside a running one. Where verify is given a broker, or one runs
// in the data directory, it asks that for what is kept there. Package tiles reads them
// for other people's tools.
package auditor
