package events

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
)

const (
	// MaxInputBytes is the size of the largest event that [Decode] reads. Before
	// they are numbered and split, foreign events may be larger than [MaxBytes].
	MaxInputBytes = 64 << 20

	// maxExtra is how many attributes an event may have that this version does
	// not know.
	maxExtra = 128
)

// Decode reads one CloudEvents 1.0 event in JSON structured mode: what
// [Event.Append] wrote, or a foreign tool's. An attribute that is null counts
// as absent, as CloudEvents has it, and so does a known one that is empty;
// attributes that it does not know are kept in Extra in their order, and data
// is kept as it is, less white space between tokens. Data and Extra alias data,
// which therefore must not change while the event is in use.
//
// Decode refuses what two readers could read differently: attributes that occur
// twice, invalid UTF-8, lone surrogates. An error is an [InvalidError] and says
// at which byte and in which attribute. What it returns has an id, a source and
// a type; everything else is for [Event.Validate] to judge.
func Decode(data []byte) (Event, error) {
	d := decoder{scan: scanner{data: data}}
	if err := d.decode(); err != nil {
		return Event{}, fmt.Errorf("decode event: %w", err)
	}
	return d.event, nil
}

type decoder struct {
	scan    scanner
	event   Event
	version bool // specversion was there
	seen    [len(attributes)]bool
	raw     [len(attributes)][]byte // the texts, without quotes and escapes
	next    int                     // the attribute that is likely to come next
}

func (d *decoder) decode() error {
	if len(d.scan.data) > MaxInputBytes {
		return d.scan.fail("larger than " + strconv.Itoa(MaxInputBytes) + " bytes")
	}
	if err := d.scan.object(d.member); err != nil {
		return err
	}
	if d.scan.peek(); d.scan.pos < len(d.scan.data) {
		return d.scan.unexpected("want the end")
	}
	d.fill()
	switch {
	case !d.version:
		return within("specversion", d.scan.fail("missing"))
	case d.event.ID == "":
		return within("id", d.scan.fail("missing"))
	case d.event.Source == "":
		return within("source", d.scan.fail("missing"))
	case d.event.Type == "":
		return within("type", d.scan.fail("missing"))
	}
	return nil
}

// member reads the value of one attribute.
func (d *decoder) member(name []byte) error {
	i := attributeIndex(name, d.next)
	if i < 0 {
		return d.extra(name)
	}
	if d.seen[i] {
		return within(attributes[i], d.scan.fail("occurs twice"))
	}
	d.seen[i] = true
	d.next = (i + 1) % len(attributes)
	if err := d.known(i); err != nil {
		return within(attributes[i], err)
	}
	return nil
}

// known reads the value of an attribute that has a field.
func (d *decoder) known(i int) error {
	name := attributes[i]
	if name == "data" {
		return d.payload()
	}
	if d.scan.peek() == 'n' {
		return d.scan.literal("null")
	}
	start := d.scan.pos
	if d.scan.peek() != '"' {
		return d.scan.unexpected("want a string")
	}
	raw, escaped, err := d.scan.text()
	if err != nil {
		return err
	}
	if escaped {
		raw = unescape(raw)
	}
	if name == "data_base64" {
		return d.binary(start, raw)
	}
	switch name {
	case "specversion", "time", "sequence":
		if reason := d.set(name, string(raw)); reason != "" {
			return d.scan.failAt(start, reason)
		}
	default:
		d.raw[i] = raw
	}
	return nil
}

// fill stores the texts of all attributes, in one allocation.
func (d *decoder) fill() {
	size := 0
	for _, raw := range d.raw {
		size += len(raw)
	}
	var b strings.Builder
	b.Grow(size)
	for _, raw := range d.raw {
		b.Write(raw)
	}
	rest := b.String()
	for i, text := range d.event.texts() {
		if n := len(d.raw[i]); n > 0 {
			*text, rest = rest[:n], rest[n:]
		}
	}
}

// set stores an attribute that is not text, or returns the reason why not.
func (d *decoder) set(name, value string) (reason string) {
	switch {
	case name == "specversion":
		d.version = true
		if value != specVersion {
			return "only CloudEvents " + specVersion + " is supported"
		}
	case value == "":
	case name == "time":
		d.event.Time, reason = parseTime(value)
	case name == "sequence":
		d.event.Sequence, reason = parseSequence(value)
	}
	return reason
}

// payload reads data. White space between tokens goes, so that an event is one
// line and its data the same bytes wherever it came from.
func (d *decoder) payload() error {
	if d.event.Binary != nil {
		return d.scan.fail("excluded by data_base64")
	}
	d.scan.peek()
	start := d.scan.pos
	outer := d.scan.space
	d.scan.space = false
	if err := d.scan.value(1); err != nil {
		return err
	}
	raw := d.scan.data[start:d.scan.pos:d.scan.pos]
	if d.scan.space {
		raw = compact(raw)
	}
	d.scan.space = outer
	d.event.Data = raw
	return nil
}

func (d *decoder) binary(start int, text []byte) error {
	if d.event.Data != nil {
		return d.scan.failAt(start, "excluded by data")
	}
	b, err := base64.StdEncoding.AppendDecode(make([]byte, 0, len(text)), text)
	if err != nil {
		return d.scan.failAt(start, "not base64")
	}
	d.event.Binary = b
	return nil
}

// extra keeps an attribute that has no field.
func (d *decoder) extra(name []byte) error {
	if !isAttributeName(name) {
		return within(quoteName(name), d.scan.fail("only lower-case letters and digits may name an attribute"))
	}
	for i := range d.event.Extra {
		if d.event.Extra[i].Name == string(name) {
			return within(string(name), d.scan.fail("occurs twice"))
		}
	}
	c := d.scan.peek()
	start := d.scan.pos
	if err := d.scan.value(1); err != nil {
		return within(string(name), err)
	}
	value := d.scan.data[start:d.scan.pos:d.scan.pos]
	switch {
	case c == 'n':
		return nil
	case !isScalar(value):
		return within(string(name), d.scan.failAt(start, "neither a string nor a boolean nor an integer"))
	case len(d.event.Extra) == maxExtra:
		return d.scan.failAt(start, "more than "+strconv.Itoa(maxExtra)+" unknown attributes")
	}
	d.event.Extra = append(d.event.Extra, Attribute{Name: string(name), Value: value})
	return nil
}

// parseSequence reads a decimal from 1, without sign and leading zeros.
func parseSequence(s string) (n uint64, reason string) {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil || s[0] == '0' || s[0] == '+' {
		return 0, "not a decimal from 1"
	}
	return n, ""
}
