package bundle

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// maxEntries limits the total number of list entries in bundle.json, because many short entries
// can need much memory.
const maxEntries = 100_000

var aboutShape = sync.OnceValue(func() *shape { return shapeOf(reflect.TypeFor[About]()) })

// parseAbout rejects JSON that libraries read differently, such as an object with unknown or
// repeated names.
func parseAbout(text []byte) (a About, err error) {
	switch {
	case len(text) > maxAboutFile:
		return a, errTooLarge
	case !utf8.Valid(text):
		return a, errors.New("it is not UTF-8")
	case escapesSurrogate(text):
		return a, errors.New("a surrogate is escaped")
	}
	s := strictReader{Decoder: json.NewDecoder(bytes.NewReader(text))}
	s.UseNumber()
	if err := s.value(aboutShape()); err != nil {
		return a, fmt.Errorf("byte %d: %w", s.InputOffset(), err)
	}
	if _, err := s.Token(); !errors.Is(err, io.EOF) {
		return a, errors.New("there is more behind its end")
	}
	return a, json.Unmarshal(text, &a)
}

func escapesSurrogate(text []byte) bool {
	for i := 0; i+3 < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		if i++; text[i] == 'u' && text[i+1]|0x20 == 'd' && text[i+2] >= '8' {
			return true
		}
	}
	return false
}

type shape struct {
	members map[string]*shape // nil if it is not an object
	entry   *shape            // nil if it is not a list
	hash    bool              // 64 lower-case hex digits
}

func shapeOf(t reflect.Type) *shape {
	switch {
	case t.Kind() == reflect.Pointer:
		return shapeOf(t.Elem())
	case t.Kind() == reflect.Slice:
		return &shape{entry: shapeOf(t.Elem())}
	case t.Kind() != reflect.Struct || t.Implements(reflect.TypeFor[json.Marshaler]()):
		return &shape{}
	}
	s := &shape{members: make(map[string]*shape, t.NumField())}
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); f.IsExported() && name != "" && name != "-" {
			s.members[name] = shapeOf(f.Type)
			s.members[name].hash = name == "sha256"
		}
	}
	return s
}

type strictReader struct {
	*json.Decoder

	entries int // of all lists so far
}

func (s *strictReader) value(want *shape) error {
	token, err := s.Token()
	switch {
	case err != nil:
		return err
	case token == json.Delim('{') && want.members != nil:
		return s.members(want.members)
	case token == json.Delim('[') && want.entry != nil:
		return s.list(want.entry)
	case want.hash:
		text, _ := token.(string) // an empty text is no hash
		_, err := events.ParseHash(text)
		return err
	case token == nil && want.entry != nil:
		return nil // an empty list
	case token == nil, token == json.Delim('{'), token == json.Delim('['), token == json.Number("-0"):
		return errors.New("a value of another type than its name has")
	}
	return nil
}

func (s *strictReader) members(known map[string]*shape) error {
	seen := make(map[string]bool)
	for s.More() {
		token, err := s.Token()
		if err != nil {
			return err
		}
		name, _ := token.(string) // the decoder rejects other names
		want := known[name]
		if want == nil {
			return errors.New("an unknown member")
		}
		if seen[name] {
			return fmt.Errorf("%q is there twice", name)
		}
		seen[name] = true
		if err := s.value(want); err != nil {
			return err
		}
	}
	_, err := s.Token()
	return err
}

func (s *strictReader) list(want *shape) error {
	for s.More() {
		if s.entries++; s.entries > maxEntries {
			return fmt.Errorf("the lists have more than %d entries", maxEntries)
		}
		if err := s.value(want); err != nil {
			return err
		}
	}
	_, err := s.Token()
	return err
}
