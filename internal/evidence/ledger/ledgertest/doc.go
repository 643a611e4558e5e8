// Package ledgertest makes histories and ledgers of them for tests, attacks those,
// and has them verified.
package ledgertest
