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
	// redactedField is the member of data that lists what was redacted.
	redactedField = "redacted"
	// redactedAttribute does so where data has no members.
	redactedAttribute = "redacted"

	maxListed    = 1000    // redactions of one event that are listed one by one
	maxField     = 256     // bytes of the name of a field
	maxAttribute = 2 << 10 // bytes of the attribute
	contentField = "content"
)

// Redact replaces secrets and personal data in the string values of the data of
// e, and lists in its member "redacted" what was found where ([events.Common]).
// Names of members, numbers and attributes stay as they are. Data that is no
// object, and data that came as base64, have the list in the extension attribute
// "redacted". The bytes that e.Data, e.Binary and e.Extra have are left alone.
//
// It fails, with an [events.InvalidError], for data that is not JSON. The error
// holds nothing of the data.
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

// redactBinary treats what is no text as less than text: a number or an address
// in it means nothing.
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
		skip = contentField // part of what is named by its hash
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

// JSON returns data, a JSON document, with markers in its string values, and what
// they stand for. Without findings it returns data itself. It fails as
// [Redactor.Redact] does, and leaves the bytes of data alone.
func (r *Redactor) JSON(data json.RawMessage) (json.RawMessage, []events.Redaction, error) {
	d, err := r.search(string(data), "")
	if err != nil || len(d.found) == 0 {
		return data, nil, err
	}
	return d.edited(), d.redactions(), nil
}

// search returns the document in text, searched. The string in the member of the
// name skip is left out.
func (r *Redactor) search(text, skip string) (*document, error) {
	c := &cleaner{redactor: r, known: &known{}}
	d := &document{cleaner: c, text: text, skip: skip}
	if err := d.clean(); err != nil || len(c.known.texts) == 0 {
		return d, err
	}
	// Copies of what was found last may stand in front.
	d = &document{cleaner: c, text: text, skip: skip}
	return d, d.clean()
}

// redactions returns what was found, in the order of the document. Of what is
// beyond [maxListed] it only counts how much each rule found.
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

// clearField returns the name of a field as it may be recorded: names are as
// foreign as values are.
func (d *document) clearField(field string) string {
	if len(field) > maxField {
		field = strings.ToValidUTF8(field[:maxField], "") + "…"
	}
	field, _ = d.cleaner.clean(subject{text: field}, "")
	return field
}

// field returns the JSON pointer to the present value.
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

// record adds list to the redactions that the outermost object lists.
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

// edited returns the document with its edits.
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

// setAttribute lists redactions in the attribute, behind those that it has, as far
// as there is room: "email 5-17; github-pat 40-80 /2/text".
func setAttribute(e *events.Event, list []events.Redaction) {
	text, at := "", slices.IndexFunc(e.Extra, func(x events.Attribute) bool { return x.Name == redactedAttribute })
	if at >= 0 && json.Unmarshal(e.Extra[at].Value, &text) != nil {
		return // it is the sender's, and no text
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
		return // not reached: it is a string
	}
	e.Extra = slices.Clone(e.Extra)
	if at < 0 {
		e.Extra = append(e.Extra, events.Attribute{Name: redactedAttribute})
		at = len(e.Extra) - 1
	}
	e.Extra[at].Value = value
}

// printable returns r, or what stands in for a character that no attribute has.
func printable(r rune) rune {
	if r < ' ' || r >= 0x7f && r < 0xa0 {
		return '?'
	}
	return r
}
