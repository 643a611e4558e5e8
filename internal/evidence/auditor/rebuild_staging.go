package auditor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/hooktrail/hooktrail/internal/platform/atomicfile"
)

// staging is the folder below a data directory in which a rebuild writes:
//
//	rebuild/new     the new files, laid out like the data directory
//	rebuild/swap    the list of replacements, written when all of them are complete
//	rebuild/old     the replaced files
//
// If a crash interrupts the replacements, the next process with the auditor's lock completes them.
type staging struct {
	dataDir      string
	replacements *[]replacement
}

type replacement struct {
	Path string `json:"path"`           // relative to the data directory and rebuild/new
	Gone bool   `json:"gone,omitempty"` // remove the old file
}

func stagingOf(dataDir string) staging {
	return staging{dataDir: dataDir, replacements: new([]replacement)}
}

func (s staging) dir() string { return filepath.Join(s.dataDir, "rebuild") }

func (s staging) fresh() string { return filepath.Join(s.dir(), "new") }

func (s staging) list() string { return filepath.Join(s.dir(), "swap") }

func (s staging) create() error {
	if err := makeDir(s.fresh()); err != nil {
		return err
	}
	keys, err := filepath.Abs(KeyDir(s.dataDir))
	if err != nil {
		return err
	}
	return os.Symlink(keys, KeyDir(s.fresh()))
}

func (s staging) add(path string) error {
	if _, err := os.Stat(filepath.Join(s.fresh(), path)); err != nil {
		return err
	}
	*s.replacements = append(*s.replacements, replacement{Path: path})
	return nil
}

func (s staging) drop(path string) {
	*s.replacements = append(*s.replacements, replacement{Path: path, Gone: true})
}

func (s staging) swap(ctx context.Context, logger *slog.Logger) error {
	if err := syncDirs(s.fresh()); err != nil {
		return err
	}
	text, err := json.Marshal(*s.replacements)
	if err != nil {
		return err
	}
	if err := atomicfile.Write(s.list(), text); err != nil {
		return err
	}
	return s.finish(ctx, logger)
}

// The caller of finish must hold the auditor's lock.
func (s staging) finish(ctx context.Context, logger *slog.Logger) error {
	text, err := os.ReadFile(s.list())
	if errors.Is(err, fs.ErrNotExist) {
		return s.remove()
	}
	if err != nil {
		return fmt.Errorf("finish a rebuild: %w", err)
	}
	var list []replacement
	if err := json.Unmarshal(text, &list); err != nil {
		return fmt.Errorf("finish a rebuild: %s: %w", s.list(), err)
	}
	for _, one := range list {
		if err := s.replace(one); err != nil {
			return fmt.Errorf("replace %s: %w", one.Path, err)
		}
	}
	logger.InfoContext(ctx, "rebuild finished", "replaced", len(list))
	return s.remove()
}

// replace must work when it is called again, because a crash can interrupt it.
func (s staging) replace(one replacement) error {
	if !filepath.IsLocal(one.Path) {
		return errors.New("path is not below the data directory")
	}
	target, made := filepath.Join(s.dataDir, one.Path), filepath.Join(s.fresh(), one.Path)
	_, err := os.Lstat(made)
	if there := err == nil; there == one.Gone {
		return nil
	}
	old := filepath.Join(s.dir(), "old", one.Path)
	for _, dir := range []string{filepath.Dir(old), filepath.Dir(target)} {
		if err := makeDir(dir); err != nil {
			return err
		}
	}
	// Move the write-ahead log too. Otherwise SQLite would apply it to the new database.
	for _, suffix := range []string{"-wal", "-shm", "-journal", ""} {
		if err := os.Rename(target+suffix, old+suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if !one.Gone {
		if err := os.Rename(made, target); err != nil {
			return err
		}
	}
	return atomicfile.SyncDir(filepath.Dir(target))
}

func (s staging) remove() error {
	// Remove the list first, because a folder with a list looks like a complete rebuild.
	if err := os.Remove(s.list()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.RemoveAll(s.dir())
}

func syncDirs(dir string) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		return atomicfile.SyncDir(path)
	})
}
