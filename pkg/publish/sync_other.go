//go:build !linux

package publish

import "os"

// syncData puts the contents of f on disk.
func syncData(f *os.File) error { return f.Sync() }

// bootID names the present boot of this machine: here it cannot be told, and a
// power cut is noticed only where it changed what the stream has seen.
func bootID() string { return "" }
