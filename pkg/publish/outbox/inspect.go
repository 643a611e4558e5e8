package outbox

import (
	"cmp"
	"errors"
	"fmt"
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

// State describes an outbox on disk.
type State struct {
	Producer string
	Name     string // [Options.Name] when the outbox was created
	Shared   bool   // processes append to it with [AppendShared]
	Unique   bool   // it was opened with [Options.Unique]

	Waiting uint64                  // events that the stream has not acknowledged
	Bytes   int64                   // size of the unsent events
	Oldest  time.Time               // of the first unsent event, or zero
	Tenants map[string]uint64       // unsent events by tenant
	Numbers map[string]events.Range // first and last unsent number by tenant
	Size    int64                   // size of all records on disk

	Gaps       []Gap              // losses that the stream does not know yet
	Damaged    uint64             // unsent records that cannot be read
	Quarantine []string           // copies of damaged segments
	Expected   []string           // tenants in which the producer announced that it is open
	Settled    map[string]Settled // end of the acknowledged events by tenant
	Forwarding bool               // a process forwards the events
	Process    int                // id of that process, 0 if unknown

	chains []cursor.Chain
}

// OwesGrant reports whether the newest grant of issuer is not yet in the stream for one of the
// outbox's tenants.
func (s State) OwesGrant(issuer *Issuer) bool { return slices.ContainsFunc(s.chains, issuer.owesGrant) }

// Settled is the end of a tenant's events that the stream has acknowledged.
type Settled struct {
	Last     uint64 // last number, which can be a lost one
	Position uint64 // stream sequence of the last manifest
}

// Gap is a range of sequence numbers for one tenant, with the reason why the events with these
// numbers are lost.
type Gap struct {
	Tenant string `json:"tenant"`
	events.Range
}

// Inspect reads the state of the outbox in dir without a lock, so it can mix different moments. The
// error wraps [os.ErrNotExist] if there is no outbox.
func Inspect(dir string) (State, error) {
	for tries := 1; ; tries++ {
		s, err := inspect(dir)
		if !errors.Is(err, os.ErrNotExist) || tries == 3 {
			return s, err
		}
	}
}

func inspect(dir string) (State, error) {
	id, err := readIdentity(dir)
	if errors.Is(err, os.ErrNotExist) {
		if folders, e := recordFolders(dir); e == nil && len(folders) > 0 {
			id, err = newIdentity(Options{Dir: dir}) // the producer id that Open would use
		}
	}
	if err != nil {
		return State{}, err
	}
	s := State{Producer: id.Producer, Name: id.Producer, Tenants: map[string]uint64{}, Numbers: map[string]events.Range{}, Settled: map[string]Settled{}}
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
	s.addChains(c)
	if err := s.readWaiting(log, c); err != nil {
		return s, err
	}
	s.addGaps(id.dir(dir), c)
	if err := s.readQuarantine(filepath.Join(dir, quarantineName)); err != nil {
		return s, err
	}
	s.Forwarding, s.Process, err = disk.LockHolder(Options{Dir: dir, shared: s.Shared}.lockFile())
	return s, err
}

func (s *State) addChains(c *cursor.Cursor) {
	for tenant, ch := range c.Chains() {
		s.Settled[tenant] = Settled{Last: ch.Last, Position: ch.Fence}
		if ch.State != "" {
			s.chains = append(s.chains, *ch)
		}
		if ch.State == events.StateOpen {
			s.Expected = append(s.Expected, tenant)
		}
	}
	slices.Sort(s.Expected)
}

func (s *State) readQuarantine(dir string) error {
	files, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("list damaged segments: %w", err)
	}
	for _, file := range files {
		if strings.HasSuffix(file.Name(), segment.Suffix) {
			s.Quarantine = append(s.Quarantine, filepath.Join(dir, file.Name()))
		}
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func (s *State) readWaiting(log *segment.Log, c *cursor.Cursor) error {
	last := uint64(0)
	for it, err := range log.All(c.Next) {
		if err != nil {
			return err
		}
		if it.Fault == segment.Torn {
			return nil // another process is writing this record
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
	return nil
}

func (s *State) addWaiting(it segment.Item) {
	s.Waiting++
	s.Bytes += int64(it.Size)
	s.Tenants[it.Tenant]++
	numbers, ok := s.Numbers[it.Tenant]
	if !ok || it.Sequence < numbers.First {
		numbers.First = it.Sequence
	}
	numbers.Last = max(numbers.Last, it.Sequence)
	s.Numbers[it.Tenant] = numbers
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
