// Package auditor implements the auditor command.
//
// The serve and rebuild commands run the service in internal/evidence/auditor. Commands that read
// evidence record the use and open the ledger file, without a broker or a running auditor. Commands
// that change evidence sign and record an order and wait until the auditor has read it back from
// the stream.
package auditor
