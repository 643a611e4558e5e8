package pyverify_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/testkit/pyverify"
	"github.com/hooktrail/hooktrail/internal/testkit/race"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// readingOf returns what a record says to our verifier.
func readingOf(record []byte) pyverify.Reading {
	e, err := events.Decode(record)
	if err != nil {
		m, err := events.DecodeManifest(record)
		return pyverify.Reading{Manifest: err == nil && m.Validate() == nil && m.Last < 1<<63}
	}
	r := pyverify.Reading{
		Event: true, ID: e.ID, Producer: e.Producer, Run: e.Run, Kind: string(e.Kind()), Time: ledger.FormatTime(e.Time), Tenant: e.Tenant,
		ToolCall: e.ToolCall, User: e.User, Sequence: fmt.Sprint(e.Sequence), Denies: e.DeniesCall(), Succeeds: e.CallSucceeded(),
	}
	decided := func(ok bool, numbers []uint64, texts ...string) {
		if !ok {
			return
		}
		for _, n := range numbers {
			r.Numbers = append(r.Numbers, fmt.Sprint(n))
		}
		r.Texts = texts
	}
	switch e.Kind() {
	case events.RunSealed:
		d, ok := ledger.SealIn(e)
		decided(ok, []uint64{d.Count, d.First, d.Last}, d.Digest)
	case events.GapRecorded:
		d, ok := ledger.GapIn(e)
		decided(ok, []uint64{d.First, d.Last}, d.Reason)
	case events.ProducerLost:
		d, ok := ledger.LossIn(e)
		decided(ok, []uint64{d.Last}, d.Producer, d.Outbox, d.Key)
	case events.AuditAccessed:
		r.Order = ledger.OrderIn(e)
	case events.BlobChunk:
		if c, ok := ledger.CutChunk(e, record); ok {
			r.Chunk = []string{c.Whole.String(), fmt.Sprint(c.Part), hex.EncodeToString(c.Content), strconv.Itoa(c.Cut)}
		}
	}
	return r
}

func compareReading(t *testing.T, v *pyverify.Verifier, record []byte) {
	t.Helper()
	ours, its := readingOf(record), v.Read(t, record)
	// The ledger has a manifest that we refuse in quarantine, and the script does not look at it.
	its.Manifest = its.Manifest && (ours.Manifest || ours.Event)
	if diff := cmp.Diff(ours, its); diff != "" {
		t.Errorf("record %q (-ours +its):\n%s", record, diff)
	}
}

func allForms() []ledgertest.Form {
	return append(append(ledgertest.Denials(), ledgertest.Successes()...), ledgertest.OtherForms()...)
}

