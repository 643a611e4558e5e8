// Package auditor implements the auditor command with its subcommands, flags, help texts and
// printed results.
//
// The serve and rebuild commands run the service in internal/evidence/auditor. The
// commands that read evidence open the ledger file without a broker or a running
// auditor, and record each use first. The commands that change evidence sign an order,
// record it, and wait until the auditor has read it back from the stream.
package auditor
