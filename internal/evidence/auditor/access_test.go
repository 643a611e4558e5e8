package auditor

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/evidence/access"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor/auditortest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/platform/osuser"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

func accesses(tb testing.TB, dir, tenant string) (list []events.AuditAccessedData) {
	tb.Helper()
	r, err := ledger.OpenTenant(LedgerDir(dir), tenant)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() {
		if err := r.Close(); err != nil {
			tb.Error(err)
		}
	}()
	for e, err := range r.After(tb.Context(), -1) {
		if err != nil {
			tb.Fatal(err)
		}
		if e.Kind != events.AuditAccessed {
			continue
		}
		event, err := events.Decode(e.Bytes)
		if err != nil {
			tb.Fatal(err)
		}
		d, err := events.Payload[events.AuditAccessedData](event)
		if err != nil {
			tb.Fatal(err)
		}
		list = append(list, d)
	}
	return list
}

// An access record is on disk without a broker, and in the ledger after a drain.
//
//guarantee:access-recorded
func TestRecordAccess_Drain(t *testing.T) {
	b, dir := auditortest.Connect(t, auditortest.Server(t)), t.TempDir()
	auditortest.PublishRun(t, auditortest.Outbox(t, b, "engine", "acme"), "run-1", 3)
	want := events.AuditAccessedData{
		Action: events.AuditErase, By: "jdoe", Reason: "right to be forgotten", Ticket: "DSR-88",
		Selection: &events.AuditSelection{User: "mmuster"}, Order: "a note\n\n— signed\n",
	}
	stored, err := access.Record(t.Context(), dir, "acme", want)
	if err != nil {
		t.Fatal(err)
	}
	if state, err := publish.Inspect(access.Outbox(dir)); err != nil || state.Waiting != 1 {
		t.Fatalf("%d records wait (%v), want 1", state.Waiting, err)
	}
	drain(t, b, dir)
	want.User = osuser.Current()
	if diff := cmp.Diff([]events.AuditAccessedData{want}, accesses(t, dir, "acme")); diff != "" {
		t.Errorf("on record (-want +got):\n%s", diff)
	}
	if e, ok := find(t, dir, "acme", stored.ID); !ok || e.Producer != stored.Producer {
		t.Errorf("the record is not found by the id that it was stored with")
	}
	auditortest.WantVerdicts(t, auditortest.Verify(t, dir, "acme"), verifier.Verified, verifier.Complete)
}

//guarantee:access-recorded
func TestRecordAccess_Serve(t *testing.T) {
	b, dir := auditortest.Connect(t, auditortest.Server(t)), t.TempDir()
	auditortest.PublishRun(t, auditortest.Outbox(t, b, "engine", "acme"), "run-1", 1)
	ctx, stop := context.WithCancel(auditortest.Deadline(t))
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, Options{Broker: b, DataDir: dir}) }()
	stored, err := access.Record(t.Context(), dir, "acme", events.AuditAccessedData{Action: events.AuditHold, By: "jdoe"})
	if err != nil {
		t.Fatal(err)
	}
	auditortest.Until(t, "the record is in the ledger", func() bool {
		_, ok := find(t, dir, "acme", stored.ID)
		return ok
	})
	stop()
	if err := <-ended; err != nil {
		t.Errorf("auditor: %v", err)
	}
}

func find(tb testing.TB, dir, tenant, id string) (ledger.Entry, bool) {
	tb.Helper()
	r, err := ledger.OpenTenant(LedgerDir(dir), tenant)
	if err != nil {
		return ledger.Entry{}, false
	}
	e, ok, err := r.Find(tb.Context(), id)
	if err != nil {
		tb.Fatal(err)
	}
	if err := r.Close(); err != nil {
		tb.Fatal(err)
	}
	return e, ok
}
