// Package segment stores records in a sequence of files.
//
// A [Log] appends [Record] values to the last of its segment files and begins a
// new file when that one is large enough. A [Reader] reads them in order
// meanwhile. [Follow] takes in records that another process appended.
//
// Checksums let a reader report damage and continue behind it. One goroutine of
// one process may append at a time. Readers need no lock.
package segment
