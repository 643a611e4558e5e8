package auditor

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor/auditortest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/stream/consume"
)

//guarantee:witness-fails
func TestWitness_HangingOnesHoldNothingUp(t *testing.T) {
	b, dir := auditortest.Connect(t, auditortest.Server(t)), t.TempDir()
	all, file := auditortest.Watchers(t, dir)
	for _, w := range all {
		w.Answer(func(_ http.ResponseWriter, req *http.Request) {
			_, _ = io.Copy(io.Discard, req.Body) // the server notices a closed connection only after the body
			<-req.Context().Done()
		})
	}
	auditortest.PublishRun(t, auditortest.Outbox(t, b, "coder", "acme"), "r1", 50)
	ctx, cancel := context.WithCancel(auditortest.Deadline(t))
	defer cancel()
	o := Options{Broker: b, DataDir: dir, Witnesses: auditortest.Policy(t, file), Progress: func(p consume.Progress) {
		if p.Done > 0 && p.Lag == 0 {
			cancel() // the ledger is up to date although the witnesses hang
		}
	}}.withDefaults()
	if err := Run(ctx, o); err != nil {
		t.Fatal(err)
	}
	auditortest.WantVerdicts(t, auditortest.Verify(t, dir, "acme"), verifier.Verified, verifier.Complete)
	for _, one := range all {
		one.Answer(auditortest.Away)
	}
	before := all[0].Hits()
	o.NoBucket = true
	if err := anchorOnce(t, o, "acme"); err == nil || !strings.Contains(err.Error(), "0 of 3 witnesses") || !strings.Contains(err.Error(), "W2") {
		t.Errorf("got %v", err)
	}
	// A failing witness is paused, so the second round does not ask it.
	if n := all[0].Hits() - before; n != 1 {
		t.Errorf("it was asked %d times, want once", n)
	}
}
