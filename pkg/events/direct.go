package events

import (
	"encoding/json"
	"math"
	"strconv"
	"unicode/utf8"
)

// direct is faster than encoding/json, but must write the same bytes.
type direct interface {
	appendTo(w *objectWriter)
}

func appendDirect(p direct) ([]byte, bool) {
	w := objectWriter{out: make([]byte, 0, 1024)}
	w.out = append(w.out, '{')
	p.appendTo(&w)
	return append(w.out, '}'), !w.failed
}

func (d ToolBeforeData) appendTo(w *objectWriter) {
	w.string("tool", d.Tool)
	w.raw("args", d.Args)
	w.raw("patched_args", d.PatchedArgs)
	w.outcome(&d.Outcome)
	w.common(&d.Common)
}

func (d ToolResultData) appendTo(w *objectWriter) {
	w.text("tool", d.Tool)
	w.raw("args", d.Args)
	w.string("status", string(d.Status))
	w.text("denied_by", string(d.DeniedBy))
	w.raw("result", d.Result)
	w.failed = w.failed || d.Error != nil || d.ExitCode != nil
	if d.DurationMS != 0 {
		w.key("duration_ms")
		w.out = strconv.AppendInt(w.out, d.DurationMS, 10)
	}
	w.flag("suppress_output", d.Suppress)
	w.outcome(&d.Outcome)
	w.common(&d.Common)
}

type objectWriter struct {
	out    []byte
	failed bool
}

func (w *objectWriter) key(name string) {
	if last := w.out[len(w.out)-1]; last != '{' {
		w.out = append(w.out, ',')
	}
	w.out = append(w.out, '"')
	w.out = append(w.out, name...)
	w.out = append(w.out, '"', ':')
}

// string fails on invalid UTF-8, so that encoding/json encodes the value instead and repairs the
// text.
func (w *objectWriter) string(name, value string) {
	w.key(name)
	w.out = appendString(w.out, value)
	w.failed = w.failed || !utf8.ValidString(value)
}

func (w *objectWriter) text(name, value string) {
	if value != "" {
		w.string(name, value)
	}
}

func (w *objectWriter) flag(name string, value bool) {
	if value {
		w.key(name)
		w.out = append(w.out, "true"...)
	}
}

func (w *objectWriter) raw(name string, value json.RawMessage) {
	if len(value) == 0 {
		return
	}
	w.key(name)
	w.out = append(w.out, value...)
	s := scanner{data: value}
	w.failed = w.failed || s.value(2) != nil || s.space || s.pos != len(value)
}

func (w *objectWriter) outcome(o *Outcome) {
	w.text("verdict", string(o.Verdict))
	w.text("reason", o.Reason)
	w.text("additional_context", o.Context)
	if len(o.Executions) == 0 {
		return
	}
	w.key("executions")
	w.out = append(w.out, '[')
	for i := range o.Executions {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		w.out = append(w.out, '{')
		w.execution(&o.Executions[i])
		w.out = append(w.out, '}')
	}
	w.out = append(w.out, ']')
}

func (w *objectWriter) execution(x *Execution) {
	w.string("hook", x.Hook)
	w.text("name", x.Name)
	w.text("point", string(x.Point))
	w.key("success")
	w.out = strconv.AppendBool(w.out, x.Success)
	w.text("error", x.Error)
	w.key("duration_ms")
	w.out = strconv.AppendFloat(w.out, x.DurationMS, 'f', -1, 64)
	// Leave other values to encoding/json, which rejects NaN and infinity, and writes very small
	// or large numbers with an exponent.
	abs := math.Abs(x.DurationMS)
	w.failed = w.failed || !(abs == 0 || abs >= 1e-6 && abs < 1e21)
	w.text("verdict", string(x.Verdict))
	w.flag("modified", x.Modified)
	w.flag("timed_out", x.TimedOut)
}

func (w *objectWriter) common(c *Common) {
	w.failed = w.failed || len(c.Blobs) > 0 || len(c.Raw) > 0 || len(c.Redacted) > 0 || c.Untimed
}

// IsData reports whether raw is valid JSON in UTF-8, nested no deeper than events allow.
func IsData(raw []byte) bool {
	s := scanner{data: raw}
	return s.value(2) == nil && s.peek() == 0 && s.pos == len(raw)
}
