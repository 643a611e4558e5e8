//go:build !linux

package disk

import "os"

// Sync syncs the content of f to disk.
func Sync(f *os.File) error { return f.Sync() }

// BootID returns "", because this system has no boot id. An outbox then notices a power cut only
// when it compares its records with the stream.
func BootID() string { return "" }
