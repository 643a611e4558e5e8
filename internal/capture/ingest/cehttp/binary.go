package cehttp

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func fromHeaders(header http.Header, bodyIsJSON bool, body []byte) (events.Event, error) {
	attributes, err := headerAttributes(header)
	if err != nil {
		return events.Event{}, err
	}
	var b bytes.Buffer
	b.WriteByte('{')
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		writeString(&b, name)
		b.WriteByte(':')
		writeString(&b, attributes[name])
		b.WriteByte(',')
	}
	b.WriteString(`"data":`)
	start := b.Len()
	switch {
	case len(body) == 0:
		b.WriteString("null")
	case bodyIsJSON:
		// The body must be a single JSON value, because further text would become attributes of the
		// event.
		if err := json.Unmarshal(body, new(json.RawMessage)); err != nil {
			return events.Event{}, bodyNotJSON(err, body)
		}
		b.Write(body)
	default:
		b.Truncate(start - len(`":`))
		b.WriteString(`_base64":"` + base64.StdEncoding.EncodeToString(body) + `"`)
	}
	b.WriteByte('}')
	e, err := ingest.DecodeEvent(b.Bytes())
	if len(body) == 0 {
		e.Data = nil
	}
	return e, inBody(err, b.Bytes(), start, bodyIsJSON)
}

func headerAttributes(header http.Header) (map[string]string, error) {
	attributes := map[string]string{}
	if ct := header.Get("Content-Type"); ct != "" {
		attributes["datacontenttype"] = ct
	}
	for key, values := range header {
		name, ok := strings.CutPrefix(strings.ToLower(key), "ce-")
		if !ok {
			continue
		}
		value := percentDecode(unquote(values[0]))
		switch {
		case len(values) > 1:
			return nil, attributeError(name, "occurs twice")
		case name == "data" || name == "data_base64" || name == "datacontenttype":
			return nil, attributeError(name, "cannot be a header")
		case !utf8.ValidString(value):
			return nil, attributeError(name, "not UTF-8")
		}
		attributes[name] = value
	}
	return attributes, nil
}

func bodyNotJSON(err error, body []byte) error {
	e := refuse(http.StatusBadRequest, "not JSON, as the content type says")
	e.Attribute, e.cause = "data", err
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		e.Offset = int(syntax.Offset) - 1
		e.Line = lineOf(body, e.Offset, 1)
	}
	return e
}

func attributeError(name, reason string) error {
	e := refuse(http.StatusBadRequest, "%s", reason)
	e.Attribute = name
	return e
}

func unquote(value string) string {
	if len(value) < 2 || value[0] != '"' || value[len(value)-1] != '"' {
		return value
	}
	var b strings.Builder
	for inner := value[1 : len(value)-1]; inner != ""; inner = inner[1:] {
		if inner[0] == '\\' && len(inner) > 1 {
			inner = inner[1:]
		}
		b.WriteByte(inner[0])
	}
	return b.String()
}

// percentDecode keeps percent signs without two hexadecimal digits, because some senders do not
// encode them.
func percentDecode(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if c, err := hex.DecodeString(s[i+1 : i+3]); err == nil {
				b = append(b, c...)
				i += 2
				continue
			}
		}
		b = append(b, s[i])
	}
	return string(b)
}

func writeString(b *bytes.Buffer, s string) {
	if text, err := json.Marshal(s); err == nil {
		b.Write(text)
	}
}

func isJSON(contentType string) bool {
	if contentType == "" {
		return true
	}
	media, params, err := mime.ParseMediaType(contentType)
	if err != nil || !isUTF8(params) {
		return false
	}
	_, subtype, _ := strings.Cut(media, "/")
	return subtype == "json" || strings.HasSuffix(subtype, "+json")
}
