package timestamp

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hooktrail/hooktrail/internal/platform/atomicfile"
)

const (
	header    = "hooktrail/timestamp/v1"
	folder    = "timestamps"
	suffix    = ".timestamp"
	maxStored = 256 << 10
	// MaxFiles limits how many time stamps of a ledger are read.
	MaxFiles = 100_000
)

// Stored is a signed checkpoint with its time stamp token. Its file has these parts:
//
//	hooktrail/timestamp/v1
//	MIIKXQYJKoZIhvcNAQcC…         the token in base64, in one line
//
//	hooktrail/acme                the signed checkpoint
//	…
type Stored struct {
	Name  string // name of the file
	Note  []byte
	Token []byte // DER
	Err   error  // error of reading the file; Note and Token are nil then
}

// Encode returns the content of the file.
func (s Stored) Encode() []byte {
	b := []byte(header + "\n")
	b = base64.StdEncoding.AppendEncode(b, s.Token)
	return append(append(b, "\n\n"...), s.Note...)
}

var errStored = errors.New("it is not a stored time stamp")

// ParseStored rejects any text that [Stored.Encode] would not write. It verifies neither token nor
// note.
func ParseStored(text []byte) (s Stored, err error) {
	first, rest, _ := bytes.Cut(text, []byte("\n"))
	line, note, ok := bytes.Cut(rest, []byte("\n\n"))
	if string(first) != header || !ok || len(note) == 0 || len(line) == 0 {
		return s, errStored
	}
	token, err := base64.StdEncoding.Strict().DecodeString(string(line))
	if err != nil {
		return s, errStored
	}
	s = Stored{Token: token, Note: note}
	if !bytes.Equal(s.Encode(), text) { // base64 ignores line feeds
		return Stored{}, errStored
	}
	return s, nil
}

// Dir returns the folder with the time stamps of the ledger at path.
func Dir(ledgerPath string) string { return filepath.Join(filepath.Dir(ledgerPath), folder) }

// Write stores a time stamp of size leaves next to the ledger at path. File names sort by size,
// then by time. When Write returns nil, the file is on disk.
func Write(ledgerPath string, s Stored, size int64, t *Token) error {
	dir := Dir(ledgerPath)
	if err := os.Mkdir(dir, 0o700); err == nil {
		err = atomicfile.SyncDir(filepath.Dir(dir))
		if err != nil {
			return err
		}
	} else if !errors.Is(err, fs.ErrExist) {
		return err
	}
	name := fmt.Sprintf("%019d-%s%s", size, t.Time.UTC().Format("20060102T150405Z"), suffix)
	return atomicfile.Write(filepath.Join(dir, name), s.Encode())
}

// Names returns the sorted file names of a ledger's time stamps.
func Names(ledgerPath string) (names []string, err error) {
	dir, err := os.Open(Dir(ledgerPath))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("time stamps: %w", err)
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	all, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("time stamps: %w", err)
	}
	for _, name := range all {
		if strings.HasSuffix(name, suffix) && !strings.HasPrefix(name, ".") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// Read reads one time stamp of a ledger. An error is in Stored.Err.
func Read(ledgerPath, name string) Stored {
	s, err := read(filepath.Join(Dir(ledgerPath), name))
	s.Name, s.Err = name, err
	return s
}

func read(path string) (s Stored, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return s, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxStored {
		return s, fmt.Errorf("%w: it is %s, of %d bytes", errStored, info.Mode(), info.Size())
	}
	f, err := os.Open(path)
	if err != nil {
		return s, err
	}
	text, err := io.ReadAll(io.LimitReader(f, maxStored+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return s, err
	}
	return ParseStored(text)
}

// All reads the newest [MaxFiles] time stamps of a ledger, the oldest first.
func All(ledgerPath string) ([]Stored, error) {
	names, err := Names(ledgerPath)
	names = names[max(0, len(names)-MaxFiles):]
	list := make([]Stored, len(names))
	for i, name := range names {
		list[i] = Read(ledgerPath, name)
	}
	return list, err
}
