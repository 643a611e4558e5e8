package bundle

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func readParquet(tb testing.TB, file string) (rows []map[string]any) {
	tb.Helper()
	f, err := parquet.OpenFile(strings.NewReader(file), int64(len(file)))
	if err != nil {
		tb.Fatal(err)
	}
	names := f.Schema().Columns()
	for _, group := range f.RowGroups() {
		in := group.Rows()
		defer func() {
			if err := in.Close(); err != nil {
				tb.Error(err)
			}
		}()
		page := make([]parquet.Row, 64)
		for {
			n, err := in.ReadRows(page)
			for _, values := range page[:n] {
				row := make(map[string]any)
				for _, v := range values {
					switch {
					case v.IsNull():
					case v.Kind() == parquet.Int64:
						row[names[v.Column()][0]] = v.Int64()
					default:
						row[names[v.Column()][0]] = string(v.ByteArray())
					}
				}
				rows = append(rows, row)
			}
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				tb.Fatal(err)
			}
		}
	}
	return rows
}

//guarantee:parquet
func TestParquet_IsTheLedger(t *testing.T) {
	e := mixed().write(t)
	rows := readParquet(t, e.table(t, Parquet, ledger.Selection{}))
	for want, err := range e.reader.After(t.Context(), -1) {
		if err != nil {
			t.Fatal(err)
		}
		if len(rows) == 0 {
			t.Fatalf("leaf %d is missing", want.Leaf)
		}
		got := rows[0]
		rows = rows[1:]
		record, _ := got["record"].(string)
		if got["leaf"] != want.Leaf || record != string(want.Bytes) || events.HashOf([]byte(record)).String() != got["sha256"] {
			t.Fatalf("leaf %v: want leaf %d with the bytes that have the hash", got["leaf"], want.Leaf)
		}
		if want.Class != ledger.ClassEvent {
			continue
		}
		var event struct {
			ID, RunID, Source string
			Time              time.Time
			Data              json.RawMessage
		}
		if err := json.Unmarshal(want.Bytes, &event); err != nil {
			t.Fatal(err)
		}
		cells := map[string]any{
			"leaf": want.Leaf, "class": "event", "time": event.Time.UnixMicro(), "stored": want.Stored.UnixMicro(),
			"tenant": "acme", "producer": want.Producer, "sequence": int64(want.Sequence), "kind": string(want.Kind),
			"id": event.ID, "run": event.RunID, "source": event.Source, "epoch": int64(1), "stream": int64(want.StreamSequence),
			"sha256": want.Hash.String(), "data": string(event.Data), "record": string(want.Bytes),
		}
		if diff := cmp.Diff(cells, got); diff != "" {
			t.Fatalf("leaf %d (-want +got):\n%s", want.Leaf, diff)
		}
	}
	if len(rows) > 0 {
		t.Errorf("%d rows belong to no record", len(rows))
	}
}

func TestParquet_HasTheColumnsOfCSV(t *testing.T) {
	e := mixed().write(t)
	file := e.table(t, Parquet, ledger.Selection{})
	f, err := parquet.OpenFile(strings.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	have := make(map[string]bool)
	for _, path := range f.Schema().Columns() {
		have[path[0]] = true
	}
	names, err := csv.NewReader(strings.NewReader(e.table(t, CSV, ledger.Selection{}))).Read()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if !have[name] {
			t.Errorf("there is no column %s", name)
		}
	}
}

// Invalid UTF-8 is replaced in text columns and kept in the record.
func TestParquet_TextIsText(t *testing.T) {
	f := newFeed()
	odd := "run\xff\x00"
	f.publish("coder/e4", "r1", events.Custom, "", map[string]string{"text": "plain"})
	f.add(subjects.Address{Producer: odd, Run: odd, Kind: events.Custom}, []byte(odd))
	f.add(subjects.Address{Producer: "odd", Run: "r1", Kind: events.Custom}, nil)
	rows := readParquet(t, f.write(t).table(t, Parquet, ledger.Selection{}))
	if len(rows) != 3 {
		t.Fatalf("got %d rows", len(rows))
	}
	if rows[1]["record"] != odd || rows[1]["run"] != "run\ufffd\x00" || rows[1]["finding"] != string(ledger.FindingUndecodable) {
		t.Errorf("what is no event: got %q", rows[1])
	}
	if rows[2]["data"] != nil || rows[2]["sha256"] != events.HashOf(nil).String() {
		t.Errorf("nothing at all: got %q", rows[2])
	}
}

//guarantee:parquet
func TestParquet_SameBytes(t *testing.T) {
	e := mixed().write(t)
	first := e.table(t, Parquet, ledger.Selection{Run: "r1"})
	if second := e.table(t, Parquet, ledger.Selection{Run: "r1"}); first != second {
		t.Error("the same selection gave other bytes")
	}
	if rows := readParquet(t, newFeed().write(t).table(t, Parquet, ledger.Selection{})); len(rows) != 0 {
		t.Errorf("a ledger of nothing: got %d rows", len(rows))
	}
	opts := Options{Selection: ledger.Selection{Run: "none"}}
	if err := WriteTable(t.Context(), &bytes.Buffer{}, e.reader, Parquet, opts); !errors.Is(err, ErrNothing) {
		t.Errorf("nothing: %v", err)
	}
}

// An erased record remains as a row that names the kind of removal and the order's leaf.
func TestParquet_Erased(t *testing.T) {
	e, order := erased(t)
	gone := 0
	for _, row := range readParquet(t, e.table(t, Parquet, ledger.Selection{})) {
		if row["removed"] == nil {
			if row["record"] == nil || row["order"] != nil {
				t.Errorf("leaf %v was not erased: got %v", row["leaf"], row)
			}
			continue
		}
		gone++
		if row["removed"] != string(ledger.Erased) || row["order"] != order || row["record"] != nil || row["data"] != nil || row["sha256"] == "" {
			t.Errorf("leaf %v was erased: got %v", row["leaf"], row)
		}
	}
	if gone != 7 {
		t.Errorf("%d rows of erased records, want 7", gone)
	}
}
