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
// verify and replay read files and nothing else: they need neither a server nor
// the auditor, and work beside a running one.
package auditor
