// Package projection keeps what is derived from the stream in a SQLite file:
// the state, the position in the stream up to which it holds, and how far each
// producer has been counted, all committed in one transaction.
//
// A file belongs to one process, the one that holds the lock beside it; a
// second one waits. Others may read it at any time with [Read]. When
// [DB.Commit] returns nil, what it wrote survives a power cut.
//
// A projection can be deleted and built again from the stream. So there are no
// migrations: a file of another schema version, or of another program, is refused
// with [ErrSchema].
package projection
