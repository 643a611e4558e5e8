package verifier_test

import (
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// The denial of a call and the success of another one do not contradict each other, whatever
// characters the ids of runs and calls have.
func TestVerify_CallsAreRunAndID(t *testing.T) {
	f := ledgertest.NewFeed("acme")
	f.Open("p", time.Hour)
	for _, c := range []struct {
		run, call, data string
		kind            events.Kind
	}{
		{"a", "b\nc", `{"tool":"Bash","verdict":"deny"}`, events.ToolBefore},
		{"a\nb", "c", `{"status":"success"}`, events.ToolResult},
		{"1", "1x", `{"tool":"Bash","verdict":"deny"}`, events.ToolBefore},
		{"11", "x", `{"status":"success"}`, events.ToolResult},
	} {
		e := ledgertest.Form{Kind: c.kind, Data: c.data}.Event(c.call)
		e.Run, e.Subject = c.run, c.run
		f.Publish("p", e)
	}
	f.Manifest("p")
	key := ledgertest.NewKey(t)
	r := ledgertest.Verify(t, ledgertest.Write(t, t.TempDir(), key, f, 100), key, verifier.Options{Tenant: "acme"})
	if r.DeniedResultCount != 0 || r.Exit == verifier.ExitContradicts {
		t.Errorf("exit %d, %+v", r.Exit, r.DeniedResults)
	}
}
