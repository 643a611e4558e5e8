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

type input struct {
	path  string
	given bool // named by the user, not found in a folder
	info  fs.FileInfo
}

type found struct {
	inputs  []input
	bytes   uint64
	seen    map[string]bool
	unread  error
	refused []Refused // paths without an input
	skipped []string  // files of sub-agents next to an input, which are not imported
}

// findTranscripts returns all readable files even if it also returns an error. The file of a
// session comes before the files of its sub-agents.
func findTranscripts(paths, exts []string) (all found, err error) {
	all.seen = map[string]bool{}
	for _, path := range paths {
		if failed := all.find(path, exts); failed != nil {
			all.refused = append(all.refused, Refused{path, failed.Error()})
			err = errors.Join(err, failed)
		}
	}
	for _, in := range all.inputs {
		subagents, badPattern := filepath.Glob(filepath.Join(escapeGlob(strings.TrimSuffix(in.path, transcriptExt)), subagentsDir, "*"+transcriptExt))
		if badPattern != nil {
			return all, errors.Join(err, fmt.Errorf("look for sub-agents of %s: %w", in.path, badPattern))
		}
		for _, name := range subagents {
			if !all.seen[name] {
				all.skipped = append(all.skipped, name)
			}
		}
	}
	return all, err
}

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
			continue
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

func (all *found) walk(dir string, exts []string) error {
	infos := map[string]fs.FileInfo{}
	err := filepath.WalkDir(dir+string(filepath.Separator), func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // removed meanwhile
		case err != nil && filepath.Clean(path) != filepath.Clean(dir):
			all.unread = errors.Join(all.unread, fmt.Errorf("look into %s: %w", dir, err))
			return nil
		case err != nil, d.IsDir(), !slices.Contains(exts, filepath.Ext(strings.TrimSuffix(path, gzipExt))):
			return err
		}
		return addRegular(infos, path)
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

func addRegular(infos map[string]fs.FileInfo, path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil // for example the lock file of an editor
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
