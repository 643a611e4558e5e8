// Package buildinfo returns the version of this program.
package buildinfo

import "runtime/debug"

// Version returns the version that the go command stored in this program, or "(devel)".
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}
