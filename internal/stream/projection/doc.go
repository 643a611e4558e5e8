// Package projection stores the state that a service derives from the stream in a SQLite file.
// One transaction commits the state, the position in the stream and the highest counted sequence
// of each producer, so that these always belong together.
//
// One process can open a file for writing, while other writers wait for its lock. Any process can
// read the file at any time with [Read]. When [DB.Commit] returns nil, the data survives a power
// failure.
//
// Open upgrades a file of an older version if the [Schema] has scripts for that. Open and Read reject
// any other version, and files of other programs, with [ErrSchema]. Such a file can be deleted and
// rebuilt from the stream.
package projection
