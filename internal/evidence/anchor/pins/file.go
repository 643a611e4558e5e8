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

// FileUsage is the help text of the flag --known-ledgers.
const FileUsage = "`file` of the keys that this user has seen; default is hooktrail/known_ledgers in the user's configuration folder"

// DefaultPath returns the path of the file in the user's configuration folder.
func DefaultPath() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("pinned keys: %w", err)
	}
	return filepath.Join(dir, "hooktrail", "known_ledgers"), nil
}

// Read returns the entries of the file of pinned keys at path, or none if the file is missing. An
// invalid line is an error, because this line could be the entry that the caller needs.
func Read(path string) ([]Entry, error) {
	_, entries, err := read(path)
	if err != nil {
		return nil, fmt.Errorf("pinned keys: %w", err)
	}
	return entries, nil
}

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
	Unchanged Outcome = "unchanged" // the key was already pinned
	Replaced  Outcome = "replaced"
	// Refused means that no signed key change leads from the pinned key to the new key.
	Refused Outcome = "refused"
)

// Pin adds the entry e to the file at path. If the file has another key for the same ledgers, Pin
// replaces that key only if follows(old key) is true. before is the replaced entry.
func Pin(ctx context.Context, path string, e Entry, follows func(key string) bool) (o Outcome, before Entry, err error) {
	if e.Key, err = Canonical(e.Key); err != nil {
		return "", before, err
	}
	// The key is usually pinned already. This check needs no lock and works on a read-only file.
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

func find(entries []Entry, e Entry) (Entry, bool) {
	for _, old := range entries {
		if old.Origin == e.Origin && old.Dir == e.Dir {
			return old, true
		}
	}
	return Entry{}, false
}
