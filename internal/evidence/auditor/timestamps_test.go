package auditor

import (
	"context"
	"io"
	"net/http"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/anchor"
	"github.com/hooktrail/hooktrail/internal/evidence/anchor/timestamp"
	"github.com/hooktrail/hooktrail/internal/evidence/anchor/timestamp/timestamptest"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor/auditortest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/stream/consume"
)

// A time stamp authority that hangs does not block the ledgers. When it answers again, the ledger
// gets its time stamp.
//
//guarantee:timestamps
func TestTimestamps_HangingAuthorityHoldsNothingUp(t *testing.T) {
	a := timestamptest.New(t, timestamptest.Options{})
	a.Answer(func(_ http.ResponseWriter, req *http.Request) {
		_, _ = io.Copy(io.Discard, req.Body) // the server notices a closed connection only after the body
		<-req.Context().Done()
	})
	u, err := timestamp.ParseURL(a.URL)
	if err != nil {
		t.Fatal(err)
	}
	b, dir := auditortest.Connect(t, auditortest.Server(t)), t.TempDir()
	auditortest.PublishRun(t, auditortest.Outbox(t, b, "coder", "acme"), "r1", 50)
	ctx, cancel := context.WithCancel(auditortest.Deadline(t))
	defer cancel()
	o := Options{Broker: b, DataDir: dir, Timestamps: anchor.Timestamps{URL: u}, Progress: func(p consume.Progress) {
		if p.Done > 0 && p.Lag == 0 {
			a.Answer(nil)
			cancel()
		}
	}}
	if err := Run(ctx, o); err != nil {
		t.Fatal(err)
	}
	auditortest.WantVerdicts(t, auditortest.Verify(t, dir, "acme"), verifier.Verified, verifier.Complete)
	o.Drain, o.Progress = true, nil
	if err := Run(auditortest.Deadline(t), o); err != nil {
		t.Fatal(err)
	}
	path := auditortest.LedgerFile(t, dir, "acme")
	if names, err := timestamp.Names(path); err != nil || len(names) != 1 {
		t.Errorf("got %v, %v", names, err)
	}
}
