// Package transparency implements the C2SP formats (https://c2sp.org) that a ledger shares
// with other tools. These are inclusion proofs, tiles, cosignatures and witness policies. It
// does no I/O and does not depend on ledgers.
//
// Parsers accept only canonical input, except that policies, which people write, may have
// comments and free spacing.
//
// The package does not use filippo.io/torchwood. Its parsers accept more input, and it would
// link net/http into the offline verifier.
package transparency
