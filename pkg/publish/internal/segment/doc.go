// Package segment stores records in a sequence of files.
//
// A [Record] is one event with its numbers. A [Log] appends records to the last
// of its segment files and begins a new file when that one is large enough. A
// [Reader] reads the records in order while others are appended. [Follow] takes
// in records that another process appended to the same files.
//
// Each record has checksums, so that reading reports damage and continues behind
// it. One goroutine of one process may append at a time. Readers need no lock.
package segment
