package ingest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
)

// Opening returns head from where its first document begins.
func Opening(head []byte) []byte {
	return bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\uFEFF")), " \t\r\n")
}

// FirstElement returns the beginning of the first element of the list that head
// begins with, for [Members], and whether head begins with a list at all.
func FirstElement(head []byte) (first []byte, list bool) {
	rest, list := bytes.CutPrefix(Opening(head), []byte("["))
	if !list {
		return nil, false
	}
	return Opening(rest), true
}

// Hash returns 8 hexadecimal digits that tell a JSON value from others, however it
// is laid out.
func Hash(value json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, value) != nil {
		b.Reset()
		b.Write(value)
	}
	sum := sha256.Sum256(b.Bytes())
	return hex.EncodeToString(sum[:4])
}

// Object collects the members of a JSON object, which stay as they are and in
// their order. The zero value has none.
type Object struct{ text []byte }

// Add adds a member. value is valid JSON.
func (o *Object) Add(name string, value json.RawMessage) {
	if o.text == nil {
		o.text = []byte{'{'}
	} else {
		o.text = append(o.text, ',')
	}
	o.text = append(append(append(o.text, JSON(name)...), ':'), value...)
}

// Empty reports whether there are no members.
func (o *Object) Empty() bool { return o.text == nil }

// JSON returns the object, nil where it has no members.
func (o *Object) JSON() json.RawMessage {
	if o.text == nil {
		return nil
	}
	return append(bytes.Clone(o.text), '}')
}

// JSON returns v, which is made of texts, numbers, lists and maps, as JSON in
// which characters such as "<" stand for themselves; nil where it cannot be.
func JSON(v any) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// Names tells apart what has the same name in one input. The zero value knows
// none.
type Names struct{ seen map[string]int }

// Own returns name, and where it was asked for before, name with how often.
func (n *Names) Own(name string) string {
	if n.seen == nil {
		n.seen = map[string]int{}
	}
	n.seen[name]++
	if times := n.seen[name]; times > 1 {
		return n.Own(name + "-" + strconv.Itoa(times))
	}
	return name
}
