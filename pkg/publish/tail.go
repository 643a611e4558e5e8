package publish

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
)

// tail is where a shared outbox ends, for processes that are too short-lived to
// read all of it. Its file is written in place behind every change: eight hex
// digits of checksum, the version and the length of the JSON that follows, a
// newline, the JSON. It may be older than the segments, whose end then tells the
// rest, and is of no use if it is torn or newer.
type tail struct {
	Version uint64 `json:"-"` // changes with every change of the outbox

	Ordinal uint64            `json:"ordinal"`           // of the last record
	Segment uint64            `json:"segment,omitempty"` // that has it
	Size    int64             `json:"size"`              // of that segment
	Next    map[string]uint64 `json:"next"`              // number of the next event, per tenant
	Waiting int64             `json:"waiting"`           // bytes of the records that wait
}

const (
	tailName   = "tail"
	tailHeader = 8 + 1 + 20 + 1 + 10 + 1
	// tailBytes are taken up from the start, so that a full disk is no obstacle.
	tailBytes = 16 << 10
)

// tailFile is the file of a tail.
type tailFile struct{ file *os.File }

func openTail(dir string) (*tailFile, error) {
	path := filepath.Join(dir, tailName)
	f, err := os.OpenFile(path, os.O_RDWR, 0o600)
	if errors.Is(err, os.ErrNotExist) {
		f, err = preallocate(path, tailBytes)
	}
	if err != nil {
		return nil, fmt.Errorf("open tail: %w", asNoRoom(err))
	}
	return &tailFile{f}, nil
}

// version returns the version of the tail. It may be called at any time.
func (f *tailFile) version() (uint64, error) {
	_, version, _, err := f.head()
	return version, err
}

var errNoTail = errors.New("tail is not whole")

func (f *tailFile) head() (sum, version uint64, length int, err error) {
	var b [tailHeader]byte
	if n, err := f.file.ReadAt(b[:], 0); n < len(b) {
		if errors.Is(err, io.EOF) {
			err = errNoTail
		}
		return 0, 0, 0, err
	}
	fields := bytes.Fields(b[:])
	if len(fields) != 3 {
		return 0, 0, 0, errNoTail
	}
	sum, err1 := strconv.ParseUint(string(fields[0]), 16, 32)
	version, err2 := strconv.ParseUint(string(fields[1]), 10, 64)
	length, err3 := strconv.Atoi(string(fields[2]))
	if errors.Join(err1, err2, err3) != nil || length < 0 {
		return 0, 0, 0, errNoTail
	}
	return sum, version, length, nil
}

// read returns the tail, or an error that wraps errNoTail if there is none.
func (f *tailFile) read() (t tail, err error) {
	sum, version, length, err := f.head()
	if err != nil {
		return t, err
	}
	info, err := f.file.Stat()
	if err != nil {
		return t, err
	}
	if int64(length) > info.Size()-tailHeader {
		return t, errNoTail
	}
	text := make([]byte, length)
	if _, err := f.file.ReadAt(text, tailHeader); err != nil {
		return t, err
	}
	if sum != uint64(tailSum(version, text)) || json.Unmarshal(text, &t) != nil || t.Next == nil {
		return tail{}, errNoTail
	}
	t.Version = version
	return t, nil
}

func (f *tailFile) write(t tail) error {
	text, err := json.Marshal(t)
	if err != nil {
		return fmt.Errorf("encode tail: %w", err)
	}
	b := fmt.Appendf(make([]byte, 0, tailHeader+len(text)), "%08x %020d %010d\n", tailSum(t.Version, text), t.Version, len(text))
	if _, err := f.file.WriteAt(append(b, text...), 0); err != nil {
		return fmt.Errorf("write tail: %w", asNoRoom(err))
	}
	return nil
}

func tailSum(version uint64, text []byte) uint32 {
	return checksum(append(strconv.AppendUint(make([]byte, 0, 20+len(text)), version, 10), text...))
}

func (f *tailFile) close() error { return f.file.Close() }
