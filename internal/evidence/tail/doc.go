// Package tail follows a ledger and makes one line of each event.
//
// A [Tail] reads the file of the ledger again and again, so it needs neither a broker nor an
// auditor. It remembers the last event, because a rebuild or a restored backup can replace the file,
// and finds it in the new file by its id.
//
//	line     the facts of one event
//	message  the text of a message, and the lines that tell nothing
//	memory   the calls and agents of runs, which later events refer to
//	past     the lines before the start
//	tail     the lines after the start
package tail
