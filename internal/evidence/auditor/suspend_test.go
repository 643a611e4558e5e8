package auditor

import (
	"errors"
	"strings"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor/auditortest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

// After the ledger is restored, it gets all messages that arrived meanwhile.
//
//guarantee:verify-offline-change
func TestRun_SuspendsDamagedLedger(t *testing.T) {
	for name, damage := range map[string]func(tb testing.TB, path string){
		"LeafDeleted":      edit("DELETE FROM leaves WHERE leaf = (SELECT max(leaf) FROM leaves)"),
		"NoCheckpoint":     edit("DELETE FROM checkpoints"),
		"NoTable":          edit("DROP TABLE producers"),
		"NewerVersion":     edit("PRAGMA user_version = 99"),
		"NoDatabase":       auditortest.Overwrite(strings.Repeat("this is no database. ", 100)),
		"PayloadsDeleted":  edit("DELETE FROM payloads"),
		"AnotherTenants":   nil,
		"SignedBySomebody": edit("UPDATE checkpoints SET note = replace(note, 'hooktrail ', 'nobody ')"),
	} {
		t.Run(name, func(t *testing.T) {
			b, dir := auditortest.Connect(t, auditortest.Server(t)), t.TempDir()
			acme, other := auditortest.Outbox(t, b, "coder", "acme"), auditortest.Outbox(t, b, "tester", "other")
			started := seenTwice(t, acme, "first")
			auditortest.PublishRun(t, acme, "r1", 5)
			auditortest.PublishRun(t, other, "r1", 5)
			drain(t, b, dir)
			path := auditortest.LedgerFile(t, dir, "acme")
			backup := auditortest.ReadFile(t, path)
			if damage == nil {
				damage = auditortest.Overwrite(string(auditortest.ReadFile(t, auditortest.LedgerFile(t, dir, "other"))))
			}
			damage(t, path)
			for _, run := range []string{"r2", "r3"} { // the ledger is still damaged at the second start
				if _, err := acme.Append(t.Context(), started); err != nil {
					t.Fatal(err)
				}
				auditortest.PublishRun(t, acme, run, 5)
				auditortest.PublishRun(t, other, run, 5)
				err := Run(auditortest.Deadline(t), Options{Broker: b, DataDir: dir, Drain: true})
				if !errors.Is(err, ledger.ErrDamaged) || !strings.Contains(err.Error(), `"acme"`) {
					t.Fatalf("drain: got %v", err)
				}
			}
			auditortest.WantVerdicts(t, auditortest.Verify(t, dir, "other"), verifier.Verified, verifier.Complete)
			if r := auditortest.Verify(t, dir, "other"); r.Runs.Sealed != 3 {
				t.Errorf("the other tenant: got %+v", r.Runs)
			}
			auditortest.Overwrite(string(backup))(t, path)
			drain(t, b, dir)
			whole := t.TempDir()
			drain(t, b, whole)
			for _, tenant := range []string{"acme", "other"} {
				got, want := auditortest.Verify(t, dir, tenant), auditortest.Verify(t, whole, tenant)
				auditortest.WantVerdicts(t, got, verifier.Verified, verifier.Complete)
				if got.Checkpoint.Root != want.Checkpoint.Root || got.SeenAgain != want.SeenAgain {
					t.Errorf("tenant %s: got root %s, seen again %d, want %s, %d",
						tenant, got.Checkpoint.Root, got.SeenAgain, want.Checkpoint.Root, want.SeenAgain)
				}
			}
		})
	}
}

// seenTwice appends an event that the test publishes again later.
func seenTwice(tb testing.TB, p *publish.Publisher, run string) events.Event {
	tb.Helper()
	e, err := events.New(events.Custom, "/test", events.CustomData{Name: "again"})
	if err != nil {
		tb.Fatal(err)
	}
	e.Run = run
	if _, err := p.Append(tb.Context(), e); err != nil {
		tb.Fatal(err)
	}
	return e
}

func edit(statement string) func(tb testing.TB, path string) {
	return func(tb testing.TB, path string) {
		tb.Helper()
		conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
		if err != nil {
			tb.Fatal(err)
		}
		if err := errors.Join(sqlitex.ExecuteScript(conn, statement, nil), conn.Close()); err != nil {
			tb.Fatal(err)
		}
	}
}

func TestRun_RenewsWithDamagedLedger(t *testing.T) {
	b, dir := auditortest.Connect(t, auditortest.Server(t)), t.TempDir()
	for _, tenant := range []string{"acme", "other"} {
		p := auditortest.Outbox(t, b, "coder-"+tenant, tenant)
		auditortest.AppendEvent(t, p, "crashed", events.RunStarted, "", events.RunStartedData{})
		if err := p.Flush(auditortest.Deadline(t)); err != nil {
			t.Fatal(err)
		}
	}
	drain(t, b, dir)
	edit("DELETE FROM hashes")(t, auditortest.LedgerFile(t, dir, "acme"))
	later := func() time.Time { return time.Now().Add(40 * time.Minute) }
	err := Run(auditortest.Deadline(t), Options{Broker: b, DataDir: dir, Drain: true, Now: later})
	if err == nil || !strings.Contains(err.Error(), `"acme"`) {
		t.Errorf("drain: got %v", err)
	}
	auditortest.WantVerdicts(t, auditortest.Verify(t, dir, "other"), verifier.Verified, verifier.Unsealed)
}
