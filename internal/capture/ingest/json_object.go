package ingest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
)

// Opening returns head without a byte order mark and white space at its start.
func Opening(head []byte) []byte {
	return bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\uFEFF")), " \t\r\n")
}

// FirstElement returns the text after the opening bracket of a JSON list. list is false if head
// does not begin with a list.
func FirstElement(head []byte) (first []byte, list bool) {
	first, list = bytes.CutPrefix(Opening(head), []byte("["))
	if !list {
		return nil, false
	}
	return Opening(first), true
}

// Hash returns 8 hexadecimal digits of a hash of a JSON value. White space does not change the
// hash.
func Hash(value json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, value) != nil {
		b.Reset()
		b.Write(value)
	}
	sum := sha256.Sum256(b.Bytes())
	return hex.EncodeToString(sum[:4])
}

// Object collects the members of a JSON object in their order. The zero value is empty.
type Object struct{ text []byte }

// Add adds a member. The value must be valid JSON.
func (o *Object) Add(name string, value json.RawMessage) {
	if o.text == nil {
		o.text = []byte{'{'}
	} else {
		o.text = append(o.text, ',')
	}
	o.text = append(append(append(o.text, JSON(name)...), ':'), value...)
}

// Empty reports whether o has no members.
func (o *Object) Empty() bool { return o.text == nil }

// JSON returns the object, or nil if it has no members.
func (o *Object) JSON() json.RawMessage {
	if o.text == nil {
		return nil
	}
	return append(bytes.Clone(o.text), '}')
}

// SingleMember returns a JSON object with one member. It returns nil if the value is nil.
func SingleMember(name string, value json.RawMessage) json.RawMessage {
	if value == nil {
		return nil
	}
	var o Object
	o.Add(name, value)
	return o.JSON()
}

// JSON encodes v without HTML escapes. It returns nil if v cannot be encoded.
func JSON(v any) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// UniqueNames appends numbers to repeated names. The zero value is ready to use.
type UniqueNames struct{ seen map[string]int }

// Unique returns the given name. If the name was used before, Unique appends a number.
func (n *UniqueNames) Unique(name string) string {
	if n.seen == nil {
		n.seen = map[string]int{}
	}
	n.seen[name]++
	if times := n.seen[name]; times > 1 {
		return n.Unique(name + "-" + strconv.Itoa(times))
	}
	return name
}
