// Package journal lists the producers of an outbox in a file outside the outbox, so that the loss
// of the outbox is noticed. Each line is a JSON object that updates earlier lines about the same
// producer. A line that was only partly written before a crash is ignored.
package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/hooktrail/hooktrail/pkg/publish/internal/disk"
)

// Suffix is the end of a journal's file name.
const Suffix = ".jsonl"

// State is the last known state of a producer, such as open or lost.
type State string

// Possible values of [State]. Only an open producer can lose events.
const (
	Open   State = "open"
	Closed State = "closed" // without unsent events
	Moved  State = "moved"  // its unsent events have another producer id
	Lost   State = "lost"   // the loss is recorded
)

// Record is one line of the journal. It describes a producer of the outbox, and may update an
// earlier line about the same producer.
type Record struct {
	Time     time.Time         `json:"time"` // time of the first line
	Producer string            `json:"producer"`
	Key      string            `json:"key,omitempty"`
	State    State             `json:"state"`
	From     string            `json:"from,omitempty"` // the producer that it replaces
	Last     map[string]uint64 `json:"last,omitempty"` // last known number by tenant
}

// File is the journal of one outbox. The zero value stores nothing.
type File struct{ path string }

// At returns the journal in folder of the outbox in dir. Without a folder, it returns the zero
// File.
func At(folder, dir string) File {
	if folder == "" {
		return File{}
	}
	return File{filepath.Join(folder, filepath.Base(dir)+Suffix)}
}

// Read returns the producers in the order of their first lines.
func (f File) Read() ([]Record, error) {
	data, err := os.ReadFile(f.path)
	if f.path == "" || errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read journal of outboxes: %w", err)
	}
	return parse(data), nil
}

func parse(data []byte) (list []Record) {
	for line := range bytes.Lines(data) {
		var r Record
		if json.Unmarshal(line, &r) != nil || r.Producer == "" {
			continue
		}
		i := slices.IndexFunc(list, func(old Record) bool { return old.Producer == r.Producer })
		if i < 0 {
			list = append(list, r)
			continue
		}
		list[i].merge(r)
	}
	return list
}

func (r *Record) merge(later Record) {
	r.State = later.State
	if later.Key != "" {
		r.Key = later.Key
	}
	for tenant, last := range later.Last {
		if r.Last == nil {
			r.Last = map[string]uint64{}
		}
		r.Last[tenant] = max(r.Last[tenant], last)
	}
}

// Missing returns the producers in list whose events are lost or may be lost. The producer
// current, which uses the outbox now, is not among them.
func Missing(list []Record, current string) (missing []Record) {
	// isChange reports whether the producer id changed between the two. A crash may have
	// interrupted the change between its two lines in the journal.
	isChange := func(from, to string) bool {
		return from != "" && slices.ContainsFunc(list, func(r Record) bool { return r.Producer == to && r.From == from })
	}
	for _, r := range list {
		isAwaited := r.State == Open || r.State == Lost
		if isAwaited && r.Producer != current && !isChange(current, r.Producer) && !isChange(r.Producer, current) {
			missing = append(missing, r)
		}
	}
	return missing
}

// Add appends a line.
func (f File) Add(r Record) error {
	if f.path == "" {
		return nil
	}
	file, err := f.open()
	if err != nil {
		return fmt.Errorf("write journal of outboxes: %w", err)
	}
	line, err := encode(r)
	if err == nil {
		// The first newline ends an incomplete line that a crash may have left.
		_, err = file.Write(append([]byte("\n"), line...))
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("write journal of outboxes: %w", err)
	}
	return nil
}

func (f File) open() (*os.File, error) {
	file, err := os.OpenFile(f.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if errors.Is(err, os.ErrNotExist) {
		if err = os.MkdirAll(filepath.Dir(f.path), 0o700); err == nil {
			file, err = os.OpenFile(f.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		}
	}
	return file, err
}

// Begin rewrites the file when the producer in r starts to use the outbox. The new file contains r
// and the producers that [Missing] returns.
func (f File) Begin(r Record) error {
	if f.path == "" {
		return nil
	}
	list, err := f.Read()
	if err != nil {
		return err
	}
	keep := Missing(list, r.Producer)
	if i := slices.IndexFunc(list, func(old Record) bool { return old.Producer == r.Producer }); i >= 0 {
		r.Time = list[i].Time
	}
	var data []byte
	for _, k := range append(keep, r) {
		line, err := encode(k)
		if err != nil {
			return fmt.Errorf("write journal of outboxes: %w", err)
		}
		data = append(data, line...)
	}
	err = os.MkdirAll(filepath.Dir(f.path), 0o700)
	if err == nil {
		err = disk.Replace(f.path, data)
	}
	if err != nil {
		return fmt.Errorf("write journal of outboxes: %w", err)
	}
	return nil
}

func encode(r Record) ([]byte, error) {
	line, err := json.Marshal(r)
	return append(line, '\n'), err
}
