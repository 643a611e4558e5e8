// Package transparency implements the C2SP formats (https://c2sp.org) that a ledger shares with
// other tools. These are inclusion proofs, tiles, cosignatures and witness policies.
//
// Parsers accept only canonical input, except for policies, which people write by hand.
//
// The package does not use filippo.io/torchwood, because its parsers accept other input too, and
// because it would link net/http into the offline verifier.
package transparency
