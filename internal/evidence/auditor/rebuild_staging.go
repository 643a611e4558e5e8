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

// place is the folder below a data directory in which everything is made anew:
//
//	rebuild/new     what is made, laid out like the data directory
//	rebuild/swap    what is to take whose place, once all of it is complete
//	rebuild/old     what had its place
//
// Until rebuild/swap is there nothing of it counts. From then on what it lists is
// put in place, by whoever holds the auditor's lock next if need be.
type place struct {
	dataDir string
	parts   *[]part
}

// part is a file or folder that takes the place of the one of the same name.
type part struct {
	Path string `json:"path"`           // below the data directory, and below the new folder
	Gone bool   `json:"gone,omitempty"` // there is no new one: the old one goes
}

func placeOf(dataDir string) place { return place{dataDir: dataDir, parts: new([]part)} }

func (p place) dir() string { return filepath.Join(p.dataDir, "rebuild") }

func (p place) fresh() string { return filepath.Join(p.dir(), "new") }

func (p place) list() string { return filepath.Join(p.dir(), "swap") }

// make makes the folder. The key that signs stays where it is.
func (p place) make() error {
	if err := makeDir(p.fresh()); err != nil {
		return err
	}
	keys, err := filepath.Abs(KeyDir(p.dataDir))
	if err != nil {
		return err
	}
	return os.Symlink(keys, KeyDir(p.fresh()))
}

// take notes that what lies at path in the new folder belongs in the place of the
// old one.
func (p place) take(path string) error {
	if _, err := os.Stat(filepath.Join(p.fresh(), path)); err != nil {
		return err
	}
	*p.parts = append(*p.parts, part{Path: path})
	return nil
}

// drop notes that what lies at path in the data directory goes.
func (p place) drop(path string) { *p.parts = append(*p.parts, part{Path: path, Gone: true}) }

// swap puts everything that was noted in place.
func (p place) swap(ctx context.Context, logger *slog.Logger) error {
	if err := syncDirs(p.fresh()); err != nil {
		return err
	}
	text, err := json.Marshal(*p.parts)
	if err != nil {
		return err
	}
	if err := atomicfile.Write(p.list(), text); err != nil {
		return err
	}
	return p.settle(ctx, logger)
}

// settle finishes what was listed completely, and takes away what was not. Who
// calls it holds the auditor's lock.
func (p place) settle(ctx context.Context, logger *slog.Logger) error {
	text, err := os.ReadFile(p.list())
	if errors.Is(err, fs.ErrNotExist) {
		return p.remove()
	}
	if err != nil {
		return fmt.Errorf("finish a rebuild: %w", err)
	}
	var parts []part
	if err := json.Unmarshal(text, &parts); err != nil {
		return fmt.Errorf("finish a rebuild: %s: %w", p.list(), err)
	}
	for _, one := range parts {
		if err := p.put(one); err != nil {
			return fmt.Errorf("put %s in its place: %w", one.Path, err)
		}
	}
	logger.InfoContext(ctx, "what was rebuilt is in its place", "parts", len(parts))
	return p.remove()
}

// put puts one part in place, unless that was done.
func (p place) put(one part) error {
	if !filepath.IsLocal(one.Path) {
		return errors.New("it does not lie below the data directory")
	}
	target, made := filepath.Join(p.dataDir, one.Path), filepath.Join(p.fresh(), one.Path)
	_, err := os.Lstat(made)
	if there := err == nil; there == one.Gone {
		return nil
	}
	aside := filepath.Join(p.dir(), "old", one.Path)
	for _, dir := range []string{filepath.Dir(aside), filepath.Dir(target)} {
		if err := makeDir(dir); err != nil {
			return err
		}
	}
	// The log of a database belongs to it alone: beside another one it would be
	// taken for that one's.
	for _, suffix := range []string{"-wal", "-shm", "-journal", ""} {
		if err := os.Rename(target+suffix, aside+suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
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

// remove takes the folder away; what was not put in place is gone with it.
func (p place) remove() error {
	// First what says that there is something to finish.
	if err := os.Remove(p.list()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.RemoveAll(p.dir())
}

// syncDirs brings the names of all that lies below dir to disk.
func syncDirs(dir string) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		return atomicfile.SyncDir(path)
	})
}
