package verifier

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
)

// signedCheckpoints checks signatures in parallel, because they take most of the time.
type signedCheckpoints struct {
	v    *verifier
	stmt *sqlite.Stmt

	tenant string
	number int64
	head   *ledger.Checkpoint // next one to compare
	newest *ledger.Checkpoint
	note   string

	altered bool // a root differed, so all later ones do too
	moved   bool // a digest of arrivals differed, so all later ones do too

	group    errgroup.Group
	mu       sync.Mutex // guards problems; no other lock is taken while it is locked
	problems []checkpointProblem
}

type checkpointProblem struct {
	number int64
	text   string
}

func newSignedCheckpoints(v *verifier, conn *sqlite.Conn) *signedCheckpoints {
	s := &signedCheckpoints{
		v: v, tenant: v.opts.Tenant,
		stmt: conn.Prep("SELECT checkpoint, size, note FROM checkpoints ORDER BY checkpoint"),
	}
	s.group.SetLimit(runtime.GOMAXPROCS(0))
	return s
}

func (s *signedCheckpoints) next() error {
	s.head = nil
	for {
		row, err := s.stmt.Step()
		if err != nil || !row {
			return err
		}
		number, size, text := s.stmt.ColumnInt64(0), s.stmt.ColumnInt64(1), s.stmt.ColumnText(2)
		s.number++
		s.v.report.Checkpoints++
		if number != s.number {
			s.v.report.AddProblem("checkpoint %d is where checkpoint %d should be", number, s.number)
			s.number = number
		}
		c, err := ledger.ReadCheckpoint([]byte(text))
		if err != nil {
			s.v.report.AddProblem("checkpoint %d: %v", number, err)
			continue
		}
		s.check(number, size, text, &c)
		s.head, s.newest, s.note = &c, &c, text
		return nil
	}
}

func (s *signedCheckpoints) check(number, size int64, text string, c *ledger.Checkpoint) {
	keys, replaced := s.v.keys.At(c.Size), s.v.keys.Replaced(c.Size)
	s.group.Go(func() error {
		if _, err := openSigned([]byte(text), keys); err != nil {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.problems = append(s.problems, checkpointProblem{number, reasonOfKey(err, replaced).Error()})
		}
		return nil
	})
	if s.tenant == "" {
		s.tenant = c.Tenant
	}
	if fault := s.fault(number, size, c); fault != "" {
		s.v.report.AddProblem("checkpoint %d: %s", number, fault)
	}
	streams := &s.v.report.Streams
	if n := len(*streams); c.Position.Epoch > 0 && (n == 0 || (*streams)[n-1].Epoch != c.Position.Epoch) {
		*streams = append(*streams, ledger.Stream{Epoch: c.Position.Epoch, Created: c.Position.Stream})
	}
}

func (s *signedCheckpoints) fault(number, size int64, c *ledger.Checkpoint) string {
	before := s.newest
	if before == nil {
		before = &ledger.Checkpoint{Time: c.Time}
		if c.Arrivals > 0 {
			return "the first one, of nothing, is missing"
		}
	}
	switch {
	case c.Tenant != s.tenant:
		return fmt.Sprintf("it is of tenant %q", c.Tenant)
	case c.Number != number:
		return fmt.Sprintf("the signed text is that of checkpoint %d", c.Number)
	case c.Size != size:
		return fmt.Sprintf("its row says size %d, the signed text %d", size, c.Size)
	case c.Time.Before(before.Time) || c.Size < before.Size || c.Arrivals < before.Arrivals:
		return "it is older than the one before it"
	}
	return ""
}

func (s *signedCheckpoints) close() error {
	err := s.group.Wait()
	_ = s.stmt.Reset() // Step has returned the error
	slices.SortFunc(s.problems, func(a, b checkpointProblem) int { return cmp.Compare(a.number, b.number) })
	for _, p := range s.problems {
		s.v.report.AddProblem("checkpoint %d: %s", p.number, p.text)
	}
	if s.newest != nil {
		c := s.newest
		s.v.newest, s.v.report.Tenant = *c, c.Tenant
		key, newest := ledger.KeyID(s.v.opts.Key), s.note
		if len(s.v.report.PendingKeys) > 0 {
			newest = string(ledger.Countersigned([]byte(newest), c.Tenant, s.v.opts.Changes))
		}
		if signer := s.v.keys.Signer([]byte(newest)); signer != nil {
			key = ledger.KeyID(signer)
		}
		s.v.report.Checkpoint = &Signed{
			Size: c.Size, Root: c.Root.String(), Time: c.Time, Key: key, Note: newest,
		}
	}
	return err
}

func (w *walk) checkpoints() error {
	s := w.signed
	if s.number == 0 {
		if err := s.next(); err != nil {
			return err
		}
	}
	for s.head != nil && s.head.Arrivals <= w.arrivals.Count {
		w.compareCheckpoint(s.head)
		if err := s.next(); err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) compareCheckpoint(c *ledger.Checkpoint) {
	s := w.signed
	switch {
	case c.Arrivals != w.arrivals.Count || c.Size != w.tree.size:
		w.v.report.AddProblem("checkpoint %d signs %d leaves where there are %d", s.number, c.Size, w.tree.size)
	case c.Root != w.tree.root():
		if !s.altered {
			w.v.report.AddProblem("checkpoint %d: the root of the first %d leaves differs from the signed one", s.number, c.Size)
		}
		s.altered = true
	case c.Digest != w.arrivals.Digest:
		if !s.moved {
			w.v.report.AddProblem("checkpoint %d: where leaves came from, or what was seen again, differs from what was signed", s.number)
		}
		s.moved = true
	case !w.arrivals.isAt(c.Position) && !w.breaks(c):
		w.v.report.AddProblem("checkpoint %d: its message is not the last one", s.number)
	}
}

func (w *walk) checkpointsBehind() error {
	s := w.signed
	if s.newest == nil {
		w.v.report.AddProblem("no checkpoint is there")
		return nil
	}
	if s.head == nil && s.newest.Arrivals < w.arrivals.Count {
		w.v.report.AddProblem("%d leaves from leaf %d on are behind the newest checkpoint", w.tree.size-s.newest.Size, s.newest.Size)
	}
	if s.head != nil {
		w.v.report.AddProblem("leaves from %d on are missing: checkpoint %d signs %d", w.tree.size, s.number, s.head.Size)
	}
	for s.head != nil {
		if err := s.next(); err != nil {
			return err
		}
	}
	return nil
}
