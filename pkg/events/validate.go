package events

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	// MaxAttributeBytes limits the total size of attributes, which cannot be split like data.
	MaxAttributeBytes = 16 << 10

	blobsField   = "blobs"
	runTypeField = "run_type"
)

// Validate returns an [InvalidError] for the first attribute or data field that cannot be
// published. Data must be compact JSON whose known fields have the right types. Unknown kinds and
// unknown fields are valid. Data can have any size, because pkg/publish splits large events.
func (e Event) Validate() error {
	if err := e.validateAttributes(); err != nil {
		return err
	}
	m, err := e.matchData()
	if err != nil {
		return err
	}
	if m.scan.space {
		return invalid("data", "white space between tokens; SetData and Normalize remove it")
	}
	return nil
}

func (e *Event) validateAttributes() error {
	size := 0
	for i, text := range e.texts() {
		if text == nil {
			continue
		}
		if reason := textFault(*text); reason != "" {
			return invalid(attributes[i], reason)
		}
		size += len(*text)
	}
	if len(e.Extra) > maxExtra {
		return invalid("", "more than "+strconv.Itoa(maxExtra)+" unknown attributes")
	}
	for _, x := range e.Extra {
		if err := e.validateExtra(x); err != nil {
			return err
		}
		size += len(x.Name) + len(x.Value)
	}
	if size > MaxAttributeBytes {
		return invalid("", "attributes larger than "+strconv.Itoa(MaxAttributeBytes)+" bytes")
	}
	return e.validateRequired()
}

func (e *Event) validateExtra(x Attribute) error {
	if !isAttributeName(x.Name) {
		return invalid(quoteName([]byte(x.Name)), "only lower-case letters and digits may name an attribute")
	}
	if attributeIndex(x.Name, 0) >= 0 {
		return invalid(x.Name, "has a field of its own and cannot be in Extra")
	}
	count := 0
	for i := range e.Extra {
		if e.Extra[i].Name == x.Name {
			count++
		}
	}
	if count > 1 {
		return invalid(x.Name, "occurs twice")
	}
	s := scanner{data: x.Value}
	if err := s.value(1); err != nil {
		return within(x.Name, err)
	}
	if s.space || s.pos != len(s.data) || x.Value[0] == 'n' || !isScalar(x.Value) {
		return invalid(x.Name, "neither a string nor a boolean nor an integer")
	}
	return nil
}

func (e *Event) validateRequired() error {
	switch {
	case e.ID == "":
		return invalid("id", "missing")
	case e.Source == "":
		return invalid("source", "missing")
	case e.Type == "":
		return invalid("type", "missing")
	case !e.Time.IsZero() && !inYears(e.Time):
		return invalid("time", "outside the years 1 to 9999")
	case e.Sequence != 0 && e.Producer == "":
		return invalid("producer", "missing, but sequence is there")
	}
	if kind, own := e.ownKind(); own {
		return e.validateOwn(kind)
	}
	return nil
}

func (e *Event) validateOwn(kind Kind) error {
	switch {
	case kind == "":
		return invalid("type", "names no kind")
	case e.Time.IsZero():
		return invalid("time", "missing")
	case e.Run == "" && needsRun(kind):
		return invalid("runid", "missing")
	}
	return nil
}

func needsRun(k Kind) bool {
	return k == RunStarted || k == RunFinished || k == RunSealed || k == StepFinished
}

func (e *Event) ownKind() (Kind, bool) {
	kind, own := strings.CutPrefix(e.Type, TypePrefix)
	return Kind(kind), own
}

func (e *Event) matchData() (matcher, error) {
	m := matcher{scan: scanner{data: e.Data}}
	sh := &anything
	kind, own := e.ownKind()
	if own && shapeOfKind(kind) != nil {
		sh = shapeOfKind(kind)
	}
	if done, err := e.withoutData(sh); done || err != nil {
		return m, err
	}
	if sh != &anything && m.scan.peek() != '{' {
		return m, within("data", m.unfit("an object"))
	}
	if err := m.fit(sh, 1); err != nil {
		return m, within("data", err)
	}
	if m.scan.peek(); m.scan.pos < len(m.scan.data) {
		return m, within("data", m.scan.unexpected("want the end"))
	}
	if own {
		return m, e.validateRecord(kind)
	}
	return m, nil
}

func (e *Event) withoutData(sh *shape) (done bool, err error) {
	switch {
	case e.Binary != nil && len(e.Data) > 0:
		return true, invalid("data_base64", "excluded by data")
	case e.Binary != nil && sh != &anything:
		return true, invalid("data_base64", "the payload of this type is JSON")
	case len(e.Data) == 0 && sh.required != 0:
		return true, invalid("data", "missing")
	}
	return len(e.Data) == 0, nil
}

var anything = shape{is: formRaw}

func textFault(s string) string {
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c < 0x7f {
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			return "not valid UTF-8 at byte " + strconv.Itoa(i) + " of the value"
		case r < ' ' || 0x7f <= r && r <= 0x9f:
			return "control character at byte " + strconv.Itoa(i) + " of the value"
		}
		i += size
	}
	return ""
}
