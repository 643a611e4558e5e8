// Package ledgertest builds message streams and ledgers for tests, and tampers with ledgers.
package ledgertest
