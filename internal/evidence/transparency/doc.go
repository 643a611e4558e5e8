// Package transparency speaks the formats in which transparency logs talk to tools that
// are not their own, as C2SP (https://c2sp.org) specifies them: proofs that one
// record is in a log, tiles, the cosignatures of witnesses, and policies that say
// how many of those it takes. It knows nothing about what a record is or where a
// log is kept, reads and writes bytes, and never does I/O.
//
// What a parser takes is in canonical form: writing it again gives the same
// bytes. Policies alone are written by people.
package transparency
