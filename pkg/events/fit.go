package events

import (
	"bytes"
	"encoding/base64"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"
)

type matcher struct {
	scan    scanner
	runType span // value of run_type in the payload, or empty
}

type span struct{ start, end int }

func (m *matcher) fit(sh *shape, depth int) error {
	switch c := m.scan.peek(); {
	case c == 'n' || sh.is == formRaw:
		return m.scan.value(depth)
	case sh.is == formAny:
		return m.fitAny(c, sh, depth)
	case sh.is >= formList:
		return m.fitNested(c, sh, depth)
	default:
		return m.fitScalar(c, sh)
	}
}

func (m *matcher) fitNested(c byte, sh *shape, depth int) error {
	switch {
	case depth >= maxDepth:
		return m.scan.fail("nested more than " + strconv.Itoa(maxDepth) + " deep")
	case sh.is == formList && c != '[':
		return m.unfit("an array")
	case sh.is == formList:
		return m.fitList(sh.elem, depth)
	case c != '{':
		return m.unfit("an object")
	case sh.is == formDictionary:
		return m.scan.object(func([]byte) error { return m.fit(sh.elem, depth+1) })
	}
	return m.fitRecord(sh, depth)
}

func (m *matcher) fitScalar(c byte, sh *shape) error {
	switch {
	case sh.is == formBool:
		if c != 't' && c != 'f' {
			return m.unfit("a boolean")
		}
		return m.scan.value(1)
	case sh.is >= formInteger && sh.is <= formNumber:
		return m.fitNumber(c, sh.is)
	case c != '"':
		return m.unfit("a string")
	}
	return m.fitText(sh)
}

func (m *matcher) unfit(want string) error {
	start := m.scan.pos
	if err := m.scan.value(1); err != nil {
		return err
	}
	return m.scan.failAt(start, "not "+want)
}

func (m *matcher) fitAny(c byte, sh *shape, depth int) error {
	switch {
	case c == '{' || c == '[':
		nested := shape{is: formDictionary, elem: sh}
		if c == '[' {
			nested.is = formList
		}
		return m.fitNested(c, &nested, depth)
	case c == '-' || isDigit(c):
		return m.fitNumber(c, formNumber)
	}
	return m.scan.value(depth)
}

func (m *matcher) fitText(sh *shape) error {
	start := m.scan.pos
	raw, escaped, err := m.scan.text()
	if err != nil || sh.is == formText && sh.enum == nil {
		return err
	}
	if escaped {
		raw = unescape(raw)
	}
	if want := sh.refuses(raw); want != "" {
		return m.scan.failAt(start, "not "+want)
	}
	return nil
}

func (sh *shape) refuses(text []byte) (want string) {
	if sh.is == formBytes {
		if _, err := base64.StdEncoding.AppendDecode(make([]byte, 0, len(text)), text); err != nil {
			return "base64"
		}
		return ""
	}
	if sh.is == formTime {
		var t time.Time
		if err := t.UnmarshalText(text); err != nil || !inYears(t) {
			return "a time of RFC 3339 in the years 1 to 9999"
		}
		return ""
	}
	if !slices.Contains(sh.enum, string(text)) {
		return `one of "` + strings.Join(sh.enum, `", "`) + `"`
	}
	return ""
}

var wanted = [...]string{
	formInteger: "a whole number of 64 bits",
	formNatural: "a whole number from 0 of 64 bits",
	formNumber:  "a number of 64 bits",
}

func (m *matcher) fitNumber(c byte, f form) error {
	want := wanted[f]
	if c != '-' && !isDigit(c) {
		return m.unfit(want)
	}
	start := m.scan.pos
	raw, err := m.scan.number()
	if err == nil && !f.holds(raw) {
		return m.scan.failAt(start, "not "+want)
	}
	return err
}

func (f form) holds(raw []byte) bool {
	const short = 18 // any number with so many digits fits 64 bits
	var err error
	switch {
	case f == formNumber:
		if len(raw) > short || bytes.ContainsAny(raw, "eE") {
			_, err = strconv.ParseFloat(string(raw), 64)
		}
	case f == formNatural:
		_, err = strconv.ParseUint(string(raw), 10, 64)
	case len(raw) > short || bytes.ContainsAny(raw, ".eE"):
		_, err = strconv.ParseInt(string(raw), 10, 64)
	}
	return err == nil
}

func (m *matcher) fitList(elem *shape, depth int) error {
	m.scan.pos++
	if m.scan.peek() == ']' {
		m.scan.pos++
		return nil
	}
	for i := 0; ; i++ {
		if err := m.fit(elem, depth+1); err != nil {
			return within(strconv.Itoa(i), err)
		}
		done, err := m.scan.next(']')
		if done || err != nil {
			return err
		}
	}
}

func (m *matcher) fitRecord(sh *shape, depth int) error {
	start := m.scan.pos
	missing := sh.required
	err := m.scan.object(func(name []byte) (err error) {
		i := sh.field(name)
		if i < 0 {
			return m.scan.value(depth + 1)
		}
		m.scan.peek()
		at, f := m.scan.pos, &sh.fields[i]
		if depth == 1 && f.name == blobsField {
			missing, err = m.fitBlobs(sh, missing)
		} else if err = m.fit(f.shape, depth+1); err == nil && f.name == string(name) && m.scan.data[at] != 'n' {
			missing &^= 1 << i
		}
		if depth == 1 && f.name == runTypeField {
			m.runType = span{at, m.scan.pos}
		}
		if err != nil {
			return within(f.name, err)
		}
		return nil
	})
	if err != nil || missing == 0 {
		return err
	}
	return within(sh.fields[bits.TrailingZeros64(missing)].name, m.scan.failAt(start, "missing"))
}

func (m *matcher) fitBlobs(sh *shape, missing uint64) (uint64, error) {
	blobs := sh.fields[sh.field([]byte(blobsField))].shape
	if m.scan.peek() != '{' {
		return missing, m.fit(blobs, 2)
	}
	err := m.scan.object(func(name []byte) error {
		if len(name) == 0 {
			missing = 0
		} else if i := sh.field(name); i >= 0 {
			missing &^= 1 << i
		}
		return m.fit(blobs.elem, 3)
	})
	return missing, err
}
