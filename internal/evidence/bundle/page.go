package bundle

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"time"
	"unicode/utf8"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/platform/termtext"
)

const (
	maxPageRecords = 2000     // records.jsonl has all
	maxPageText    = 16 << 10 // of one record
)

//go:embed page.html
var pageText string

// pageTemplate has the parts head, a row for each record, and foot. It escapes all text
// of records.
var pageTemplate = template.Must(template.New("page").Parse(pageText)) //nolint:gochecknoglobals // a constant

// errPageFull stops reading when the page has enough records.
var errPageFull = errors.New("the page is full")

// row is a record on the page.
type row struct {
	Index                         int64
	Class, Finding                string
	Time, Producer, Run, Kind, ID string
	Sequence                      uint64
	Hash, Text                    string
	Cut                           bool
}

func rowOf(e ledger.Entry) row {
	r := row{
		Index: e.Leaf, Class: string(e.Class), Finding: string(e.Finding), Producer: termtext.Printable(e.Producer),
		Run: termtext.Printable(e.Run), Kind: termtext.Printable(string(e.Kind)), ID: termtext.Printable(e.ID),
		Sequence: e.Sequence, Hash: e.Hash.String(),
	}
	if !e.Time.IsZero() {
		r.Time = e.Time.Format(time.RFC3339Nano)
	}
	text := e.Bytes
	if r.Cut = len(text) > maxPageText; r.Cut {
		text = text[:maxPageText]
		for len(text) > 0 && !utf8.RuneStart(text[len(text)-1]) {
			text = text[:len(text)-1]
		}
		text = text[:max(0, len(text)-1)]
	}
	r.Text = termtext.Printable(string(text))
	if e.Removal.Done() {
		r.Text = fmt.Sprintf("%s by the order at leaf %d", e.Removal.Word, e.Removal.Order)
	}
	return r
}

// page writes index.html.
func (b *bundle) page(ctx context.Context, w io.Writer) error {
	head := struct {
		About
		Time, Root, Key string
		Shown           int64
	}{b.about, b.newest.Time.Format(time.RFC3339), b.newest.Root.String(), b.opts.Key, min(b.about.Leaves, maxPageRecords)}
	head.Tenant, head.Run = termtext.Printable(head.Tenant), termtext.Printable(head.Run)
	if err := pageTemplate.ExecuteTemplate(w, "head", head); err != nil {
		return err
	}
	n := 0
	err := b.each(ctx, func(e ledger.Entry) error {
		if n++; n > maxPageRecords {
			return errPageFull
		}
		return pageTemplate.ExecuteTemplate(w, "row", rowOf(e))
	})
	if err != nil && !errors.Is(err, errPageFull) {
		return fmt.Errorf("record %d: %w", n, err)
	}
	return pageTemplate.ExecuteTemplate(w, "foot", head)
}
