package events

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
)

// Versions of a manifest. Only old producers send unsigned manifests.
const (
	unsignedManifest = 1
	signedManifest   = 2
)

const onlyVersions = "only versions 1 and 2 are supported"

// Encode returns the bytes of a valid manifest.
func (m Manifest) Encode() []byte { return AppendManifest(make([]byte, 0, 512), m) }

// AppendManifest appends a valid manifest to dst as one line of JSON.
func AppendManifest(dst []byte, m Manifest) []byte {
	dst = append(dst, `{"v":`...)
	dst = strconv.AppendInt(dst, int64(m.Version), 10)
	dst = append(dst, `,"tenant":`...)
	dst = appendString(dst, m.Tenant)
	dst = append(dst, `,"producer":`...)
	dst = appendString(dst, m.Producer)
	dst = append(dst, `,"first":`...)
	dst = strconv.AppendUint(dst, m.First, 10)
	dst = append(dst, `,"last":`...)
	dst = strconv.AppendUint(dst, m.Last, 10)
	dst = append(dst, `,"count":`...)
	dst = strconv.AppendUint(dst, m.Count, 10)
	for i, r := range m.Missing {
		if i == 0 {
			dst = append(dst, `,"missing":[`...)
		} else {
			dst = append(dst, ',')
		}
		dst = appendRange(dst, r)
		if i == len(m.Missing)-1 {
			dst = append(dst, ']')
		}
	}
	dst = appendAttribute(dst, `,"prev":`, m.Prev)
	dst = append(dst, `,"root":`...)
	dst = appendString(dst, m.Root)
	dst = appendAttribute(dst, `,"state":`, string(m.State))
	dst = appendCount(dst, `,"interval":`, m.Interval)
	dst = appendCount(dst, `,"beat":`, m.Beat)
	dst = appendAttribute(dst, `,"key":`, m.Key)
	dst = appendAttribute(dst, `,"next":`, m.Next)
	if m.Grant != nil {
		dst = appendGrant(append(dst, `,"grant":`...), *m.Grant)
	}
	dst = appendAttribute(dst, `,"sig":`, m.Sig)
	return append(dst, '}')
}

func appendRange(dst []byte, r Range) []byte {
	dst = append(dst, `{"first":`...)
	dst = strconv.AppendUint(dst, r.First, 10)
	dst = append(dst, `,"last":`...)
	dst = strconv.AppendUint(dst, r.Last, 10)
	dst = appendAttribute(dst, `,"reason":`, r.Reason)
	return append(dst, '}')
}

// DecodeManifest reads a manifest. From version 2 on, data must be exactly the output of
// [Manifest.Encode]. Otherwise data could contain bytes that the signature does not cover. Errors
// are [InvalidError].
func DecodeManifest(data []byte) (Manifest, error) {
	m, err := decodeManifest(data)
	if err != nil {
		return Manifest{}, fmt.Errorf("decode manifest: %w", err)
	}
	return m, nil
}

func decodeManifest(data []byte) (m Manifest, err error) {
	s := scanner{data: data}
	if len(data) > MaxBytes {
		return m, s.fail("larger than " + strconv.Itoa(MaxBytes) + " bytes")
	}
	err = s.members(manifestMembers[:], func(name string) error { return s.manifestMember(&m, name) })
	if err != nil {
		return m, err
	}
	if s.peek(); s.pos < len(s.data) {
		return m, s.unexpected("want the end")
	}
	switch m.Version {
	case unsignedManifest:
		if m.hasSignedMembers() {
			return m, within("v", s.fail(onlySigned))
		}
	case signedManifest:
		if !bytes.Equal(m.Encode(), data) {
			return m, s.failAt(0, "not in canonical form")
		}
	default:
		return m, within("v", s.fail(onlyVersions))
	}
	return m, nil
}

var (
	manifestMembers = [...]string{"v", "tenant", "producer", "first", "last", "count", "missing", "prev", "root", "state", "interval", "beat", "key", "next", "grant", "sig"}
	rangeMembers    = [...]string{"first", "last", "reason"}
)

