package publish

import (
	"cmp"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/cursor"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/disk"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/segment"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/state"
)

// State is the state of an outbox on disk.
type State struct {
	Producer string // the producer id
	Name     string // the [Options.Name] with which the outbox was created
	Shared   bool   // the outbox is used by [AppendShared]
	Unique   bool   // the outbox was opened with [Options.Unique]

	Waiting uint64            // events that the stream has not acknowledged
	Bytes   int64             // size of the waiting events
	Oldest  time.Time         // time of the first waiting event; zero if none waits
	Tenants map[string]uint64 // waiting events of each tenant
	Size    int64             // size of all records on disk

	Gaps       []Gap    // losses that the stream does not know yet
	Damaged    uint64   // waiting records that cannot be read
	Quarantine []string // copies of damaged segments
	Forwarding bool     // a process has the outbox open and forwards
	Process    int      // id of that process; 0 if it is unknown
}

// Gap is a range of a tenant's numbers that will never arrive, and the reason.
type Gap struct {
	Tenant string `json:"tenant"`
	events.Range
}

// Inspect reads the state of the outbox in dir. It takes no lock and changes
// nothing. Other processes may change the outbox meanwhile, so that the parts of
// the state may be of different moments. The error wraps [os.ErrNotExist] if there
// is no outbox.
func Inspect(dir string) (State, error) {
	for tries := 1; ; tries++ {
		s, err := inspect(dir)
		if !errors.Is(err, os.ErrNotExist) || tries == 3 {
			return s, err
		}
		// A segment was removed meanwhile, or the producer id changed.
	}
}

func inspect(dir string) (State, error) {
	id, err := readIdentity(dir)
	if errors.Is(err, os.ErrNotExist) {
		if folders, e := recordFolders(dir); e == nil && len(folders) > 0 {
			id, err = newIdentity(Options{Dir: dir}) // the one that Open would use
		}
	}
	if err != nil {
		return State{}, err
	}
	s := State{Producer: id.Producer, Name: id.Producer, Tenants: map[string]uint64{}}
	if i := strings.LastIndexByte(s.Name, '-'); i > 0 {
		s.Name = s.Name[:i]
	}
	s.Shared = exists(Options{Dir: dir}.appendLock())
	s.Unique = exists(filepath.Join(dir, state.IDsName))
	c, err := cursor.Open(id.dir(dir))
	if err != nil {
		return s, err
	}
	log, err := segment.Open(id.dir(dir), segment.Options{})
	if err != nil {
		return s, err
	}
	s.Size = log.Bytes()
	if err := s.readWaiting(log, c); err != nil {
		return s, err
	}
	s.addGaps(id.dir(dir), c)
	s.Quarantine, err = filepath.Glob(filepath.Join(dir, quarantineName, "*"+segment.Suffix))
	if err != nil {
		return s, err
	}
	s.Forwarding, s.Process, err = disk.LockHolder(Options{Dir: dir, shared: s.Shared}.lockFile())
	return s, err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func (s *State) readWaiting(log *segment.Log, c *cursor.Cursor) error {
	rd := log.Reader(c.Next)
	defer rd.Close()
	for last := uint64(0); ; {
		it, err := rd.Next()
		if errors.Is(err, io.EOF) || err == nil && it.Fault == segment.Torn {
			return nil // a process is writing a torn record
		}
		if err != nil {
			return err
		}
		last = max(last, it.Ordinal)
		switch {
		case it.Ordinal > 0 && it.Ordinal < c.Next || it.Ordinal == 0 && last+1 < c.Next:
		case it.Fault != segment.Intact:
			s.Damaged++
		case it.Sequence > c.Chain(it.Tenant).Last:
			s.addWaiting(it)
		}
	}
}

func (s *State) addWaiting(it segment.Item) {
	s.Waiting++
	s.Bytes += int64(it.Size)
	s.Tenants[it.Tenant]++
	if s.Oldest.IsZero() {
		if e, err := events.Decode(it.Event); err == nil {
			s.Oldest = e.Time
		}
	}
	if events.Kind(it.Kind) == events.GapRecorded {
		if g, ok := gapOf(it.Record); ok {
			s.Gaps = append(s.Gaps, Gap(g))
		}
	}
}

// addGaps adds the losses without a gap.recorded.
func (s *State) addGaps(dir string, c *cursor.Cursor) {
	add := func(g Gap) {
		if !slices.Contains(s.Gaps, g) {
			s.Gaps = append(s.Gaps, g)
		}
	}
	for tenant, ch := range c.Chains() {
		for _, r := range ch.Owed {
			add(Gap{tenant, r})
		}
	}
	for _, g := range state.ReadLosses(dir) {
		add(Gap(g))
	}
	slices.SortFunc(s.Gaps, func(a, b Gap) int {
		return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.First, b.First))
	})
}
