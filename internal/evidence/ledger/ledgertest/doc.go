// Package ledgertest builds histories and ledgers for tests, tampers with the ledgers and
// verifies them.
package ledgertest
