package ingest

import (
	"bufio"
	"strings"
)

const maxFiles = 1000

// PatchedFiles returns the files that a git patch changes, at most a thousand.
func PatchedFiles(patch string) []string {
	var files []string
	seen := map[string]bool{}
	in := bufio.NewScanner(strings.NewReader(patch))
	in.Buffer(nil, MaxLine)
	for in.Scan() && len(files) < maxFiles {
		names, ok := strings.CutPrefix(in.Text(), "diff --git a/")
		if !ok {
			continue
		}
		// In "a/old b/new", the second name is the new name of a moved file.
		name := names
		if i := strings.LastIndex(names, " b/"); i >= 0 {
			name = names[i+len(" b/"):]
		}
		if !seen[name] {
			seen[name] = true
			files = append(files, name)
		}
	}
	return files
}
