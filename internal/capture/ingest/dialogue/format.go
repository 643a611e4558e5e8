package dialogue

import (
	"context"
	"encoding/json"
	"io"
	"iter"
	"path/filepath"
	"strings"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// Names of the formats. Each is also the name of the agent and the source of its events.
const (
	Qwen     = "qwen-code"
	IFlow    = "iflow"
	Droid    = "droid"
	Pi       = "pi"
	Kiro     = "kiro-cli"
	Cursor   = "cursor"
	OpenCode = "opencode"
)

// Events returns the function that reads files of one format. source is the name of the format,
// such as "qwen-code".
func Events(source string) func(context.Context, io.Reader, ingest.Options) iter.Seq2[events.Event, error] {
	read := formats[source]
	return func(ctx context.Context, r io.Reader, opts ingest.Options) iter.Seq2[events.Event, error] {
		return func(yield func(events.Event, error) bool) {
			d := newDialogue(source, opts, yield)
			if read(ctx, d, r) {
				d.Finish()
			}
		}
	}
}

var formats = map[string]func(context.Context, *dialogue, io.Reader) bool{
	Qwen: lines(qwen), IFlow: lines(iflow), Droid: lines(droid), Pi: lines(pi), Kiro: lines(kiro), Cursor: lines(cursor),
	OpenCode: exported,
}

func lines(entryOf func(json.RawMessage) (entry, error)) func(context.Context, *dialogue, io.Reader) bool {
	return func(ctx context.Context, d *dialogue, r io.Reader) bool {
		return d.Lines(ctx, r, func(in ingest.Line) {
			raw, _ := d.Decode(in, &struct{}{})
			if raw == nil {
				return
			}
			e, err := entryOf(raw)
			if err != nil {
				d.NotJSON(in, err, true)
				e = entry{session: e.session, name: "line"}
			}
			e.raw = raw
			d.take(e)
		})
	}
}

// Of returns the name of the format of an input that begins with head. It returns "" if no format
// matches.
func Of(head []byte, path string) string {
	for o := range ingest.HeadObjects(head) {
		if name := lineFormat(o, path); name != "" {
			return name
		}
	}
	whole := ingest.Members(ingest.Opening(head))
	if strings.HasPrefix(ingest.Text(ingest.Members(whole["info"])["id"]), "ses") && ingest.Has(whole, "info", "messages") {
		return OpenCode
	}
	return ""
}

func lineFormat(o map[string]json.RawMessage, path string) string {
	for _, f := range []struct {
		name string
		is   func(*shape) bool
	}{{Qwen, isQwen}, {IFlow, isIFlow}, {Droid, isDroid}, {Pi, isPi}, {Kiro, isKiro}, {Cursor, isCursor}} {
		if f.is(&shape{o, ingest.Members(o["message"]), path}) {
			return f.name
		}
	}
	return ""
}

type shape struct {
	line, message map[string]json.RawMessage
	path          string
}

func (s *shape) has(names ...string) bool { return ingest.Has(s.line, names...) }

func isQwen(s *shape) bool {
	return s.has("sessionId", "type") &&
		(s.has("systemPayload") || s.has("usageMetadata") || s.has("toolCallResult") || ingest.Has(s.message, "parts"))
}

func isIFlow(s *shape) bool {
	return s.has("sessionId", "uuid", "message") &&
		(strings.HasPrefix(ingest.Text(s.line["sessionId"]), "session-") || strings.Contains(filepath.ToSlash(s.path), "/.iflow/"))
}

func isDroid(s *shape) bool {
	return ingest.Text(s.line["type"]) == "session_start" && s.has("id") && (s.has("cwd") || s.has("title") || s.has("owner"))
}

func isPi(s *shape) bool {
	return ingest.Text(s.line["type"]) == "session" && s.has("timestamp", "cwd")
}

func isKiro(s *shape) bool {
	return s.has("kind", "data") && kiroKinds[ingest.Text(s.line["kind"])] != other
}

func isCursor(s *shape) bool {
	return s.has("role", "message") && !s.has("type") && ingest.Has(s.message, "content")
}
