package bundle

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/bundle/bundletest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// call publishes an event about a tool call.
func (f *feed) call(producer, run, call string, kind events.Kind, payload any) {
	f.publish(producer, run, kind, "", payload)
	m := &f.messages[len(f.messages)-1]
	e, err := events.Decode(m.Data)
	if err != nil {
		panic(err)
	}
	e.ToolCall = call
	m.Data = e.Encode()
	s := f.sender(producer)
	s.pending[len(s.pending)-1] = events.HashOf(m.Data)
}

// later waits, and returns a time in the middle.
func (f *feed) later() time.Time {
	border := f.now.Add(time.Second)
	f.now = border.Add(time.Second)
	return border
}

// compare compares a run or a time of the ledger with its bundle, which lacks some of the records
// that decide. It returns the exit status.
func (e evidence) compare(t *testing.T, s ledger.Selection) int {
	t.Helper()
	want, err := verifier.Verify(t.Context(), e.path, verifier.Options{Key: e.key, Run: s.Run, From: s.From, To: s.To})
	if err != nil {
		t.Fatal(err)
	}
	path := e.bundle(t, s)
	got := check(t, path, CheckOptions{Key: e.key})
	if got.Exit != want.Exit || got.Completeness != want.Completeness || got.RecordedTwice != want.RecordedTwice ||
		got.Contradictions != want.Contradictions || got.DeniedResultCount != want.DeniedResultCount || got.ForeignCount != want.ForeignCount {
		t.Errorf("the ledger: %s, exit %d, %d contradictions, %d denied results, %d twice; the bundle: %s, exit %d, %d, %d, %d; %q",
			want.Completeness, want.Exit, want.Contradictions, want.DeniedResultCount, want.RecordedTwice,
			got.Completeness, got.Exit, got.Contradictions, got.DeniedResultCount, got.RecordedTwice, got.Problems)
	}
	unsigned := bundletest.Open(t, path)
	unsigned.Unsign()
	if r := check(t, save(t, unsigned.Pack()), CheckOptions{Key: e.key}); !s.IsAll() && r.Exit < verifier.ExitIncomplete {
		t.Errorf("without the signed selection: exit %d", r.Exit)
	}
	return want.Exit
}

// A denial is stored before midnight and the forged result after it. The bundles of both days report
// the result.
//
//guarantee:verify-bundle-window
func TestWindow_BetweenDenialAndResult(t *testing.T) {
	f := newFeed()
	f.call("p", "", "c1", events.ToolBefore, map[string]any{"tool": "Bash", "args": map[string]string{"command": "rm"}, "verdict": "deny"})
	f.manifest("p")
	border := f.later()
	f.call("p", "", "c1", events.ToolResult, events.ToolResultData{Tool: "Bash", Status: events.ToolSuccess, Result: json.RawMessage(`"x"`)})
	f.manifest("p")
	e := f.write(t)
	for _, s := range []ledger.Selection{{From: began, To: border, Stored: true}, {From: border, Stored: true}, {}} {
		if exit := e.compare(t, s); exit != verifier.ExitContradicts {
			t.Errorf("%v: exit %d", s, exit)
		}
	}
}

// One hook payload is recorded by the hook before midnight, and by an import of the log after it.
// That is no alarm.
//
//guarantee:verify-bundle-window
func TestWindow_BetweenRecordings(t *testing.T) {
	f := newFeed()
	payload := map[string]any{"tool": "Bash", "args": map[string]string{"command": "ls"}}
	f.publish("import", "r2", events.ToolBefore, "twice", payload)
	f.seal("import", "r2")
	border := f.later()
	payload["executions"] = []map[string]any{{"hook": "a", "verdict": "none", "duration_ms": 1}}
	f.publish("p", "r2", events.ToolBefore, "twice", payload)
	f.seal("p", "r2")
	e := f.write(t)
	for _, s := range []ledger.Selection{{From: began, To: border, Stored: true}, {From: border, Stored: true}, {Run: "r2"}, {}} {
		if exit := e.compare(t, s); exit != verifier.ExitVerified {
			t.Errorf("%v: exit %d", s, exit)
		}
	}
}

