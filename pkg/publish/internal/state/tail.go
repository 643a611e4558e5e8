package state

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/hooktrail/hooktrail/pkg/publish/internal/disk"
)

// Tail describes the end of a shared outbox. A process that reads the Tail can append without
// reading all segments.
type Tail struct {
	Version uint64 `json:"-"` // changes with every change of the outbox

	Ordinal uint64            `json:"ordinal"`           // ordinal of the last record
	Segment uint64            `json:"segment,omitempty"` // segment that contains the last record
	Size    int64             `json:"size"`              // size of that segment
	Next    map[string]uint64 `json:"next"`              // next number by tenant
	Waiting int64             `json:"waiting"`           // size of the unsent records in bytes
}

// TailName is the name of the tail file.
const TailName = "tail"

// TailHeader is the size of the header of a [TailFile] in bytes.
const TailHeader = 8 + 1 + 20 + 1 + 10 + 1

// tailBytes is the preallocated size of the file, so that a tail can be written even if the disk
// is full.
const tailBytes = 16 << 10

// ErrNoTail means that a tail was never written, or only partly because of a crash.
var ErrNoTail = errors.New("tail is torn")

// TailFile is a file that is written in place. It contains a checksum of eight hex digits, the
// version, the length of the JSON, a newline, and the JSON.
type TailFile struct{ file *os.File }

// OpenTail opens or creates the tail in dir.
func OpenTail(dir string) (*TailFile, error) {
	path := filepath.Join(dir, TailName)
	f, err := os.OpenFile(path, os.O_RDWR, 0o600)
	if errors.Is(err, os.ErrNotExist) {
		f, err = disk.Preallocate(path, tailBytes)
	}
	if err != nil {
		return nil, fmt.Errorf("open tail: %w", disk.MarkNoSpace(err))
	}
	return &TailFile{f}, nil
}

// Version returns the version of the tail. It needs no lock.
func (f *TailFile) Version() (uint64, error) {
	_, version, _, err := f.head()
	return version, err
}

func (f *TailFile) head() (sum, version uint64, length int, err error) {
	var b [TailHeader]byte
	if n, err := f.file.ReadAt(b[:], 0); n < len(b) {
		if errors.Is(err, io.EOF) {
			err = ErrNoTail
		}
		return 0, 0, 0, err
	}
	fields := bytes.Fields(b[:])
	if len(fields) != 3 {
		return 0, 0, 0, ErrNoTail
	}
	sum, err1 := strconv.ParseUint(string(fields[0]), 16, 32)
	version, err2 := strconv.ParseUint(string(fields[1]), 10, 64)
	length, err3 := strconv.Atoi(string(fields[2]))
	if errors.Join(err1, err2, err3) != nil || length < 0 {
		return 0, 0, 0, ErrNoTail
	}
	return sum, version, length, nil
}

// Read returns the stored Tail. If none is stored or it was only partly written, the error is
// [ErrNoTail].
func (f *TailFile) Read() (t Tail, err error) {
	sum, version, length, err := f.head()
	if err != nil {
		return t, err
	}
	info, err := f.file.Stat()
	if err != nil {
		return t, err
	}
	if int64(length) > info.Size()-TailHeader {
		return t, ErrNoTail
	}
	text := make([]byte, length)
	if _, err := f.file.ReadAt(text, TailHeader); err != nil {
		return t, err
	}
	if sum != uint64(tailSum(version, text)) || json.Unmarshal(text, &t) != nil || t.Next == nil {
		return Tail{}, ErrNoTail
	}
	t.Version = version
	return t, nil
}

// Write writes the tail.
func (f *TailFile) Write(t Tail) error {
	text, err := json.Marshal(t)
	if err != nil {
		return fmt.Errorf("encode tail: %w", err)
	}
	b := fmt.Appendf(make([]byte, 0, TailHeader+len(text)), "%08x %020d %010d\n", tailSum(t.Version, text), t.Version, len(text))
	if _, err := f.file.WriteAt(append(b, text...), 0); err != nil {
		return fmt.Errorf("write tail: %w", disk.MarkNoSpace(err))
	}
	return nil
}

func tailSum(version uint64, text []byte) uint32 {
	return disk.Checksum(append(strconv.AppendUint(make([]byte, 0, 20+len(text)), version, 10), text...))
}

// Close closes the file.
func (f *TailFile) Close() error { return f.file.Close() }
