package beads

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// AppendLine appends the issue to dst as a line of the file issues.jsonl.
func (i Issue) AppendLine(dst []byte) ([]byte, error) {
	data, err := json.Marshal(i)
	if err != nil {
		return dst, fmt.Errorf("encode issue %s: %w", i.ID, err)
	}
	return append(append(dst, data...), '\n'), nil
}

// ParseLine decodes a line of the file issues.jsonl. It also accepts the statuses and types that
// only Beads uses.
func ParseLine(line []byte) (Issue, error) {
	var i Issue
	if err := json.Unmarshal(line, &i); err != nil {
		return Issue{}, fmt.Errorf("decode issue: %w: %w", ErrInvalid, err)
	}
	if i.ID == "" {
		return Issue{}, fmt.Errorf("issue without id: %w", ErrInvalid)
	}
	return i, nil
}

// These types have no methods, so that encoding/json encodes their fields directly.
type (
	plainIssue      Issue
	plainDependency Dependency
	plainComment    Comment
)

var (
	issueFields      = fieldNames(reflect.TypeFor[Issue]())
	dependencyFields = fieldNames(reflect.TypeFor[Dependency]())
	commentFields    = fieldNames(reflect.TypeFor[Comment]())
)

func fieldNames(t reflect.Type) map[string]bool {
	names := make(map[string]bool)
	for field := range t.Fields() {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "-" {
			names[name] = true
		}
	}
	return names
}

// MarshalJSON implements [json.Marshaler].
func (i Issue) MarshalJSON() ([]byte, error) { return encode(plainIssue(i), i.Extra) }

// UnmarshalJSON implements [json.Unmarshaler].
func (i *Issue) UnmarshalJSON(data []byte) (err error) {
	*i = Issue{}
	i.Extra, err = decode(data, (*plainIssue)(i), issueFields)
	return err
}

// MarshalJSON implements [json.Marshaler].
func (d Dependency) MarshalJSON() ([]byte, error) { return encode(plainDependency(d), d.Extra) }

// UnmarshalJSON implements [json.Unmarshaler].
func (d *Dependency) UnmarshalJSON(data []byte) (err error) {
	*d = Dependency{}
	d.Extra, err = decode(data, (*plainDependency)(d), dependencyFields)
	return err
}

// MarshalJSON implements [json.Marshaler].
func (c Comment) MarshalJSON() ([]byte, error) { return encode(plainComment(c), c.Extra) }

// UnmarshalJSON implements [json.Unmarshaler].
func (c *Comment) UnmarshalJSON(data []byte) (err error) {
	*c = Comment{}
	if c.Extra, err = decode(data, (*plainComment)(c), commentFields); err == nil && c.ID != nil {
		c.ID, err = json.Marshal(c.ID)
	}
	return err
}

func encode(v any, extra Extra) ([]byte, error) {
	data, err := json.Marshal(v)
	if err != nil || len(extra) == 0 {
		return data, err
	}
	data = data[:len(data)-1]
	for _, name := range slices.Sorted(maps.Keys(extra)) {
		key, err := json.Marshal(name)
		if err != nil {
			return nil, err
		}
		data = append(append(append(append(data, ','), key...), ':'), extra[name]...)
	}
	return append(data, '}'), nil
}

// Unlike encoding/json, decode distinguishes upper and lower case in field names.
func decode(data []byte, v any, known map[string]bool) (Extra, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, err
	}
	var extra Extra
	exact := true
	for name, value := range fields {
		if known[name] {
			continue
		}
		exact = exact && !known[strings.ToLower(name)] && isASCII(name)
		if extra == nil {
			extra = make(Extra)
		}
		same, err := json.Marshal(value) // in the form that will be written
		if err != nil {
			return nil, err
		}
		extra[name] = same
		delete(fields, name)
	}
	if !exact { // encoding/json also matches other spellings
		var err error
		if data, err = json.Marshal(fields); err != nil {
			return nil, err
		}
	}
	return extra, json.Unmarshal(data, v)
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r > 127 })
}
