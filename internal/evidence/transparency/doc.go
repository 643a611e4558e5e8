// Package transparency implements the C2SP formats (https://c2sp.org) that a ledger
// shares with other tools: inclusion proofs, tiles, cosignatures and witness policies.
// It does no I/O and does not depend on ledgers.
//
// Parsers accept only canonical input, so that encoding the result gives the same bytes.
// People write policies by hand, so ParsePolicy accepts comments and free spacing.
//
// The package does not use filippo.io/torchwood. Its parsers accept more input, and it
// would link net/http into the offline verifier.
package transparency
