package auditor

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor/auditortest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
)

// takeover limits the time without checkpoints on an idle machine.
const takeover = 5 * time.Second

func (p *process) signal(tb testing.TB, s os.Signal) {
	tb.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		tb.Fatal(err)
	}
}

// The holder of the lease is suspended repeatedly and resumed after the other auditor took over.
// All checkpoints are of one tree, and a suspended holder adds none.
//
//guarantee:standby
func TestStandby_TakesOver(t *testing.T) {
	s := auditortest.Server(t)
	b, dirs := auditortest.Connect(t, s), [2]string{t.TempDir(), t.TempDir()}
	p, h := auditortest.Outbox(t, b, "coder", "acme"), watchBucket(t, b)
	args := func(i int) []string { return []string{"serve", "--data-dir", dirs[i], "--nats-url", s.URL()} }
	runs, leaves := 0, int64(0)
	grow := func() {
		runs, leaves = runs+1, leaves+5 // a start, an end, its seal, and at least one manifest and a call
		auditortest.PublishRun(t, p, fmt.Sprint("r", runs), 1)
	}
	auditors := [2]*process{start(t, args(0)...), nil}
	grow()
	auditortest.Until(t, "the first one's checkpoint", func() bool { return h.reached(t, "acme", leaves) })
	auditortest.CopyKeys(t, dirs[1], dirs[0])
	auditors[1] = start(t, append(args(1), "--standby")...)
	auditortest.Until(t, "the standby to follow", func() bool { return leavesOf(t, dirs[1], "acme") >= leaves })

	var took []time.Duration
	for turn := range 2 {
		stopped, other := auditors[turn%2], dirs[(turn+1)%2]
		stopped.signal(t, syscall.SIGSTOP)
		began := time.Now()
		grow()
		held := leavesOf(t, other, "acme")
		auditortest.Until(t, "the other one's checkpoint", func() bool { return h.reached(t, "acme", max(leaves, held+1)) })
		took = append(took, time.Since(began))
		stopped.signal(t, syscall.SIGCONT)
		grow()
		auditortest.Until(t, "both to have all", func() bool {
			n := leavesOf(t, dirs[0], "acme")
			return n >= leaves && n == leavesOf(t, dirs[1], "acme") && h.reached(t, "acme", n)
		})
	}
	t.Logf("took over after %v", took)
	if slices.Min(took) > takeover {
		t.Errorf("took over after %v, want at most %v", took, takeover)
	}
	wantOneTree(t, h, dirs)

	// The holder is killed. After its restart it is the standby.
	auditors[0].kill()
	grow()
	auditortest.Until(t, "the checkpoint of the one that is left", func() bool { return h.reached(t, "acme", leavesOf(t, dirs[0], "acme")+1) })
	auditors[0] = start(t, args(0)...)
	auditortest.Until(t, "it to follow", func() bool { return leavesOf(t, dirs[1], "acme") == leavesOf(t, dirs[0], "acme") })
	for _, a := range auditors {
		a.signal(t, os.Interrupt)
		if <-a.done; !a.cmd.ProcessState.Success() {
			t.Errorf("%s: %s", a.cmd.ProcessState, a.stderr.String())
		}
	}
	for _, dir := range dirs {
		auditortest.WantVerdicts(t, auditortest.Verify(t, dir, "acme"), verifier.Verified, verifier.Complete)
		if status, text := command(t, "verify", "--data-dir", dir, "--tenant", "acme", "--nats-url", s.URL(), "--require-trusted"); status != 0 {
			t.Errorf("status %d:\n%s", status, text)
		}
	}
	wantOneTree(t, h, dirs)
}

// wantOneTree expects that every checkpoint in the bucket belongs to the tree of both ledgers,
// never shrinks, and is from a holder of the lease.
func wantOneTree(tb testing.TB, h *history, dirs [2]string) {
	tb.Helper()
	all, holders := h.checkpoints(tb, "acme")
	if len(holders) < 3 {
		tb.Errorf("turns of %q", holders)
	}
	for i, c := range all {
		if c.holder == "" || i > 0 && (c.Size < all[i-1].Size || c.Arrivals < all[i-1].Arrivals) {
			tb.Errorf("checkpoint %d in the bucket, by %q, has %d leaves behind %d", i, c.holder, c.Size, all[max(i-1, 0)].Size)
		}
	}
	for _, dir := range dirs {
		r, err := ledger.OpenTenant(auditor.LedgerDir(dir), "acme")
		if err != nil {
			tb.Fatal(err)
		}
		err = r.Tree().Read(tb.Context(), func(signed []byte, hashes tlog.HashReader) error {
			newest, err := ledger.ReadCheckpoint(signed)
			if err != nil {
				return err
			}
			for _, c := range all {
				if c.Size > newest.Size {
					continue // it is behind
				}
				root, err := tlog.TreeHash(c.Size, hashes)
				if err != nil {
					return err
				}
				if root != c.Root {
					tb.Errorf("of the first %d leaves the root is %v, in the bucket it was %v", c.Size, root, c.Root)
				}
			}
			return nil
		})
		if err = errors.Join(err, r.Close()); err != nil {
			tb.Fatal(err)
		}
	}
}
