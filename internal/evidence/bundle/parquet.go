package bundle

import (
	"io"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/pkg/events"
)

const (
	rowsPerGroup  = 128 << 10
	bytesPerGroup = 32 << 20
)

const (
	rowsAtOnce  = 256
	bytesAtOnce = 1 << 20
)

const maxDictionary = 1 << 20

// parquetRow has times in microseconds, because every reader supports this unit. The column
// "record" contains the original times.
type parquetRow struct {
	Leaf     int64  `parquet:"leaf"`
	Class    string `parquet:"class,dict"`
	Finding  string `parquet:"finding,optional,dict"`
	Time     *int64 `parquet:"time,optional,timestamp(microsecond)"`
	Stored   *int64 `parquet:"stored,optional,timestamp(microsecond)"`
	Tenant   string `parquet:"tenant,optional,dict"`
	Producer string `parquet:"producer,optional,dict"`
	Sequence int64  `parquet:"sequence,optional"`
	Kind     string `parquet:"kind,optional,dict"`
	ID       string `parquet:"id,optional"`
	Run      string `parquet:"run,optional,dict"`
	Step     string `parquet:"step,optional,dict"`
	Session  string `parquet:"session,optional,dict"`
	Agent    string `parquet:"agent,optional,dict"`
	Role     string `parquet:"role,optional,dict"`
	ToolCall string `parquet:"tool_call,optional"`
	User     string `parquet:"user,optional,dict"`
	Source   string `parquet:"source,optional,dict"`
	Epoch    int64  `parquet:"epoch"`
	Stream   int64  `parquet:"stream"`
	Hash     string `parquet:"sha256"`
	Data     string `parquet:"data,optional"`   // JSON of the event's data
	Record   []byte `parquet:"record,optional"` // byte for byte
	Removed  string `parquet:"removed,optional,dict"`
	Order    *int64 `parquet:"order,optional"` // leaf of the erasure order
}

type parquetTable struct {
	w     *parquet.GenericWriter[parquetRow]
	rows  []parquetRow
	bytes int // size of the payloads in rows

	groupRows, groupBytes int
}

func newParquetTable(w io.Writer) *parquetTable {
	return &parquetTable{w: parquet.NewGenericWriter[parquetRow](w,
		// This name is constant, so that every build writes the same bytes.
		parquet.CreatedBy("hooktrail", "1", "none"),
		parquet.Compression(&parquet.Zstd),
		parquet.DataPageVersion(1), parquet.DefaultEncodingFor(parquet.ByteArray, &parquet.Plain),
		parquet.DictionaryMaxBytes(maxDictionary),
		parquet.SkipPageBounds("data"), parquet.SkipPageStatistics("data"),
		parquet.SkipPageBounds("record"), parquet.SkipPageStatistics("record"),
	)}
}

func (t *parquetTable) write(e ledger.Entry) error {
	row := parquetRowOf(e)
	t.rows = append(t.rows, row)
	t.bytes += len(row.Record) + len(row.Data)
	if len(t.rows) < rowsAtOnce && t.bytes < bytesAtOnce {
		return nil
	}
	return t.flush()
}

func (t *parquetTable) flush() error {
	if _, err := t.w.Write(t.rows); err != nil {
		return err
	}
	t.groupRows, t.groupBytes = t.groupRows+len(t.rows), t.groupBytes+t.bytes
	clear(t.rows)
	t.rows, t.bytes = t.rows[:0], 0
	if t.groupRows < rowsPerGroup && t.groupBytes < bytesPerGroup {
		return nil
	}
	t.groupRows, t.groupBytes = 0, 0
	return t.w.Flush()
}

func (t *parquetTable) end() error {
	if err := t.flush(); err != nil {
		return err
	}
	return t.w.Close()
}

func parquetRowOf(e ledger.Entry) parquetRow {
	event := eventOf(e)
	return parquetRow{
		Leaf: e.Leaf, Class: string(e.Class), Finding: string(e.Finding),
		Time: micros(e.Time), Stored: micros(e.Stored),
		Tenant: valid(event.Tenant), Producer: valid(e.Producer), Sequence: int64(e.Sequence),
		Kind: valid(string(e.Kind)), ID: valid(event.ID), Run: valid(event.Run), Step: valid(event.Step),
		Session: valid(event.Session), Agent: valid(event.Agent), Role: valid(event.AgentRole),
		ToolCall: valid(event.ToolCall), User: valid(event.User), Source: valid(event.Source),
		Epoch: int64(e.Epoch), Stream: int64(e.StreamSequence), Hash: e.Hash.String(),
		Data: valid(string(event.Data)), Record: e.Bytes,
		Removed: string(e.Removal.Word), Order: orderOf(e.Removal),
	}
}

func eventOf(e ledger.Entry) events.Event {
	event, err := events.Decode(e.Bytes)
	if err != nil || e.Class == ledger.ClassQuarantine {
		event = events.Event{Producer: e.Producer, Sequence: e.Sequence, Run: e.Run, ID: e.ID}
	}
	return event
}

func orderOf(r ledger.Removal) *int64 {
	if !r.Done() {
		return nil
	}
	return &r.Order
}

func micros(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	us := t.UnixMicro()
	return &us
}

func valid(text string) string { return strings.ToValidUTF8(text, "\ufffd") }