// A record of another run takes the id of a record of the run, or a number of its producer. The
// bundle of the run reports it.
//
//guarantee:verify-bundle-selection
func TestRun_FindingsOutside(t *testing.T) {
	f := newFeed()
	f.publish("mallory", "other", events.Custom, "taken", map[string]string{"text": "harmless"})
	f.seal("mallory", "other")
	f.publish("p", "r1", events.Custom, "taken", map[string]string{"text": "real"})
	f.seal("p", "r1")
	e := f.write(t)
	if a, b := e.compare(t, ledger.Selection{Run: "r1"}), e.compare(t, ledger.Selection{Run: "other"}); a != verifier.ExitContradicts || b != a {
		t.Errorf("the id: exit %d and %d", a, b)
	}

	lf := ledgertest.NewFeed("acme")
	lf.Sign("p")
	lf.Run("p", "r1", 3)
	forged, err := events.New(events.Custom, "/forged", events.CustomData{Name: "x"})
	if err != nil {
		t.Fatal(err)
	}
	forged.Run, forged.Tenant, forged.Producer, forged.Sequence = "other", "acme", "p", 99
	lf.Add(subjects.Address{Tenant: "acme", Producer: "p", Run: "other", Kind: events.Custom}, forged.Encode())
	e = (&feed{messages: lf.Messages, now: lf.Now}).write(t)
	for _, s := range []ledger.Selection{{Run: "r1"}, {From: began, Stored: true}} {
		if exit := e.compare(t, s); exit != verifier.ExitIncomplete {
			t.Errorf("the number: %v: exit %d", s, exit)
		}
	}
}

// No manifest lists the last events yet. Neither the ledger nor the bundle of the run alarms.
func TestRun_InFlight(t *testing.T) {
	f := newFeed()
	f.run("p", "r1", 3)
	f.run("p", "r2", 3)
	f.messages = f.messages[:len(f.messages)-1]
	e := f.write(t)
	for _, run := range []string{"r1", "r2"} {
		if exit := e.compare(t, ledger.Selection{Run: run}); exit != verifier.ExitVerified {
			t.Errorf("run %s: exit %d", run, exit)
		}
	}
}

// The ledger's key alone cannot leave an event out of a run that its producer sealed.
//
//guarantee:verify-bundle-selection
func TestRun_SealAgainstVerdict(t *testing.T) {
	f := newFeed()
	f.run("p", "r1", 3)
	e := f.write(t)
	o := bundletest.Open(t, e.bundle(t, ledger.Selection{Run: "r1"}))
	o.Drop(func(l bundletest.Leaf) bool { return l.Sequence == 2 })
	o.Resign(e.signer)
	if r := check(t, save(t, o.Pack()), CheckOptions{Key: e.key}); r.Integrity != verifier.Verified || r.Completeness != verifier.Gaps {
		t.Errorf("%s, %s: %q", r.Integrity, r.Completeness, r.Problems)
	}
}

// Names in records cannot make the verdict in a bundle too large to be read.
func TestWindow_LongNames(t *testing.T) {
	f, long := newFeed(), strings.Repeat("<", 900<<10)
	f.call("p", "r1", "a", events.ToolBefore, map[string]any{"tool": "Bash", "verdict": "deny"})
	f.call("p", "r1", long, events.ToolBefore, map[string]any{"tool": "Bash", "verdict": "deny"})
	for _, call := range []string{"a", long} {
		f.call("p", "", call, events.Custom, map[string]any{})
		f.call("p", "r1", call, events.ToolResult, events.ToolResultData{Tool: "Bash", Status: events.ToolSuccess})
	}
	f.manifest("p")
	e := f.write(t)
	path := e.bundle(t, ledger.Selection{Run: "r1"})
	if r := check(t, path, CheckOptions{Key: e.key}); r.DeniedResultCount != 2 || len(r.DeniedResults) != 1 || r.Exit != verifier.ExitContradicts {
		t.Errorf("exit %d, %d of %d results", r.Exit, len(r.DeniedResults), r.DeniedResultCount)
	}
	if n := len(open(t, path).files[aboutFile]); n > 2<<20 {
		t.Errorf("%s has %d bytes", aboutFile, n)
	}
}

// Bundles of earlier versions keep their verdicts. They lack the findings of other records, which
// the report says.
//
//guarantee:verify-bundle-selection
func TestCheck_BundlesBeforeVersion5(t *testing.T) {
	f := lossy()
	f.publish("mallory", "other", events.Custom, "taken", map[string]string{"text": "harmless"})
	f.publish("p", "r9", events.Custom, "harmless", map[string]string{"text": "real"})
	f.seal("p", "r9")
	e := f.write(t)
	for name, s := range map[string]ledger.Selection{
		"Run": {Run: "r9"}, "Gaps": {Run: "r1"}, "Range": {From: began, Stored: true},
	} {
		t.Run(name, func(t *testing.T) {
			path := e.bundle(t, s)
			want := check(t, path, CheckOptions{Key: e.key})
			o := bundletest.Open(t, path)
			o.EditAbout(func(a map[string]any) {
				if a["format"] = formatV2; s.Stored {
					a["format"] = formatV4
					return
				}
				delete(a, "window")
			})
			o.Resign(e.signer)
			got := check(t, save(t, o.Pack()), CheckOptions{Key: e.key})
			if got.Exit != want.Exit || got.Completeness != want.Completeness || !strings.HasPrefix(got.NotProven, notProvenOfPart) {
				t.Errorf("got %s, %d, %q, want %s, %d; %q", got.Completeness, got.Exit, got.NotProven, want.Completeness, want.Exit, got.Problems)
			}
		})
	}
}
