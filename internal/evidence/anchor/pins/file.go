package pins

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hooktrail/hooktrail/internal/platform/atomicfile"
	"github.com/hooktrail/hooktrail/internal/platform/filelock"
)

// FileUsage is the help text of a flag with the path of the file.
const FileUsage = "`file` of the keys that this user has seen; default is hooktrail/known_ledgers in the user's configuration folder"

// DefaultPath returns the file of the user.
func DefaultPath() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("pinned keys: %w", err)
	}
	return filepath.Join(dir, "hooktrail", "known_ledgers"), nil
}

// Read returns the entries of the file at path. A missing file has none. A line that is not
// an entry is an error, because it may be the pin that matters.
func Read(path string) ([]Entry, error) {
	_, entries, err := read(path)
	if err != nil {
		return nil, fmt.Errorf("pinned keys: %w", err)
	}
	return entries, nil
}

// read returns also all lines, without line feeds.
func read(path string) (lines []string, entries []Entry, err error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, " \t\r\n")
		lines = append(lines, line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		e, err := ParseEntry(line)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: line %d: %w", path, len(lines), err)
		}
		entries = append(entries, e)
	}
	return lines, entries, nil
}

// Outcome is the result of [Pin].
type Outcome string

// The outcomes of [Pin].
const (
	Added     Outcome = "added"
	Unchanged Outcome = "unchanged" // the key was pinned already
	Replaced  Outcome = "replaced"
	Refused   Outcome = "refused" // another key is pinned, and the new one does not follow it
)

// Pin writes e to the file at path, unless another key is pinned for its origin and data
// directory. That key, which is in before, is replaced if follows reports true for it.
func Pin(ctx context.Context, path string, e Entry, follows func(key string) bool) (o Outcome, before Entry, err error) {
	if e.Key, err = Canonical(e.Key); err != nil {
		return "", before, err
	}
	// The usual case needs no lock, and works where the file cannot be written.
	if _, entries, err := read(path); err == nil {
		if old, ok := find(entries, e); ok && old.Key == e.Key {
			return Unchanged, old, nil
		}
	}
	if err = os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
		o, before, err = pinLocked(ctx, path, e, follows)
	}
	if err != nil {
		return "", before, fmt.Errorf("pinned keys: %w", err)
	}
	return o, before, nil
}

func pinLocked(ctx context.Context, path string, e Entry, follows func(key string) bool) (o Outcome, before Entry, err error) {
	lock, err := filelock.Wait(ctx, path+".lock", func() {})
	if err != nil {
		return "", before, err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	lines, entries, err := read(path)
	if err != nil {
		return "", before, err
	}
	before, ok := find(entries, e)
	switch {
	case !ok:
		o, lines = Added, append(lines, e.String())
	case before.Key == e.Key:
		return Unchanged, before, nil
	case !follows(before.Key):
		return Refused, before, nil
	default:
		o, lines[slices.Index(lines, before.String())] = Replaced, e.String()
	}
	return o, before, atomicfile.Write(path, []byte(strings.Join(lines, "\n")+"\n"))
}

// find returns the entry for the origin and the data directory of e.
func find(entries []Entry, e Entry) (Entry, bool) {
	for _, old := range entries {
		if old.Origin == e.Origin && old.Dir == e.Dir {
			return old, true
		}
	}
	return Entry{}, false
}
