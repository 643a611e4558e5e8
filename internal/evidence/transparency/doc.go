// Package transparency implements the C2SP formats (https://c2sp.org) that a ledger shares with
// other tools. They are inclusion proofs, tiles, cosignatures and witness policies.
//
// Parsers accept only canonical input. The exception is the parser of policies, because people
// write policies by hand. The parsers of filippo.io/torchwood are not used. They accept more, and
// would link net/http into the offline verifier.
package transparency
