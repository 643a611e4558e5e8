// Package projection stores state that is derived from the stream in a SQLite file,
// together with the position in the stream and the last counted sequence of each
// producer. One transaction commits all of them.
//
// Only one process can open a file for writing. Other writers wait for its lock. Other
// processes can read the file at any time with [Read]. When [DB.Commit] returns nil,
// the data survives a power failure.
//
// There are no migrations. A file with another schema version, or of another program,
// is rejected with [ErrSchema] and can be rebuilt from the stream.
package projection
