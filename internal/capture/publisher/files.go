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

	"github.com/bmatcuk/doublestar/v4"
)

const (
	transcriptExt = ".jsonl"
	gzipExt       = ".gz"
	subagentsDir  = "subagents"
	stdinPath     = "-"
)

// input is one file to import.
type input struct {
	path  string
	given bool // by its own name, and not found in a folder
	info  fs.FileInfo
}

// found are the files below some paths, each once.
type found struct {
	inputs  []input
	bytes   uint64
	seen    map[string]bool
	unread  error    // folders that cannot be looked into
	skipped []string // files of sub-agents that belong to given files and were not given
}

// findTranscripts returns the files of paths: those that are given, by name or
// by a pattern, and in folders all whose names end as exts tell, or so with .gz
// behind it. A session's main file comes before the files of its sub-agents,
// which lie in <session>/subagents. "-" is stdin.
func findTranscripts(paths, exts []string) (found, error) {
	all := found{seen: map[string]bool{}}
	for _, path := range paths {
		if err := all.find(path, exts); err != nil {
			return found{}, err
		}
	}
	for _, in := range all.inputs {
		beside, err := filepath.Glob(filepath.Join(escapeGlob(strings.TrimSuffix(in.path, transcriptExt)), subagentsDir, "*"+transcriptExt))
		if err != nil {
			return found{}, fmt.Errorf("look beside %s: %w", in.path, err)
		}
		for _, name := range beside {
			if !all.seen[name] {
				all.skipped = append(all.skipped, name)
			}
		}
	}
	return all, nil
}

// find adds what one path leads to.
func (all *found) find(path string, exts []string) error {
	if path == stdinPath {
		all.add(input{path: stdinPath, given: true})
		return nil
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && strings.ContainsAny(path, "*?[{"):
		return all.match(path, exts)
	case err != nil:
		return err
	case info.IsDir():
		return all.walk(path, exts)
	}
	all.add(input{path: filepath.Clean(path), given: true, info: info})
	return nil
}

// match adds what a pattern leads to: "*" is any run of characters but "/", and
// "**" any number of folders.
func (all *found) match(pattern string, exts []string) error {
	names, err := doublestar.FilepathGlob(pattern)
	if err != nil {
		return fmt.Errorf("look for %s: %w", pattern, err)
	}
	if len(names) == 0 {
		return fmt.Errorf("look for %s: %w", pattern, errNoMatch)
	}
	slices.Sort(names)
	for _, name := range names {
		info, err := os.Stat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue // a link that leads nowhere, or a file that is gone
		case err != nil:
			return err
		case !info.IsDir():
			all.add(input{path: filepath.Clean(name), given: true, info: info})
			continue
		}
		if err := all.walk(name, exts); err != nil && !errors.Is(err, errNoTranscripts) {
			return err
		}
	}
	return nil
}

func (all *found) add(in input) {
	if all.seen[in.path] {
		return
	}
	all.seen[in.path] = true
	all.inputs = append(all.inputs, in)
	if in.info != nil {
		all.bytes += uint64(in.info.Size())
	}
}

// walk adds the files below dir. Links to files count, those to folders do not,
// dir itself aside. A folder below it that cannot be looked into is noted.
func (all *found) walk(dir string, exts []string) error {
	infos := map[string]fs.FileInfo{}
	err := filepath.WalkDir(dir+string(filepath.Separator), func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // gone since its folder was read
		case errors.Is(err, fs.ErrPermission) && filepath.Clean(path) != filepath.Clean(dir):
			all.unread = errors.Join(all.unread, fmt.Errorf("look into %s: %w", dir, err))
			return nil
		case err != nil, d.IsDir(), !slices.Contains(exts, filepath.Ext(strings.TrimSuffix(path, gzipExt))):
			return err
		}
		return keepRegular(infos, path)
	})
	if err != nil {
		return fmt.Errorf("look into %s: %w", dir, err)
	}
	if len(infos) == 0 && all.unread == nil {
		return fmt.Errorf("look into %s: %w: none ends in %s", dir, errNoTranscripts, strings.Join(exts, ", "))
	}
	names := slices.SortedFunc(maps.Keys(infos), func(a, b string) int {
		return strings.Compare(strings.TrimSuffix(a, transcriptExt), strings.TrimSuffix(b, transcriptExt))
	})
	for _, name := range names {
		all.add(input{path: name, info: infos[name]})
	}
	return nil
}

// keepRegular adds what path leads to if it is a file.
func keepRegular(infos map[string]fs.FileInfo, path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil // a link that leads nowhere, as editors leave them
	case err == nil && info.Mode().IsRegular():
		infos[path] = info
	}
	return err
}

var (
	errNoTranscripts = errors.New("no transcripts")
	errNoMatch       = errors.New("no file matches")
)

func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}
