package events

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
)

const (
	// MaxInputBytes is the maximum size of an event that [Decode] reads.
	MaxInputBytes = 64 << 20

	maxExtra = 128
)

// Decode reads a CloudEvents 1.0 event of any tool in JSON structured mode. It shares memory with
// data, so do not change data while the event is in use. Attributes that are null or empty count as
// absent.
//
// Decode rejects input that other readers could interpret differently, such as repeated attributes.
// Errors are [InvalidError]. [Event.Validate] checks more.
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
	version bool
	seen    [len(attributes)]bool
	raw     [len(attributes)][]byte // text without quotes and escapes
	next    int                     // attribute that probably follows
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
	if err := d.attribute(i); err != nil {
		return within(attributes[i], err)
	}
	return nil
}

func (d *decoder) attribute(i int) error {
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

// payload removes white space between tokens, so that equal data has equal bytes.
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

func parseSequence(s string) (n uint64, reason string) {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil || s[0] == '0' || s[0] == '+' {
		return 0, "not a decimal from 1"
	}
	return n, ""
}
