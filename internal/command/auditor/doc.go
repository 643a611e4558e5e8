// Package auditor implements the auditor command.
//
// The serve and rebuild commands run the service in internal/evidence/auditor. Commands that read
// evidence record this use and open the ledger file. They need no broker or running auditor.
// Commands that change evidence sign and record an order. They wait until the auditor has read the
// order from the stream.
package auditor
