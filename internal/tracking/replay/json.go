package replay

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"

	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/platform/termtext"
	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/internal/tracking/store"
)

// WriteJSON writes the issues in the order of creation and the decisions in the order of arrival.
// If against is not nil, WriteJSON adds this comparison.
func (r *Replay) WriteJSON(out io.Writer, against *Comparison) error {
	buf := bufio.NewWriterSize(out, 64<<10)
	safe := termtext.SafeJSON(buf) // filter before the buffer, which can split a character
	j := &jsonWriter{w: safe}
	separator := "\n"
	j.raw(`{"issues":[`)
	err := store.EachIssue(r.conn, "", store.ByMaking, func(i rules.Issue) error {
		j.raw(separator)
		separator = ",\n"
		if j.err != nil {
			return j.err
		}
		return writeIssue(safe, r.conn, i)
	})
	if err != nil {
		return err
	}
	separator = "\n"
	j.raw("\n],\"decisions\":[")
	err = eachDecision(r.conn, byArrival, func(d rules.Decision) error {
		j.raw(separator)
		separator = ",\n"
		j.value(decisionOf(d))
		return j.err
	})
	if err != nil {
		return err
	}
	j.raw("\n]")
	if against != nil {
		j.member("against", against)
	}
	j.raw("}\n")
	if j.err != nil {
		return j.err
	}
	return buf.Flush()
}

func writeIssue(w io.Writer, conn *sqlite.Conn, i rules.Issue) error {
	moves, err := transitions(conn, i.Tenant, i.ID)
	if err != nil {
		return err
	}
	j := &jsonWriter{w: w}
	j.raw(`{"id":`)
	j.value(i.ID)
	j.member("tenant", i.Tenant)
	j.member("kind", i.Kind)
	j.member("title", i.Title)
	j.member("status", i.Status)
	j.member("labels", orEmpty(i.Labels))
	j.raw(`,"events":`)
	separator := "["
	err = store.EachOccurrence(conn, i.Tenant, i.ID, func(event string) error {
		j.raw(separator)
		j.value(event)
		separator = ","
		return j.err
	})
	if err != nil {
		return err
	}
	if separator == "[" {
		j.raw(separator)
	}
	j.raw("]")
	j.member("transitions", moves)
	j.member("links", orEmpty(i.Links))
	j.raw("}")
	return j.err
}

func digest(conn *sqlite.Conn, i rules.Issue) ([sha256.Size]byte, error) {
	h := sha256.New()
	err := writeIssue(h, conn, i)
	return [sha256.Size]byte(h.Sum(nil)), err
}

type jsonWriter struct {
	w   io.Writer
	err error
}

func (j *jsonWriter) raw(s string) {
	if j.err == nil {
		_, j.err = io.WriteString(j.w, s)
	}
}

func (j *jsonWriter) value(v any) {
	if j.err != nil {
		return
	}
	data, err := encodeJSON(v)
	if err != nil {
		j.err = err
		return
	}
	j.raw(string(data))
}

func (j *jsonWriter) member(name string, v any) {
	j.raw(`,"` + name + `":`)
	j.value(v)
}

func encodeJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("encode %T: %w", v, err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
