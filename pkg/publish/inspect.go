package publish

import (
	"cmp"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// State is how an outbox stands on disk.
type State struct {
	Producer string // id that events are numbered under
	Name     string // [Options.Name] that it was made with
	Shared   bool   // it is one of [AppendShared]
	Unique   bool   // it was opened with [Options.Unique]

	Waiting uint64    // events that the stream has not acknowledged
	Bytes   int64     // of them
	Oldest  time.Time // time of the first of them, as it says itself; zero if none waits
	Tenants map[string]uint64
	Size    int64 // bytes on disk of all records

	Gaps       []Gap    // losses that the stream does not know of yet
	Damaged    uint64   // records that wait and cannot be read
	Quarantine []string // copies of damaged segments
	Holder     int      // process that forwards, if one does and can be told
	Held       bool     // a process forwards
}

// Gap is a range of a tenant's numbers that will never come, and why.
type Gap struct {
	Tenant string `json:"tenant"`
	events.Range
}

// Inspect reads how the outbox in dir stands, without a lock and without a
// change: its processes go on meanwhile, so that what it returns may be of
// several moments. The error wraps [os.ErrNotExist] if there is no outbox.
func Inspect(dir string) (State, error) {
	for tries := 1; ; tries++ {
		s, err := inspect(dir)
		if !errors.Is(err, os.ErrNotExist) || tries == 3 {
			return s, err
		}
		// A segment that was sent meanwhile, or another producer id.
	}
}

func inspect(dir string) (State, error) {
	id, err := readIdentity(dir)
	if errors.Is(err, os.ErrNotExist) {
		if folders, e := recordFolders(dir); e == nil && len(folders) > 0 {
			id, err = newIdentity(Options{Dir: dir}) // as who opens it would
		}
	}
	if err != nil {
		return State{}, err
	}
	s := State{Producer: id.Producer, Name: id.Producer, Tenants: map[string]uint64{}}
	if i := strings.LastIndexByte(s.Name, '-'); i > 0 {
		s.Name = s.Name[:i]
	}
	s.Shared = exists(filepath.Join(dir, turnName))
	s.Unique = exists(filepath.Join(dir, idsName))
	c, err := openCursor(id.dir(dir))
	if err != nil {
		return s, err
	}
	spool, err := openSpool(id.dir(dir), Options{})
	if err != nil {
		return s, err
	}
	s.Size = spool.bytes()
	if err := s.readWaiting(spool, c); err != nil {
		return s, err
	}
	s.addGaps(id.dir(dir), c)
	s.Quarantine, err = filepath.Glob(filepath.Join(dir, quarantineName, "*"+segmentSuffix))
	if err != nil {
		return s, err
	}
	s.Held, s.Holder, err = holder(filepath.Join(dir, Options{shared: s.Shared}.lockName()))
	return s, err
}

// exists tells whether there is a file.
func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func (s *State) readWaiting(spool *spool, c *cursor) error {
	rd := spool.reader(c.next)
	defer rd.close()
	for last := uint64(0); ; {
		it, err := rd.next()
		if errors.Is(err, io.EOF) || err == nil && it.fault == torn {
			return nil // torn is what is being written
		}
		if err != nil {
			return err
		}
		last = max(last, it.ordinal)
		switch {
		case it.ordinal > 0 && it.ordinal < c.next || it.ordinal == 0 && last+1 < c.next:
		case it.fault != intact:
			s.Damaged++
		case it.sequence > c.chain(it.tenant).Last:
			s.addWaiting(it)
		}
	}
}

func (s *State) addWaiting(it item) {
	s.Waiting++
	s.Bytes += int64(it.size)
	s.Tenants[it.tenant]++
	if s.Oldest.IsZero() {
		if e, err := events.Decode(it.event); err == nil {
			s.Oldest = e.Time
		}
	}
	if events.Kind(it.kind) == events.GapRecorded {
		if g, ok := gapOf(it.record); ok {
			s.Gaps = append(s.Gaps, Gap{g.tenant, g.Range})
		}
	}
}

// addGaps adds the losses that are counted and not recorded yet.
func (s *State) addGaps(dir string, c *cursor) {
	add := func(g gap) {
		if gap := (Gap{g.tenant, g.Range}); g.First > 0 && !slices.Contains(s.Gaps, gap) {
			s.Gaps = append(s.Gaps, gap)
		}
	}
	for tenant, ch := range c.chains {
		for _, r := range ch.Owed {
			add(gap{tenant, r})
		}
	}
	if data, err := os.ReadFile(filepath.Join(dir, lossesName)); err == nil && len(data) == lossSlots*lossSlot {
		for i := range lossSlots {
			add(parseLoss(data[i*lossSlot : (i+1)*lossSlot]))
		}
	}
	slices.SortFunc(s.Gaps, func(a, b Gap) int {
		return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.First, b.First))
	})
}

// holder tells whether a process holds a lock, and which.
func holder(path string) (held bool, pid int, err error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, 0, nil
	}
	if err != nil {
		return false, 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	// Who wants the lock asks again, so that to have it for a moment is no harm.
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	if err == nil {
		return false, 0, nil
	}
	if !errors.Is(err, syscall.EWOULDBLOCK) {
		return false, 0, err
	}
	text, err := io.ReadAll(io.LimitReader(f, 32))
	if err != nil {
		return true, 0, err
	}
	pid, _ = strconv.Atoi(strings.TrimSpace(string(text))) // of who forwards with an older version it cannot be told
	return true, pid, nil
}
