package daily

import (
	"bytes"
	"encoding/json"
	"testing"

	"golang.org/x/mod/sumdb/note"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// If the JSON has a second member "report", Hooktrail and other readers may take different ones. So
// only the members that Made.JSON writes are accepted.
func TestParse_OnlyAsWritten(t *testing.T) {
	rep := Report{Exit: 11}
	rep.Verdict.Completeness = verifier.Gaps
	data, err := rep.JSON()
	if err != nil {
		t.Fatal(err)
	}
	s := sample()
	s.JSON = events.HashOf(data)
	m := Made{Report: rep, Note: []byte(s.Text() + UnsignedEnd)}
	file, err := m.JSON()
	if err != nil {
		t.Fatal(err)
	}
	text := func(Report) string { return s.Body }
	check := func(data []byte) error {
		f, err := Parse(data)
		if err == nil {
			_, _, err = f.Check(note.VerifierList(), text)
		}
		return err
	}
	if err := check(file); err != nil {
		t.Fatal(err)
	}
	forged := bytes.Replace(data, []byte(`"exit":11`), []byte(`"exit":0`), 1)
	if bytes.Equal(forged, data) || !json.Valid(forged) {
		t.Fatalf("nothing to forge in %s", data)
	}
	for name, attack := range map[string][]byte{
		"Case":    bytes.Replace(file, []byte(`"report":`), append(append([]byte(`"report":`), forged...), []byte(`,"Report":`)...), 1),
		"Twice":   bytes.Replace(file, []byte(`"report":`), append(append([]byte(`"report":`), forged...), []byte(`,"report":`)...), 1),
		"Unknown": bytes.Replace(file, []byte(`"report":`), []byte(`"verdict":"VERIFIED, COMPLETE","report":`), 1),
		"Signed":  bytes.Replace(file, []byte(`"signed": false`), []byte(`"signed": true`), 1),
	} {
		if err := check(attack); err == nil && !bytes.Equal(attack, file) {
			t.Errorf("%s: accepted", name)
		}
	}
}
