package ingest

import (
	"bufio"
	"strings"
)

// maxFiles bounds how many files of a patch are named.
const maxFiles = 1000

// PatchedFiles returns the files that a patch, as git writes it, changes: each
// once, in its order, the first thousand.
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
		// Of an unchanged name both halves are the same; of a moved file the
		// second one counts.
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
