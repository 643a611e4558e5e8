package bundle

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/anchor/timestamp"
	"github.com/hooktrail/hooktrail/internal/evidence/anchor/timestamp/timestamptest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
)

// stampAt stores a time stamp of the newest checkpoint of e next to the ledger at path.
func (e evidence) stampAt(tb testing.TB, a *timestamptest.TSA, path string) {
	tb.Helper()
	signed, c, err := e.reader.Signed(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	u, err := timestamp.ParseURL(a.URL)
	if err != nil {
		tb.Fatal(err)
	}
	client := timestamp.NewClient(u)
	defer client.Close()
	token, parsed, err := client.Stamp(tb.Context(), signed)
	if err == nil {
		err = timestamp.Write(path, timestamp.Stored{Note: signed, Token: token}, c.Size, parsed)
	}
	if err != nil {
		tb.Fatal(err)
	}
}

// A bundle has the newest time stamp that its checkpoint continues. Nobody can replace it by
// that of another ledger, or remove it from an attested bundle.
//
//guarantee:timestamp-checked
func TestBundle_TimeStamp(t *testing.T) {
	a, keys := timestamptest.New(t, timestamptest.Options{}), filepath.Join(t.TempDir(), "keys")
	f, foreign := newFeed(), newFeed()
	f.run("coder/e4", "r1", 6)
	older := f.writeWith(t, keys)
	f.run("coder/e4", "r2", 7)
	e := f.writeWith(t, keys)
	older.stampAt(t, a, e.path)
	foreign.run("coder/e4", "r1", 3)
	other := foreign.writeWith(t, keys) // of the same key
	other.stampAt(t, a, other.path)
	otherFile := open(t, other.bundle(t, ledger.Selection{})).files[stampFile]
	all := CheckOptions{Key: e.key, TSA: a.Pool(t)}
	for _, s := range []ledger.Selection{{}, {Run: "r1"}, {Run: "r2"}} {
		path, format := e.bundle(t, s), formatV5
		if s.IsAll() {
			format = formatV3
		}
		r := check(t, path, all)
		if ts := r.TimeStamps; r.Exit != 0 || r.Bundle.Format != format || ts.Good != 1 || (ts.Newest.Behind == 0) != (s.Run == "r1") {
			t.Fatalf("%v: got exit %d, %s, %+v, %v", s, r.Exit, r.Bundle.Format, ts, r.Problems)
		}
		stamped := open(t, path).files[stampFile]
		for name, edit := range map[string]string{
			"Other": otherFile, "Empty": "", "Text": "x", "NoProof": stamped[strings.Index(stamped, "hooktrail/timestamp"):],
			"NoStamp": "\n", "Checkpoint": strings.Replace(stamped, "arrivals ", "arrivals 1", 1),
		} {
			o := open(t, path)
			o.files[stampFile] = edit
			if r := check(t, o.close(t), all); r.Exit != verifier.ExitInvalid {
				t.Errorf("%v, %s: got exit %d, %+v", s, name, r.Exit, r.TimeStamps)
			}
		}
		o := open(t, path)
		o.names = slices.DeleteFunc(o.names, func(name string) bool { return name == stampFile })
		if r := check(t, o.close(t), all); r.Exit != verifier.ExitInvalid {
			t.Errorf("%v, removed: got exit %d", s, r.Exit)
		}
		o.files[aboutFile] = strings.Replace(o.files[aboutFile], formatV3, formatV2, 1)
		if r := check(t, o.close(t), all); r.Exit != verifier.ExitInvalid {
			t.Errorf("%v, removed, as version 2: got exit %d", s, r.Exit)
		}
		o.files[selectionFile] = ""
		o.files[aboutFile] = strings.Replace(o.files[aboutFile], `"stamped": true`, `"stamped": false`, 1)
		if r := check(t, o.close(t), all); r.Attested || r.Exit != verifier.ExitIncomplete || r.TimeStamps.Good != 0 {
			t.Errorf("%v, removed without selection: got exit %d, %+v, %v", s, r.Exit, r.TimeStamps, r.Problems)
		}
	}
	// A time stamp of another history is not exported.
	older.stampAt(t, a, other.path)
	if r := check(t, other.bundle(t, ledger.Selection{}), CheckOptions{Key: e.key, TSA: a.Pool(t)}); r.Exit != 0 || r.TimeStamps.Newest.Size >= e.size(t) {
		t.Errorf("got exit %d, %+v", r.Exit, r.TimeStamps)
	}
}

func (e evidence) size(tb testing.TB) int64 {
	tb.Helper()
	c, err := e.reader.Newest(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	return c.Size
}

// Anyone who can write to the folder of a ledger can add a time stamp or a witnessed checkpoint with
// its root that another key signed. Bundles leave both out.
//
//guarantee:timestamp-checked
func TestBundle_PlantedCheckpoints(t *testing.T) {
	a := timestamptest.New(t, timestamptest.Options{})
	f := newFeed()
	f.run("p", "r1", 3)
	e := f.write(t)
	other := f.write(t) // with another key
	other.stampAt(t, a, e.path)
	signed, _, err := other.reader.Signed(t.Context())
	if err == nil {
		err = ledger.WriteWitnessed(e.path, signed)
	}
	if err != nil {
		t.Fatal(err)
	}
	r := check(t, e.bundle(t, ledger.Selection{}), CheckOptions{Key: e.key})
	if r.Exit != verifier.ExitVerified || r.TimeStamps != nil {
		t.Errorf("exit %d, %+v: %q", r.Exit, r.TimeStamps, r.Problems)
	}
}
