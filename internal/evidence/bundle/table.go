package bundle

import (
	"context"
	"encoding/base64"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ocsf"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// Format is an output format of [WriteTable]. A table is not signed, so it proves nothing.
type Format string

// The formats.
const (
	JSONL   Format = "jsonl"   // original bytes of the records, one per line
	CSV     Format = "csv"     // safe to open in a spreadsheet
	Parquet Format = "parquet" // with typed columns
	OCSF    Format = "ocsf"    // Open Cybersecurity Schema Framework, as JSON lines
)

// WriteTable writes the selected records, up to the newest checkpoint, in the given format. If no
// record matches, the error wraps [ErrNothing]. If a record is missing from the ledger, the error
// wraps [ledger.ErrDamaged].
func WriteTable(ctx context.Context, w io.Writer, r *ledger.Reader, format Format, opts Options) error {
	if err := r.CheckLeaves(ctx); err != nil {
		return err
	}
	newest, err := r.Newest(ctx)
	if err != nil {
		return err
	}
	t, err := newTable(w, format, r.Tenant())
	if err != nil {
		return err
	}
	s := opts.Selection
	s.Before = newest.Size
	n := int64(0)
	for e, err := range below(ctx, r, s) {
		if err != nil {
			return err
		}
		if err := t.write(e); err != nil {
			return fmt.Errorf("write leaf %d: %w", e.Leaf, err)
		}
		if n++; opts.Progress != nil {
			opts.Progress(e.Leaf+1, newest.Size)
		}
	}
	if n == 0 && !s.IsAll() {
		return ErrNothing
	}
	if err := t.end(); err != nil {
		return fmt.Errorf("write %s: %w", format, err)
	}
	return nil
}

// below is like Select, but yields nothing if s.Before is 0. Select would treat 0 as no limit.
func below(ctx context.Context, r *ledger.Reader, s ledger.Selection) iter.Seq2[ledger.Entry, error] {
	if s.Before == 0 {
		return func(func(ledger.Entry, error) bool) {}
	}
	return r.Select(ctx, s)
}

type table interface {
	write(e ledger.Entry) error
	end() error
}

func newTable(w io.Writer, format Format, tenant string) (table, error) {
	switch format {
	case JSONL, OCSF:
		return &lineTable{w: w, format: format, tenant: tenant}, nil
	case CSV:
		t := &csvTable{w: csv.NewWriter(w)}
		return t, t.w.Write(columns)
	case Parquet:
		return newParquetTable(w), nil
	}
	return nil, fmt.Errorf("format %q is not one of %s, %s, %s and %s", format, JSONL, CSV, Parquet, OCSF)
}

type lineTable struct {
	w      io.Writer
	format Format
	tenant string
	line   []byte
}

func (t *lineTable) write(e ledger.Entry) (err error) {
	if t.line, err = AppendLine(t.line[:0], t.format, t.tenant, e); err != nil {
		return err
	}
	_, err = t.w.Write(append(t.line, '\n'))
	return err
}

func (t *lineTable) end() error { return nil }

// AppendLine appends the record e to line as JSON in the format [JSONL] or [OCSF], without a line
// feed.
func AppendLine(line []byte, format Format, tenant string, e ledger.Entry) ([]byte, error) {
	if format != OCSF {
		return appendJSON(line, e)
	}
	row, err := ocsf.Row(tenant, e)
	return append(line, row...), err
}

type jsonLine struct {
	Leaf    int64          `json:"leaf"`
	Class   ledger.Class   `json:"class"`
	Finding ledger.Finding `json:"finding,omitempty"`
	Epoch   uint64         `json:"epoch"`
	Stream  uint64         `json:"stream"`
	Stored  time.Time      `json:"stored,omitzero"`
	Hash    string         `json:"sha256"`
	Removed ledger.Word    `json:"removed,omitempty"`
	Order   int64          `json:"order,omitempty"`

	// The next fields are only set for a destroyed record or a record in quarantine. Other records
	// contain their values.
	Producer string      `json:"producer,omitempty"`
	Sequence uint64      `json:"sequence,omitempty"`
	Kind     events.Kind `json:"kind,omitempty"`
	ID       string      `json:"id,omitempty"`
	Run      string      `json:"run,omitempty"`
	Time     time.Time   `json:"time,omitzero"`
}

func appendJSON(dst []byte, e ledger.Entry) ([]byte, error) {
	line := jsonLine{
		Leaf: e.Leaf, Class: e.Class, Finding: e.Finding, Epoch: e.Epoch, Stream: e.StreamSequence,
		Stored: e.Stored, Hash: e.Hash.String(), Removed: e.Removal.Word, Order: e.Removal.Order,
	}
	if e.Removal.Done() || e.Class == ledger.ClassQuarantine {
		line.Producer, line.Sequence, line.Kind, line.ID, line.Run, line.Time = e.Producer, e.Sequence, e.Kind, e.ID, e.Run, e.Time
	}
	head, err := json.Marshal(line)
	if err != nil {
		return nil, err
	}
	dst = append(dst, head[:len(head)-1]...)
	// Write the original bytes, so that readers can check the hash of the record.
	if e.Removal.Done() {
		dst = append(dst, `,"record":null`...)
	} else if isLine(e.Bytes) && utf8.Valid(e.Bytes) && json.Valid(e.Bytes) {
		dst = append(append(dst, `,"record":`...), e.Bytes...)
	} else {
		dst = append(dst, `,"record_base64":"`...)
		dst = append(base64.StdEncoding.AppendEncode(dst, e.Bytes), '"')
	}
	return append(dst, '}'), nil
}

var columns = []string{ //nolint:gochecknoglobals // a constant
	"leaf", "class", "finding", "time", "stored", "tenant", "producer", "sequence", "kind", "id", "run", "step",
	"session", "agent", "role", "tool_call", "user", "source", "sha256", "record", "removed", "order",
}

func cells(e ledger.Entry) []string {
	event := eventOf(e)
	return []string{
		strconv.FormatInt(e.Leaf, 10), string(e.Class), string(e.Finding), timeText(e.Time), timeText(e.Stored),
		event.Tenant, e.Producer, strconv.FormatUint(e.Sequence, 10), string(e.Kind), event.ID, event.Run, event.Step,
		event.Session, event.Agent, event.AgentRole, event.ToolCall, event.User, event.Source, e.Hash.String(), string(e.Bytes),
		string(e.Removal.Word), orderText(e.Removal),
	}
}

func orderText(r ledger.Removal) string {
	if !r.Done() {
		return ""
	}
	return strconv.FormatInt(r.Order, 10)
}

func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

type csvTable struct{ w *csv.Writer }

func (t *csvTable) write(e ledger.Entry) error {
	row := cells(e)
	for i, cell := range row {
		row[i] = harmless(cell)
	}
	return t.w.Write(row)
}

func (t *csvTable) end() error {
	t.w.Flush()
	return t.w.Error()
}

// formulaSigns are characters that can start a formula in a spreadsheet. White space is included,
// because a spreadsheet may remove it first.
const formulaSigns = "=+-@|%\t\r\n\uff1d\uff0b\uff0d\uff20"

// harmless puts an apostrophe before a cell that begins like a formula, because a spreadsheet would
// execute the formula.
func harmless(cell string) string {
	cell = strings.ToValidUTF8(cell, "\ufffd")
	cell = strings.ReplaceAll(cell, "\x00", "\ufffd")
	if rest := strings.TrimLeft(cell, " \u00a0\ufeff"); rest != "" && strings.IndexAny(rest, formulaSigns) == 0 {
		return "'" + cell
	}
	return cell
}
