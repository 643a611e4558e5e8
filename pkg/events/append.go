package events

import (
	"encoding/base64"
	"strconv"
	"time"
)

const (
	// MaxBytes is the maximum size of an event in the stream.
	MaxBytes = 1_000_000
	// BlobChunkBytes is the maximum number of payload bytes in one blob.chunk event.
	BlobChunkBytes = 512 << 10

	specVersion = "1.0"
)

// Encode returns the bytes of e. See [Event.Append].
func (e Event) Encode() []byte {
	const attributes = 1024 // enough for most events without their payload
	return e.Append(make([]byte, 0, attributes+len(e.Data)+base64.StdEncoding.EncodedLen(len(e.Binary))))
}

// Append appends e to dst as one line of JSON. The line can be invalid JSON if [Event.Validate]
// rejects e.
func (e Event) Append(dst []byte) []byte {
	dst = append(dst, `{"specversion":"`+specVersion+`","id":`...)
	dst = appendString(dst, e.ID)
	dst = append(dst, `,"source":`...)
	dst = appendString(dst, e.Source)
	dst = append(dst, `,"type":`...)
	dst = appendString(dst, e.Type)
	dst = appendAttribute(dst, `,"subject":`, e.Subject)
	if !e.Time.IsZero() {
		dst = append(dst, `,"time":"`...)
		dst = appendTime(dst, e.Time)
		dst = append(dst, '"')
	}
	dst = appendAttribute(dst, `,"datacontenttype":`, e.DataContentType)
	dst = appendAttribute(dst, `,"tenant":`, e.Tenant)
	dst = appendAttribute(dst, `,"producer":`, e.Producer)
	if e.Sequence != 0 {
		dst = append(dst, `,"sequence":"`...)
		dst = strconv.AppendUint(dst, e.Sequence, 10)
		dst = append(dst, '"')
	}
	dst = appendAttribute(dst, `,"runid":`, e.Run)
	dst = appendAttribute(dst, `,"stepid":`, e.Step)
	dst = appendAttribute(dst, `,"sessionid":`, e.Session)
	dst = appendAttribute(dst, `,"agent":`, e.Agent)
	dst = appendAttribute(dst, `,"agentrole":`, e.AgentRole)
	dst = appendAttribute(dst, `,"runtype":`, e.RunType)
	dst = appendAttribute(dst, `,"parentagent":`, e.ParentAgent)
	dst = appendAttribute(dst, `,"parentrun":`, e.ParentRun)
	dst = appendAttribute(dst, `,"toolcall":`, e.ToolCall)
	dst = appendAttribute(dst, `,"userid":`, e.User)
	dst = appendAttribute(dst, `,"agentfs":`, e.AgentFS)
	dst = appendAttribute(dst, `,"hooks":`, e.Hooks)
	dst = appendAttribute(dst, `,"traceparent":`, e.TraceParent)
	dst = appendAttribute(dst, `,"salt":`, e.Salt)
	for _, x := range e.Extra {
		dst = append(dst, ',', '"')
		dst = append(dst, x.Name...)
		dst = append(dst, '"', ':')
		dst = append(dst, x.Value...)
	}
	return append(e.appendData(dst), '}')
}

func (e *Event) appendData(dst []byte) []byte {
	switch {
	case len(e.Data) > 0:
		dst = append(dst, `,"data":`...)
		dst = append(dst, e.Data...)
	case e.Binary != nil:
		dst = append(dst, `,"data_base64":"`...)
		dst = base64.StdEncoding.AppendEncode(dst, e.Binary)
		dst = append(dst, '"')
	}
	return dst
}

func appendAttribute(dst []byte, key, value string) []byte {
	if value == "" {
		return dst
	}
	dst = append(dst, key...)
	return appendString(dst, value)
}

// appendString escapes only what JSON requires, while encoding/json also escapes characters such as
// "<".
func appendString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	start := 0
	for i := range len(s) {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[start:i]...)
		start = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

func appendTime(dst []byte, t time.Time) []byte {
	t = t.UTC()
	year, month, day := t.Date()
	hour, minute, second := t.Clock()
	dst = appendDigits(dst, year, 4)
	dst = appendDigits(append(dst, '-'), int(month), 2)
	dst = appendDigits(append(dst, '-'), day, 2)
	dst = appendDigits(append(dst, 'T'), hour, 2)
	dst = appendDigits(append(dst, ':'), minute, 2)
	dst = appendDigits(append(dst, ':'), second, 2)
	dst = appendDigits(append(dst, '.'), t.Nanosecond(), 9)
	return append(dst, 'Z')
}

func appendDigits(dst []byte, n, width int) []byte {
	var digits [9]byte
	for i := width - 1; i >= 0; i-- {
		digits[i] = '0' + byte(n%10)
		n /= 10
	}
	return append(dst, digits[:width]...)
}