func (s *scanner) manifestMember(m *Manifest, name string) (err error) {
	switch name {
	case "v":
		var v uint64
		v, err = s.unsigned()
		m.Version = int(min(v, math.MaxInt32))
	case "tenant":
		m.Tenant, err = s.string()
	case "producer":
		m.Producer, err = s.string()
	case "first":
		m.First, err = s.unsigned()
	case "last":
		m.Last, err = s.unsigned()
	case "count":
		m.Count, err = s.unsigned()
	case "missing":
		m.Missing, err = s.ranges()
	case "prev":
		m.Prev, err = s.string()
	case "root":
		m.Root, err = s.string()
	default:
		err = s.signedMember(m, name)
	}
	return err
}

func (s *scanner) ranges() ([]Range, error) {
	if err := s.take('['); err != nil {
		return nil, err
	}
	if s.peek() == ']' {
		s.pos++
		return nil, nil
	}
	var list []Range
	for {
		var r Range
		err := s.members(rangeMembers[:], func(name string) (err error) {
			switch name {
			case "first":
				r.First, err = s.unsigned()
			case "last":
				r.Last, err = s.unsigned()
			case "reason":
				r.Reason, err = s.string()
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		list = append(list, r)
		done, err := s.next(']')
		if done || err != nil {
			return list, err
		}
	}
}

func (s *scanner) members(names []string, member func(name string) error) error {
	var seen uint64
	return s.object(func(raw []byte) error {
		for i, name := range names {
			if name != string(raw) {
				continue
			}
			if seen&(1<<i) != 0 {
				return within(name, s.fail("occurs twice"))
			}
			seen |= 1 << i
			return within(name, member(name))
		}
		return within(quoteName(raw), s.fail("unknown"))
	})
}

func (s *scanner) unsigned() (uint64, error) {
	s.peek()
	start := s.pos
	digits, err := s.number()
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(string(digits), 10, 64)
	if err != nil {
		return 0, s.failAt(start, "not a whole number of 64 bits")
	}
	return n, nil
}

func (s *scanner) string() (string, error) {
	if s.peek() != '"' {
		return "", s.unexpected("want a string")
	}
	raw, escaped, err := s.text()
	if escaped {
		raw = unescape(raw)
	}
	return string(raw), err
}

func (s *scanner) filled() (string, error) {
	text, err := s.string()
	if err == nil && text == "" {
		err = s.fail("empty")
	}
	return text, err
}

// Validate checks all fields, but does not verify the signature. Errors are [InvalidError].
func (m Manifest) Validate() error {
	if err := m.validateHead(); err != nil {
		return err
	}
	if reason := textFault(m.Tenant); reason != "" {
		return invalid("tenant", reason)
	}
	if reason := textFault(m.Producer); reason != "" {
		return invalid("producer", reason)
	}
	for _, validate := range [...]func() error{m.validateMissing, m.validateState, m.validateHashes, m.validateSignature} {
		if err := validate(); err != nil {
			return err
		}
	}
	return nil
}

func (m Manifest) validateHashes() error {
	if _, err := ParseHash(m.Prev); err != nil && m.Prev != "" {
		return invalid("prev", err.Error())
	}
	if _, err := ParseHash(m.Root); err != nil {
		return invalid("root", err.Error())
	}
	return nil
}

func (m Manifest) validateMissing() error {
	want := m.Last - m.First + 1
	last := m.First - 1
	for _, r := range m.Missing {
		switch {
		case r.First <= last || r.Last < r.First || r.Last > m.Last:
			return invalid("missing", "ranges overlap, descend or leave first to last")
		case textFault(r.Reason) != "":
			return invalid("missing.reason", textFault(r.Reason))
		}
		want -= r.Last - r.First + 1
		last = r.Last
	}
	if m.Count != want {
		return invalid("count", "not what first, last and missing leave")
	}
	return nil
}
