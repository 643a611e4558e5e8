// Package transparency implements the C2SP formats (https://c2sp.org) that a ledger shares
// with other tools. These are inclusion proofs, tiles, cosignatures and witness policies. It
// does no I/O and does not depend on ledgers.
//
// Parsers accept only canonical input. The exception is policies, which people write by hand. They
// may have comments and extra spaces.
//
// The package does not use filippo.io/torchwood, because its parsers accept other input too, and
// because it would link net/http into the offline verifier.
package transparency
