package auditor

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor/auditortest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/stream/consume"
)

func (f *feed) lockLedger(tenant string) (unlock func()) {
	f.tb.Helper()
	path, err := ledger.Path(LedgerDir(f.s.opts.DataDir), tenant)
	if err != nil {
		f.tb.Fatal(err)
	}
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err == nil {
		err = sqlitex.Execute(conn, "BEGIN IMMEDIATE", nil)
	}
	if err != nil {
		f.tb.Fatal(err)
	}
	return func() {
		if err := errors.Join(sqlitex.Execute(conn, "ROLLBACK", nil), conn.Close()); err != nil {
			f.tb.Error(err)
		}
	}
}

// impatient gives each ledger a backlog at once, or never.
func (f *feed) impatient(is bool) {
	f.s.ledgers.opts.tooLong = func() <-chan time.Time {
		at := make(chan time.Time)
		if is {
			close(at)
		}
		return at
	}
}

// The ledger gets the same root as one that was never locked.
//
//guarantee:slow-ledger
func TestSlowWrite_OthersGoOn(t *testing.T) {
	b, dir := auditortest.Connect(t, auditortest.Server(t)), t.TempDir()
	f := newFeed(t, b, dir)
	var all []consume.Message
	send := func(tenants ...string) {
		t.Helper()
		var batch []consume.Message
		for _, tenant := range tenants {
			batch = append(batch, f.custom(tenant))
		}
		all = append(all, batch...)
		f.apply(batch...)
	}
	send("acme", "other")
	unlock := f.lockLedger("acme")
	f.impatient(true)
	send("acme")
	f.impatient(false)
	for range 3 {
		send("acme", "other")
	}
	f.wantAt(map[string]uint64{"acme": 1, "other": 9})
	if at, err := f.s.projector.Position(t.Context()); err != nil || at.Sequence != 9 {
		t.Errorf("the position is %d, %v, want 9", at.Sequence, err)
	}
	if err := f.s.ledgers.slowWrites(); err != nil {
		t.Errorf("told too early: %v", err)
	}
	f.s.ledgers.backlogs["acme"].since = time.Now().Add(-time.Minute)
	if err := f.s.ledgers.slowWrites(); err == nil || !strings.Contains(err.Error(), `"acme"`) {
		t.Errorf("readiness does not tell who waits: %v", err)
	}
	unlock()
	if err := f.s.ledgers.finish(auditortest.Deadline(t)); err != nil {
		t.Fatal(err)
	}
	f.wantAt(map[string]uint64{"acme": 8})
	send("other", "acme")
	if err := f.s.close(); err != nil {
		t.Fatal(err)
	}

	calm := newFeed(t, b, t.TempDir())
	calm.at = f.at
	calm.apply(all...)
	if err := calm.s.close(); err != nil {
		t.Fatal(err)
	}
	for _, tenant := range []string{"acme", "other"} {
		got, want := auditortest.Verify(t, dir, tenant), auditortest.Verify(t, calm.s.opts.DataDir, tenant)
		if got.Integrity != verifier.Verified || len(got.Gaps) > 0 || got.Checkpoint.Root != want.Checkpoint.Root {
			t.Errorf("%s: %s, gaps %v, root %v, want that of one that was not locked: %v",
				tenant, got.Integrity, got.Gaps, got.Checkpoint.Root, want.Checkpoint.Root)
		}
	}
}

//guarantee:slow-ledger
func TestSlowWrite_KilledMeanwhile(t *testing.T) {
	b, dir := auditortest.Connect(t, auditortest.Server(t)), t.TempDir()
	f := newFeed(t, b, dir)
	f.apply(f.custom("acme"), f.custom("other"))
	unlock := f.lockLedger("acme")
	f.impatient(true)
	f.apply(f.custom("acme"))
	f.impatient(false)
	f.apply(f.custom("other"), f.custom("acme"))
	if at, err := resume(auditortest.Deadline(t), f.s.ledgers); err != nil || at.start.Sequence != 1 {
		t.Errorf("resumed after %d, %v, want the missing message to be read again", at.start.Sequence, err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := f.s.ledgers.finish(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("there is no time to wait for it: %v", err)
	}
	unlock()
	if err := f.s.ledgers.finish(auditortest.Deadline(t)); err != nil {
		t.Error(err)
	}
	if err := f.s.close(); err != nil {
		t.Error(err)
	}
	again := newFeed(t, b, dir)
	if again.s.projector.resumed.start.Sequence != 5 {
		t.Errorf("it goes on behind %d, want 5: nothing is missing", again.s.projector.resumed.start.Sequence)
	}
	if err := again.s.close(); err != nil {
		t.Error(err)
	}
}

//guarantee:slow-ledger
func TestBudget(t *testing.T) {
	left := &budget{ledgers: 2, bytes: 10}
	if !left.take(8) || left.take(3) || !left.take(2) || left.take(0) {
		t.Errorf("another room: %d ledgers, %d bytes left", left.ledgers, left.bytes)
	}
}
