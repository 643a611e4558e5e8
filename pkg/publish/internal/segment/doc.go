// Package segment stores records in a sequence of files. A [Log] appends [Record] values, a
// [Reader] reads them in order, and [Follow] reads records of another process. Checksums let a
// reader report damage and continue after it. Only one goroutine of one process may append at a
// time. Readers need no lock.
package segment
