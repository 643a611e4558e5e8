package events

import (
	"bytes"
	"encoding/base64"
	"slices"
	"strconv"
	"time"
)

// fit reads one value and returns an error where the decoder of a payload of
// shape sh would stop. Null fits everything: it leaves the field as it is.
func (s *scanner) fit(sh *shape, depth int) error {
	c := s.peek()
	if c == 'n' {
		return s.literal("null")
	}
	switch sh.is {
	case formRaw:
		return s.value(depth)
	case formAny:
		return s.fitAny(c, sh, depth)
	case formText, formBytes, formTime:
		return s.fitText(sh)
	case formBool:
		if c != 't' && c != 'f' {
			return s.unfit("a boolean")
		}
		return s.value(depth)
	case formInteger, formNatural, formNumber:
		return s.fitNumber(sh.is)
	case formList:
		if c != '[' {
			return s.unfit("an array")
		}
		return s.fitList(sh.elem, depth)
	case formDictionary:
		if c != '{' {
			return s.unfit("an object")
		}
		return s.fitDictionary(sh.elem, depth)
	case formRecord:
		if c != '{' {
			return s.unfit("an object")
		}
		return s.fitRecord(sh, depth)
	}
	return s.value(depth)
}

// unfit says that the present value is not what it should be. A value that is
// no JSON at all is blamed for that instead.
func (s *scanner) unfit(want string) error {
	start := s.pos
	if err := s.value(1); err != nil {
		return err
	}
	return s.failAt(start, "not "+want)
}

func (s *scanner) fitAny(c byte, sh *shape, depth int) error {
	switch c {
	case '{':
		return s.fitDictionary(sh, depth)
	case '[':
		return s.fitList(sh, depth)
	case '"', 't', 'f':
		return s.value(depth)
	}
	return s.fitNumber(formNumber)
}

func (s *scanner) fitText(sh *shape) error {
	if s.peek() != '"' {
		return s.unfit("a string")
	}
	start := s.pos
	raw, escaped, err := s.text()
	if err != nil || sh.is == formText && sh.enum == nil {
		return err
	}
	if escaped {
		raw = unescape(raw)
	}
	switch sh.is {
	case formBytes:
		if _, err := base64.StdEncoding.AppendDecode(make([]byte, 0, len(raw)), raw); err != nil {
			return s.failAt(start, "not base64")
		}
	case formTime:
		var t time.Time
		if err := t.UnmarshalText(raw); err != nil || !inYears(t) {
			return s.failAt(start, "not a time of RFC 3339 in the years 1 to 9999")
		}
	default:
		if !slices.ContainsFunc(sh.enum, func(v string) bool { return v == string(raw) }) {
			return s.failAt(start, "not one of "+quoteList(sh.enum))
		}
	}
	return nil
}

func (s *scanner) fitNumber(f form) error {
	start := s.pos
	if c := s.peek(); c != '-' && !isDigit(c) {
		if f == formNumber {
			return s.unfit("a number")
		}
		return s.unfit("a whole number")
	}
	raw, err := s.number()
	if err != nil {
		return err
	}
	const short = 18 // digits that fit 64 bits, whatever they are
	switch f {
	case formInteger:
		if len(raw) > short || bytes.ContainsAny(raw, ".eE") {
			_, err = strconv.ParseInt(string(raw), 10, 64)
		}
	case formNatural:
		if len(raw) > short || bytes.ContainsAny(raw, "-.eE") {
			_, err = strconv.ParseUint(string(raw), 10, 64)
		}
	default:
		if len(raw) > short || bytes.ContainsAny(raw, "eE") {
			_, err = strconv.ParseFloat(string(raw), 64)
		}
		if err != nil {
			return s.failAt(start, "a number too large for 64 bits")
		}
	}
	if err != nil {
		return s.failAt(start, "not a whole number in range")
	}
	return nil
}

func (s *scanner) fitList(elem *shape, depth int) error {
	if depth >= maxDepth {
		return s.tooDeep()
	}
	s.pos++
	if s.peek() == ']' {
		s.pos++
		return nil
	}
	for i := 0; ; i++ {
		if err := s.fit(elem, depth+1); err != nil {
			return within(strconv.Itoa(i), err)
		}
		done, err := s.next(']')
		if done || err != nil {
			return err
		}
	}
}

func (s *scanner) fitDictionary(elem *shape, depth int) error {
	if depth >= maxDepth {
		return s.tooDeep()
	}
	return s.object(func([]byte) error { return s.fit(elem, depth+1) })
}

// fitRecord reads an object whose known fields have to fit and whose required
// ones have to be there, here or in a blob.
func (s *scanner) fitRecord(sh *shape, depth int) error {
	if depth >= maxDepth {
		return s.tooDeep()
	}
	start := s.pos
	missing := sh.required
	err := s.object(func(name []byte) error {
		i := sh.field(name)
		if i < 0 {
			return s.value(depth + 1)
		}
		f := &sh.fields[i]
		var err error
		switch at := s.mark(); {
		case depth == 1 && f.name == blobsField:
			missing, err = s.fitBlobs(sh, missing, depth+1)
		default:
			err = s.fit(f.shape, depth+1)
			if f.name == string(name) && s.data[at] != 'n' {
				missing &^= 1 << i
			}
			if depth == 1 && f.name == runTypeField {
				s.runType = span{at, s.pos}
			}
		}
		if err != nil {
			return within(f.name, err)
		}
		return nil
	})
	if err != nil || missing == 0 {
		return err
	}
	for i := range sh.fields {
		if missing&(1<<i) != 0 {
			return within(sh.fields[i].name, s.failAt(start, "missing"))
		}
	}
	return nil
}

// fitBlobs reads the names of the fields that travelled as blobs and returns
// which of the missing ones they leave. The blob of the empty name is all of
// the data.
func (s *scanner) fitBlobs(sh *shape, missing uint64, depth int) (uint64, error) {
	blobs := sh.fields[sh.field([]byte(blobsField))].shape
	if s.peek() != '{' {
		return missing, s.fit(blobs, depth)
	}
	err := s.object(func(name []byte) error {
		if len(name) == 0 {
			missing = 0
		} else if i := sh.field(name); i >= 0 {
			missing &^= 1 << i
		}
		return s.fit(blobs.elem, depth+1)
	})
	return missing, err
}

// mark returns where the next token starts.
func (s *scanner) mark() int {
	s.peek()
	return s.pos
}

func (s *scanner) tooDeep() error {
	return s.fail("nested more than " + strconv.Itoa(maxDepth) + " deep")
}

// quoteList returns values as "a", "b".
func quoteList(values []string) string {
	var b []byte
	for i, v := range values {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = strconv.AppendQuote(b, v)
	}
	return string(b)
}