// records returns the records of which the test makes others.
func records(t *testing.T) (list [][]byte) {
	t.Helper()
	for _, f := range allForms() {
		list = append(list, f.Event("c").Encode())
	}
	for _, members := range []string{
		`,"data_base64":"aGVs\nbG8="`, `,"data_base64":null,"data":{}`, `,"data":null`, `,"data_base64":"","data":{}`, `,"x":1,"y":"\ud800"`,
		`,"x":null,"x":1`, `,"x":1,"x":null`, `,"x":1.5`, `,"x":[]`, `,"X":1`, `,"subject":5`, `,"agent":null`, `,"tenant":false`, `,"tenant":[]`,
		`,"time":"2026-11-20T09:14:07.1234567891+01:30"`, `,"time":"2026-11-20t09:14:07z"`, `,"time":"0001-01-01T00:00:00Z"`,
		`,"time":"2026-02-30T00:00:00Z"`, `,"time":"2026-11-20T24:00:00Z"`, `,"time":"9999-12-31T23:59:59-00:01"`,
		`,"sequence":"18446744073709551615"`, `,"sequence":"18446744073709551616"`, `,"sequence":"01"`, `,"sequence":""`, `,"sequence":"١"`,
		`,"data":` + strings.Repeat("[", 511) + strings.Repeat("]", 511), `,"data":` + strings.Repeat("[", 512) + strings.Repeat("]", 512),
		`,"data":{"x":"\\ud800","y":"\ud83d\ude00","z":"\ud7ff"}`, `,"data":{"x":"\ude00"}`, `,"data":{"x":"\ud7ff\ud800"}`,
		`,"data":` + strings.Repeat("9", 5000), `,"data":NaN`, `,"data":-Infinity`, "\v", "\u00a0", `,"toolcall":"c"`, `,"runid":"r","runid":"s"`,
	} {
		list = append(list, []byte(`{"specversion":"1.0","id":"a","source":"/s","type":"hooktrail.tool.before"`+members+`}`))
	}
	f := ledgertest.NewFeed("acme")
	f.Open("p", time.Hour)
	f.Enrol("p", "owner")
	f.Skip("p", 2, "shed")
	f.Run("p", "r1", 1)
	f.Manifest("q")
	for _, m := range f.Messages {
		list = append(list, m.Data)
	}
	files, err := filepath.Glob(filepath.Join("..", "..", "evidence", "ledger", "testdata", "fuzz", "FuzzPayload", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files { // inputs that fuzzing found
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, text, _ = bytes.Cut(text, []byte("string("))
		line, _, _ := bytes.Cut(text, []byte(")\n"))
		if data, err := strconv.Unquote(string(line)); err == nil {
			for _, kind := range events.Kinds() {
				list = append(list, ledgertest.Form{Kind: kind, Data: data}.Event("c").Encode())
			}
		}
	}
	return list
}

// Both verifiers read each record in the same way, also if its bytes are changed at random.
//
//guarantee:second-verifier
func TestReading_Same(t *testing.T) {
	v, list := start(t), records(t)
	for _, record := range list {
		compareReading(t, v, record)
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	pieces := []string{
		`"verdict"`, `"Verdict"`, `"deny"`, `"Deny"`, `"status"`, `"statuſ"`, `"success"`, `"SUCCESS"`, `"ſuccess"`, "null", "true", "0", "-0", "1", "1e3", "1.0", "{}", "[]", `{"a":`, ",", ":", "}", "]",
		`"`, `\`, `\u0061`, `\ud800`, `\ude00`, " ", "\n", "\x00", "\xff", "é", `"x":1,`, `"last":`, `"producer":"p",`, `"sequence":"7",`,
	}
	for range race.Size(4000, 1000) {
		record := bytes.Clone(list[r.IntN(len(list))])
		for range 1 + r.IntN(3) {
			at := r.IntN(len(record))
			if next := bytes.IndexAny(record[at:], "{,:"); next >= 0 && r.IntN(2) == 0 {
				at += next + 1
			}
			end := min(len(record), at+r.IntN(4))
			record = slices.Concat(record[:at], []byte(pieces[r.IntN(len(pieces))]), record[end:])
		}
		if compareReading(t, v, record); t.Failed() {
			return
		}
	}
}

// Whatever the forms of a denial and a successful result, and whichever came first, both verifiers
// find the result of a denied call.
//
//guarantee:denied-result
func TestVerifier_FormsOfDeniedResult(t *testing.T) {
	v, key := start(t), ledgertest.NewKey(t)
	f := ledgertest.NewFeed("acme")
	f.Open("p", time.Hour)
	n := 0
	for i, denial := range ledgertest.Denials() {
		for j, success := range ledgertest.Successes() {
			call := fmt.Sprint(i, "-", j)
			pair := []events.Event{denial.Event(call), success.Event(call)}
			if (i+j)%2 == 0 {
				pair[0], pair[1] = pair[1], pair[0]
			}
			f.Publish("p", pair[0])
			f.Publish("p", pair[1])
			n++
		}
	}
	for _, other := range ledgertest.OtherForms() {
		f.Publish("p", other.Event("0-0"))
		f.Publish("p", other.Event("other"))
	}
	f.Manifest("p")
	path := ledgertest.Write(t, t.TempDir(), key, f, 1000)
	r := ledgertest.Verify(t, path, key, verifier.Options{Tenant: "acme"})
	if r.DeniedResultCount != int64(n) || r.Exit != verifier.ExitContradicts {
		t.Errorf("found %d of %d results of denied calls, exit %d", r.DeniedResultCount, n, r.Exit)
	}
	v.Compare(t, pyverify.Request{Path: path, Key: key.Public(), Tenant: "acme"}, r)
}

// Each form of a payload alone gives the same verdict, also in bundles.
func TestVerifier_FormsOfPayloads(t *testing.T) {
	v, key := start(t), ledgertest.NewKey(t)
	for _, form := range ledgertest.OtherForms() {
		f := ledgertest.NewFeed("acme")
		f.Open("p", time.Hour)
		f.Run("p", "r1", 1)
		f.Publish("q", form.Event("c"))
		f.Skip("q", 2, "")
		f.Publish("q", form.Event("d"))
		f.Manifest("q")
		path := ledgertest.Write(t, t.TempDir(), key, f, 1000)
		v.Compare(t, pyverify.Request{Path: path, Key: key.Public(), Tenant: "acme"}, ledgertest.Verify(t, path, key, verifier.Options{Tenant: "acme"}))
	}
}
