package publisher

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	transcriptExt = ".jsonl"
	subagentsDir  = "subagents"
)

// found are the transcripts below some paths.
type found struct {
	files   []string
	bytes   uint64
	skipped []string // files of sub-agents that belong to given files and were not given
}

// findTranscripts returns the files of paths: those that are given, and in
// folders all that end in .jsonl. A session's main file comes before the files of
// its sub-agents, which lie in <session>/subagents.
func findTranscripts(paths []string) (found, error) {
	var all found
	for _, path := range paths {
		info, err := os.Stat(path)
		switch {
		case err != nil:
			return found{}, err
		case !info.IsDir():
			all.files = append(all.files, filepath.Clean(path))
			all.bytes += uint64(info.Size())
			continue
		}
		if err := all.walk(path); err != nil {
			return found{}, err
		}
	}
	all.files = unique(all.files)
	for _, file := range all.files {
		beside, err := filepath.Glob(filepath.Join(escapeGlob(strings.TrimSuffix(file, transcriptExt)), subagentsDir, "*"+transcriptExt))
		if err != nil {
			return found{}, fmt.Errorf("look beside %s: %w", file, err)
		}
		for _, name := range beside {
			if !slices.Contains(all.files, name) {
				all.skipped = append(all.skipped, name)
			}
		}
	}
	return all, nil
}

func (all *found) walk(dir string) error {
	var names []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !d.Type().IsRegular() || filepath.Ext(path) != transcriptExt {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		names = append(names, path)
		all.bytes += uint64(info.Size())
		return nil
	})
	if err != nil {
		return fmt.Errorf("look into %s: %w", dir, err)
	}
	if len(names) == 0 {
		return fmt.Errorf("look into %s: %w", dir, errNoTranscripts)
	}
	slices.SortFunc(names, func(a, b string) int {
		return strings.Compare(strings.TrimSuffix(a, transcriptExt), strings.TrimSuffix(b, transcriptExt))
	})
	all.files = append(all.files, names...)
	return nil
}

var errNoTranscripts = errors.New("no " + transcriptExt + " files")

// unique returns names without those that came before.
func unique(names []string) []string {
	seen := make(map[string]bool, len(names))
	return slices.DeleteFunc(names, func(name string) bool {
		before := seen[name]
		seen[name] = true
		return before
	})
}

func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}
