package bundle

import (
	"bytes"
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/evidence/bundle/bundletest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
)

// Anyone can make a bundle of some kilobytes whose bundle.json has millions of producers. Nothing is
// known about its signature when it is read, so reading it must not take gigabytes.
func TestCheck_ManyEntriesNeedLittleMemory(t *testing.T) {
	f := newFeed()
	f.run("p", "r1", 3)
	e := f.write(t)
	for name, list := range map[string]string{"Producers": `"window":{"producers":[`, "Gaps": `"gaps":[`, "Absent": `"absent":[`} {
		t.Run(name, func(t *testing.T) {
			o := bundletest.Open(t, e.bundle(t, ledger.Selection{Run: "r1"}))
			o.Unsign()
			about := strings.TrimSuffix(strings.TrimSpace(o.Files[aboutFile]), "}") + "," + list
			end := strings.Repeat("]", strings.Count(list, "[")) + strings.Repeat("}", strings.Count(list, "{")+1)
			o.Files[aboutFile] = about + strings.Repeat("{},", (maxAboutFile-len(about)-len(end))/3-1) + "{}" + end
			path := save(t, o.Pack())
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			r := check(t, path, CheckOptions{Key: e.key})
			runtime.ReadMemStats(&after)
			if n := (after.TotalAlloc - before.TotalAlloc) >> 20; n > 200 || r.Exit != verifier.ExitInvalid {
				t.Errorf("%d MiB allocated, exit %d", n, r.Exit)
			}
		})
	}
}

// FuzzParseAbout checks that bundle.json has one meaning. A reader that knows no types, and so takes
// names exactly and the last of repeated ones, finds what parseAbout finds.
func FuzzParseAbout(f *testing.F) {
	for _, text := range []string{
		`{"format":"hooktrail/bundle/v5","tenant":"acme","leaves":1,"size":2,"seals":[{"producer":"p","sequence":1,"sha256":"x"}]}`,
		`{"window":{"completeness":"COMPLETE","producers":null,"runs":{"sealed":1},"foreign_count":3},"from":"2026-11-20T09:00:00Z"}`,
		`{"FORMAT":"x"}`, `{"size":1,"size":2}`, `{"size":null}`, `{"other":1}`, `{"tenant":"\ud800"}`, `{"size":-0}`, `{} {}`, `{"window":{"runs":[]}}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		a, err := parseAbout(text)
		if err != nil {
			return
		}
		var free map[string]any
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		if err := d.Decode(&free); err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(free)
		if err != nil {
			t.Fatal(err)
		}
		b, err := parseAbout(again)
		if diff := cmp.Diff(a, b); diff != "" || err != nil {
			t.Errorf("another reader finds (-here +there), %v:\n%s", err, diff)
		}
	})
}
