package bundle

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"errors"
	"fmt"
	"hash"
	"html/template"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/platform/termtext"
	"github.com/hooktrail/hooktrail/pkg/events"
)

const (
	maxPageRecords = 2000     // records.jsonl has all
	maxPageText    = 16 << 10 // for each record
)

//go:embed page.html
var pageText string

// The package html/template escapes the text of records.
var pageTemplate = template.Must(template.New("page").Parse(pageText)) //nolint:gochecknoglobals // a constant

var errPageFull = errors.New("the page is full")

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

type page struct {
	w    io.Writer
	head pageHead
	rows int64
}

type pageHead struct {
	About
	Time, Root, Key string
	Shown           int64
}

func newPage(w io.Writer, a About, c ledger.Checkpoint, key string) (*page, error) {
	p := &page{w: w, head: pageHead{a, c.Time.Format(time.RFC3339), c.Root.String(), key, min(a.Leaves, maxPageRecords)}}
	p.head.Tenant, p.head.Run = termtext.Printable(a.Tenant), termtext.Printable(a.Run)
	return p, pageTemplate.ExecuteTemplate(w, "head", p.head)
}

func (p *page) row(e ledger.Entry) error {
	if p.rows++; p.rows > maxPageRecords {
		return errPageFull
	}
	if err := pageTemplate.ExecuteTemplate(p.w, "row", rowOf(e)); err != nil {
		return fmt.Errorf("record %d: %w", p.rows, err)
	}
	return nil
}

func (p *page) end() error { return pageTemplate.ExecuteTemplate(p.w, "foot", p.head) }

func (b *bundle) page(ctx context.Context, w io.Writer) error {
	p, err := newPage(w, b.about, b.newest, b.opts.Key)
	if err != nil {
		return err
	}
	if err := b.each(ctx, p.row); err != nil && !errors.Is(err, errPageFull) {
		return err
	}
	return p.end()
}

type rebuiltPage struct {
	*page

	hash hash.Hash
}

func (c *checker) rebuildPage() (rebuiltPage, error) {
	key, err := c.small(keyFile)
	if err != nil {
		return rebuiltPage{}, fmt.Errorf("%s: %w", keyFile, err)
	}
	h := sha256.New()
	p, err := newPage(h, c.report.Bundle, c.newest, strings.TrimSuffix(string(key), "\n"))
	return rebuiltPage{p, h}, err
}

func (p rebuiltPage) add(e ledger.Entry) error {
	if err := p.row(e); err != nil && !errors.Is(err, errPageFull) {
		return err
	}
	return nil
}

func (p rebuiltPage) sum() (events.Hash, error) {
	err := p.end()
	return events.Hash(p.hash.Sum(nil)), err
}
