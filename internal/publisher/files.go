package publisher

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	transcriptExt = ".jsonl"
	subagentsDir  = "subagents"
)

// found are the transcripts below some paths, each once.
type found struct {
	files   []string
	bytes   uint64
	seen    map[string]bool
	skipped []string // files of sub-agents that belong to given files and were not given
}

// findTranscripts returns the files of paths: those that are given, and in
// folders all that end in .jsonl. A session's main file comes before the files of
// its sub-agents, which lie in <session>/subagents.
func findTranscripts(paths []string) (found, error) {
	all := found{seen: map[string]bool{}}
	for _, path := range paths {
		info, err := os.Stat(path)
		switch {
		case err != nil:
			return found{}, err
		case !info.IsDir():
			all.add(filepath.Clean(path), info)
			continue
		}
		if err := all.walk(path); err != nil {
			return found{}, err
		}
	}
	for _, file := range all.files {
		beside, err := filepath.Glob(filepath.Join(escapeGlob(strings.TrimSuffix(file, transcriptExt)), subagentsDir, "*"+transcriptExt))
		if err != nil {
			return found{}, fmt.Errorf("look beside %s: %w", file, err)
		}
		for _, name := range beside {
			if !all.seen[name] {
				all.skipped = append(all.skipped, name)
			}
		}
	}
	return all, nil
}

func (all *found) add(name string, info fs.FileInfo) {
	if all.seen[name] {
		return
	}
	all.seen[name] = true
	all.files = append(all.files, name)
	all.bytes += uint64(info.Size())
}

// walk adds the transcripts below dir. Links to files count, those to folders
// do not, dir itself aside.
func (all *found) walk(dir string) error {
	infos := map[string]fs.FileInfo{}
	err := filepath.WalkDir(dir+string(filepath.Separator), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != transcriptExt {
			return err
		}
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // a link that leads nowhere, as editors leave them
		case err == nil && info.Mode().IsRegular():
			infos[path] = info
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("look into %s: %w", dir, err)
	}
	if len(infos) == 0 {
		return fmt.Errorf("look into %s: %w", dir, errNoTranscripts)
	}
	names := slices.SortedFunc(maps.Keys(infos), func(a, b string) int {
		return strings.Compare(strings.TrimSuffix(a, transcriptExt), strings.TrimSuffix(b, transcriptExt))
	})
	for _, name := range names {
		all.add(name, infos[name])
	}
	return nil
}

var errNoTranscripts = errors.New("no " + transcriptExt + " files")

func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}
