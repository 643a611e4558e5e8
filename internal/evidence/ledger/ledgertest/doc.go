// Package ledgertest builds histories and ledgers for tests and tampers with them.
package ledgertest
