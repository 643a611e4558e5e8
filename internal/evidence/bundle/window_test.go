package bundle

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/evidence/bundle/bundletest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// lossy is a mixed feed whose stream lost one event.
func lossy() *feed {
	f := mixed()
	f.messages = slices.Delete(f.messages, 9, 10)
	return f
}

// A signed bundle of a time of storage says what verify says about that time of the ledger.
//
//guarantee:verify-bundle-window
func TestWindow_SaysWhatVerifySays(t *testing.T) {
	e := lossy().write(t)
	var stored []time.Time
	for entry, err := range e.reader.Select(t.Context(), ledger.Selection{}) {
		if err != nil {
			t.Fatal(err)
		}
		stored = append(stored, entry.Stored)
	}
	seen := make(map[verifier.Completeness]bool)
	for first := 0; first < len(stored); first += 7 {
		for _, last := range []int{first + 3, len(stored) - 1} {
			s := ledger.Selection{From: stored[first], To: stored[min(last, len(stored)-1)].Add(1), Stored: true}
			want, err := verifier.Verify(t.Context(), e.path, verifier.Options{Key: e.key, From: s.From, To: s.To})
			if err != nil {
				t.Fatal(err)
			}
			got := check(t, e.bundle(t, s), CheckOptions{Key: e.key})
			n := int64(len(slices.DeleteFunc(slices.Clone(stored), func(at time.Time) bool { return at.Before(s.From) || !at.Before(s.To) })))
			if !got.Attested || got.Leaves != n || got.Bundle.Format != formatV5 {
				t.Errorf("%v: attested %t, %d of %d leaves, %s, %v", s, got.Attested, got.Leaves, n, got.Bundle.Format, got.Problems)
			}
			seen[got.Completeness] = true
			facts := func(r verifier.Report) any {
				return []any{r.Integrity, r.Completeness, r.Enrolled, r.NotEnrolled, r.Producers, r.Gaps, r.Runs, r.ForeignCount}
			}
			if diff := cmp.Diff(facts(want), facts(got.Report)); diff != "" {
				t.Errorf("%v (-ledger +bundle):\n%s", s, diff)
			}
		}
	}
	if !seen[verifier.Complete] || len(seen) < 2 {
		t.Errorf("only these verdicts were compared: %v", seen)
	}
}

// Without the signature, and in bundles by the times of events, the verdict does not count.
//
//guarantee:verify-bundle-window
func TestWindow_Forged(t *testing.T) {
	e := lossy().write(t)
	path := e.bundle(t, ledger.Selection{From: began, Stored: true})
	if r := check(t, path, CheckOptions{Key: e.key}); r.Completeness == verifier.Complete {
		t.Fatalf("the ledger is complete, so nothing can be forged: %v", r.Problems)
	}
	complete := func(about map[string]any) {
		if window, ok := about["window"].(map[string]any); ok {
			window["completeness"] = string(verifier.Complete)
		}
	}
	for name, tt := range map[string]struct {
		do   func(o *bundletest.Opened)
		want verifier.Integrity
	}{
		"Verdict":     {func(o *bundletest.Opened) { o.EditAbout(complete) }, verifier.Invalid},
		"NoTimes":     {func(o *bundletest.Opened) { o.EditAbout(func(a map[string]any) { delete(a, "times") }) }, verifier.Invalid},
		"OtherFormat": {func(o *bundletest.Opened) { o.EditAbout(func(a map[string]any) { a["format"] = formatV2 }) }, verifier.Invalid},
		"StoredEarlier": {func(o *bundletest.Opened) {
			o.Unsign()
			o.Edit(leavesFile, func(l map[string]any) { l["stored"] = "2020-01-01T00:00:00Z" })
		}, verifier.Invalid},
		"VerdictUnsigned": {func(o *bundletest.Opened) { o.Unsign(); o.EditAbout(complete) }, verifier.Verified},
		"Unsigned":        {func(o *bundletest.Opened) { o.Unsign() }, verifier.Verified},
	} {
		t.Run(name, func(t *testing.T) {
			o := bundletest.Open(t, path)
			tt.do(o)
			r := check(t, save(t, o.Pack()), CheckOptions{Key: e.key})
			if r.Integrity != tt.want || r.Completeness == verifier.Complete {
				t.Errorf("got %s, %s: %v", r.Integrity, r.Completeness, r.Problems)
			}
			if r.Integrity == verifier.Verified && len(r.Unproven) == 0 {
				t.Error("no reason why it is UNPROVEN")
			}
		})
	}
	if r := check(t, e.bundle(t, ledger.Selection{From: began}), CheckOptions{Key: e.key}); r.Completeness != verifier.Unproven || len(r.Unproven) != 1 {
		t.Errorf("by the times in the events: got %s, %v", r.Completeness, r.Unproven)
	}
}

// A bundle says so if it does not list all gaps.
//
//guarantee:verify-bundle-window
func TestWindow_ManyGaps(t *testing.T) {
	f := newFeed()
	for n := range 2*maxGaps + 3 {
		f.publish("p", "", events.Custom, fmt.Sprint("n", n), map[string]string{})
		if n%2 == 1 {
			f.messages = f.messages[:len(f.messages)-1] // lost
		}
	}
	f.manifest("p")
	e := f.write(t)
	r := check(t, e.bundle(t, ledger.Selection{From: began, Stored: true}), CheckOptions{Key: e.key})
	if len(r.Gaps) != maxGaps || len(r.Unproven) != 1 || !strings.Contains(r.Unproven[0], "1000 of 1001") {
		t.Errorf("%d gaps: %v", len(r.Gaps), r.Unproven)
	}
}
