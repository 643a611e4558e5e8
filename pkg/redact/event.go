package redact

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hooktrail/hooktrail/pkg/events"
)

const (
	redactedField     = "redacted"
	redactedAttribute = "redacted"

	maxListed    = 1000    // redactions that an event lists
	maxField     = 256     // bytes of a JSON pointer
	maxAttribute = 2 << 10 // bytes of the attribute
	contentField = "content"
)

// Redact replaces secrets and personal data in the string values of e.Data and in e.Binary. It
// lists the redactions in the member "redacted" of data, see [events.Common], or else in the
// extension attribute "redacted". The content of a blob chunk stays unchanged.
//
// Redact never writes to the memory of e.Data, e.Binary and e.Extra. Errors are
// [events.InvalidError] and contain no values.
func (r *Redactor) Redact(e *events.Event) error {
	switch {
	case len(e.Binary) > 0:
		r.redactBinary(e)
		return nil
	case len(e.Data) > 0:
		return r.redactData(e)
	}
	return nil
}

// redactBinary searches bytes that are not text only for secrets, because they look like personal
// data only by chance.
func (r *Redactor) redactBinary(e *events.Event) {
	if !utf8.Valid(e.Binary) {
		r = &Redactor{secrets: r.secrets}
	}
	text, spans := r.Text(string(e.Binary))
	if len(spans) == 0 {
		return
	}
	e.Binary = []byte(text)
	list := make([]events.Redaction, len(spans))
	for i, s := range spans {
		list[i] = events.Redaction{Rule: s.Rule, Start: s.Start, End: s.End}
	}
	setAttribute(e, list)
}

func (r *Redactor) redactData(e *events.Event) error {
	skip := ""
	if e.Kind() == events.BlobChunk {
		skip = contentField // the hash of the content is the name of the blob
	}
	d, err := r.search(string(e.Data), skip)
	if err != nil || len(d.found) == 0 {
		return err
	}
	list := d.redactions()
	if d.object.end == 0 || d.taken {
		setAttribute(e, list)
	} else if err := d.record(list); err != nil {
		return fmt.Errorf("redact %s: %w", e.ID, err)
	}
	e.Data = d.edited()
	return nil
}

// JSON returns a redacted copy of data and the list of redactions. Errors are
// [events.InvalidError].
func (r *Redactor) JSON(data json.RawMessage) (json.RawMessage, []events.Redaction, error) {
	d, err := r.search(string(data), "")
	if err != nil || len(d.found) == 0 {
		return data, nil, err
	}
	return d.edited(), d.redactions(), nil
}

func (r *Redactor) search(text, skip string) (*document, error) {
	c := &cleaner{redactor: r, known: &known{}}
	var paths map[int]string
	pass := func() (*document, error) {
		d := &document{cleaner: c, text: text, skip: skip, paths: paths, late: map[int]string{}}
		return d, d.clean()
	}
	d, err := pass()
	if err == nil && len(d.late) > 0 {
		// The name of a file can follow the file's text, so search again with the names.
		paths = d.late
		d, err = pass()
	}
	if err != nil || len(c.known.texts) == 0 {
		return d, err
	}
	// Search again, because a later value may have revealed a secret that earlier values contain
	// too.
	return pass()
}

func (d *document) redactions() []events.Redaction {
	list := make([]events.Redaction, 0, min(len(d.found), maxListed))
	more := map[string]int{}
	for i, p := range d.found {
		if i >= maxListed {
			more[p.Rule]++
			continue
		}
		if i == 0 || p.field != d.found[i-1].field {
			list = append(list, events.Redaction{Field: d.clearField(p.field)})
		} else {
			list = append(list, events.Redaction{Field: list[i-1].Field})
		}
		list[i].Rule, list[i].Start, list[i].End = p.Rule, p.Start, p.End
	}
	for _, rule := range slices.Sorted(maps.Keys(more)) {
		list = append(list, events.Redaction{Rule: rule, More: more[rule]})
	}
	return list
}

// clearField redacts and shortens a JSON pointer, because member names can contain secrets too.
func (d *document) clearField(field string) string {
	if len(field) > maxField {
		field = strings.ToValidUTF8(field[:maxField], "") + "…"
	}
	field, _ = d.cleaner.clean(subject{text: field}, "")
	return field
}

func (d *document) field() string {
	var b strings.Builder
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	for _, s := range d.trail {
		b.WriteByte('/')
		if s.index >= 0 {
			b.WriteString(strconv.Itoa(s.index))
		} else {
			b.WriteString(escape.Replace(s.name))
		}
	}
	return b.String()
}

func (d *document) record(list []events.Redaction) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(list); err != nil {
		return fmt.Errorf("encode redactions: %w", err)
	}
	text := strings.TrimSpace(b.String())
	at := d.object.end - 1
	if d.recorded.end > 0 {
		at = d.recorded.end
		text = text[1 : len(text)-1]
		if strings.TrimSpace(d.text[d.recorded.start:at]) != "" {
			text = "," + text
		}
	} else {
		text = `,"` + redactedField + `":` + text
	}
	d.edits = append(d.edits, edit{region{start: at, end: at}, text})
	return nil
}

func (d *document) edited() []byte {
	slices.SortStableFunc(d.edits, func(a, b edit) int { return cmp.Compare(a.start, b.start) })
	var out []byte
	at := 0
	for _, e := range d.edits {
		out = append(append(out, d.text[at:e.start]...), e.text...)
		at = e.end
	}
	return append(out, d.text[at:]...)
}

func setAttribute(e *events.Event, list []events.Redaction) {
	text, at := "", slices.IndexFunc(e.Extra, func(x events.Attribute) bool { return x.Name == redactedAttribute })
	if at >= 0 && json.Unmarshal(e.Extra[at].Value, &text) != nil {
		return // the attribute has another meaning for the sender
	}
	items := strings.Split(text, "; ")
	if text == "" {
		items = nil
	}
	size := len(text)
	for _, r := range list {
		item := r.Rule + " " + strconv.Itoa(r.Start) + "-" + strconv.Itoa(r.End)
		if r.More > 0 {
			item = r.Rule + " " + strconv.Itoa(r.More) + " more"
		}
		if r.Field != "" {
			item += " " + strings.Map(printable, r.Field)
		}
		if size += len(item) + 2; size > maxAttribute {
			items = append(items, "…")
			break
		}
		items = append(items, item)
	}
	value, err := json.Marshal(strings.Join(items, "; "))
	if err != nil {
		return // cannot happen for a string
	}
	e.Extra = slices.Clone(e.Extra)
	if at < 0 {
		e.Extra = append(e.Extra, events.Attribute{Name: redactedAttribute})
		at = len(e.Extra) - 1
	}
	e.Extra[at].Value = value
}

func printable(r rune) rune {
	if r < ' ' || r >= 0x7f && r < 0xa0 {
		return '?'
	}
	return r
}
