// Package segment stores records in a sequence of files.
//
// A [Log] appends [Record] values to its last segment file and begins a new file when that one is
// large enough. A [Reader] reads them in order. [Follow] reads records that another process
// appended.
//
// Checksums let a reader report damage and continue after it. Only one goroutine of one process may
// append at a time. Readers need no lock.
package segment
