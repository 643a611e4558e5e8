// Package transparency implements the C2SP formats (https://c2sp.org) that a ledger shares with
// other tools, which are inclusion proofs, tiles, cosignatures and witness policies.
//
// Parsers accept only canonical input, except for policies, because people write them by hand. The
// parsers of filippo.io/torchwood accept more, and would link net/http into the offline verifier.
package transparency
