//go:build !linux

package disk

import "os"

// Sync syncs the content of f to disk.
func Sync(f *os.File) error { return f.Sync() }

// BootID returns "", because this system has no boot id.
func BootID() string { return "" }
