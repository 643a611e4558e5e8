// Package auditor is the auditor command: its subcommands, flags, help texts and
// printed results.
//
// The serve and rebuild commands run the service in internal/evidence/auditor. The
// commands that read evidence open the ledger file directly. They need neither a
// broker nor a running auditor, and they record each use of evidence first. The
// commands that change evidence sign an order, put it on record, and wait until the
// auditor has read it back from the stream.
//
// The package has 33 files, because each subcommand and each group of flags is one file.
package auditor
