package publisher

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/hooktrail/hooktrail/pkg/publish"
)

// Outbox is the state of an outbox, which is a queue on disk for events that wait for the stream.
type Outbox struct {
	Name     string `json:"name"`
	Producer string `json:"producer"` // id under which it sends
	// Destination is the URL of another publisher. It is set if the events are in spool files and
	// wait for that publisher.
	Destination string `json:"destination,omitempty"`

	Shared   bool              `json:"shared"`            // hook commands append to it too
	Waiting  uint64            `json:"waiting"`           // events that the stream has not acknowledged
	Bytes    int64             `json:"bytes"`             // size of the waiting events
	Oldest   *time.Time        `json:"oldest,omitempty"`  // time of the first waiting event
	Tenants  map[string]uint64 `json:"tenants"`           // by tenant
	DiskSize int64             `json:"disk_bytes"`        // size of all records on disk
	Gaps     []publish.Gap     `json:"gaps"`              // not yet in the stream
	Damaged  uint64            `json:"damaged"`           // waiting records that cannot be read
	Kept     []string          `json:"quarantine"`        // copies of damaged segments
	Open     bool              `json:"open"`              // a process forwards its events
	Process  int               `json:"process,omitempty"` // id of that process, absent if unknown

	isExpected bool // the process announced that the outbox is open

	unique bool
	prefix string // of producer ids
	state  publish.State
}

// Outboxes returns the state of the named outboxes in a data directory. Without names, it returns
// the state of all outboxes. If an outbox cannot be read, Outboxes returns an error and the state
// of the others.
func Outboxes(dataDir string, names ...string) (list []Outbox, err error) {
	folder := filepath.Join(dataDir, "outbox")
	entries, err := os.ReadDir(folder)
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	found := map[string]bool{}
	list = []Outbox{}
	for _, entry := range entries {
		name := entry.Name()
		if !entry.IsDir() || len(names) > 0 && !slices.Contains(names, name) {
			continue
		}
		s, e := publish.Inspect(filepath.Join(folder, name))
		if errors.Is(e, os.ErrNotExist) {
			continue // another process is creating it
		}
		found[name] = true
		if e != nil {
			err = errors.Join(err, fmt.Errorf("inspect outbox %s: %w", name, e))
			continue
		}
		list = append(list, newOutbox(name, s))
	}
	for _, name := range names {
		if !found[name] {
			err = errors.Join(err, fmt.Errorf("outbox %q: %w in %s", name, os.ErrNotExist, folder))
		}
	}
	return list, err
}

// CheckMissing returns an error that names each outbox whose files are missing. It ignores an
// outbox if an event already records the loss.
func CheckMissing(dataDir string, names ...string) error {
	list, err := publish.MissingOutboxes(dataDir)
	for _, m := range list {
		if !m.Recorded && (len(names) == 0 || slices.Contains(names, m.Outbox)) {
			err = errors.Join(err, fmt.Errorf("outbox %s is missing, and events that waited there are lost: restore it, or let the next publisher or auditor record the loss of producer %s", m.Outbox, m.Producer))
		}
	}
	return err
}

func newOutbox(name string, s publish.State) Outbox {
	o := Outbox{
		Name: name, Producer: s.Producer, Shared: s.Shared, Waiting: s.Waiting, Bytes: s.Bytes, Tenants: s.Tenants,
		DiskSize: s.Size, Gaps: append([]publish.Gap{}, s.Gaps...), Damaged: s.Damaged, Kept: append([]string{}, s.Quarantine...), Open: s.Forwarding, Process: s.Process,
		isExpected: len(s.Expected) > 0, unique: s.Unique, prefix: s.Name, state: s,
	}
	if !s.Oldest.IsZero() {
		o.Oldest = &s.Oldest
	}
	return o
}
