// Package projection stores state that is derived from the stream in a SQLite file.
// The file also contains the position in the stream and the last counted sequence of
// each producer. One transaction commits all of them.
//
// Only one process can open a file for writing. It locks a file next to it, and other
// writers wait for the lock. Other processes can read the file at any time with
// [Read]. When [DB.Commit] returns nil, the data survives a power failure.
//
// A projection can be deleted and rebuilt from the stream. There are no migrations. A
// file with another schema version, or of another program, is rejected with
// [ErrSchema].
package projection
