package publisher

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
)

// ErrUnrecognised means that a file does not have a format that import expects.
var ErrUnrecognised = errors.New("unknown format")

// Refused is an input that [Import] did not read, with the reason.
type Refused struct {
	File   string `json:"file"`
	Reason string `json:"reason"`
}

type refusal string

// Error returns the text.
func (r refusal) Error() string { return string(r) }

// Is reports whether target is [ErrUnrecognised].
func (r refusal) Is(target error) bool { return target == ErrUnrecognised }

func unknownFormat(head []byte, path string) error {
	for _, f := range foreign {
		if f.is(head, filepath.Base(path)) {
			return refusal(f.name + ", which import does not read; " + f.advice)
		}
	}
	return refusal("unknown format; import reads " + FormatNames())
}

func otherFormat(begins *format, wanted string) error {
	if begins == nil {
		return refusal(fmt.Sprintf("does not look like %s, and a ledger keeps wrong events permanently; --force imports it nevertheless", wanted))
	}
	return refusal(fmt.Sprintf("looks like %s, not %s; leave out --format, or add --force", begins.name, wanted))
}

var foreign = []struct {
	name, advice string
	is           func(head []byte, base string) bool
}{
	{"OTLP", "send it to /v1/traces or /v1/logs of publisher serve", func(head []byte, _ string) bool {
		return anyMember(head, "resourceSpans", "resourceLogs", "resourceMetrics")
	}},
	{"an export of Langfuse", "send the OTLP of the agent to /v1/traces of publisher serve", func(head []byte, _ string) bool {
		return anyMember(head, "trace") && bytes.Contains(head, []byte(`"projectId"`))
	}},
	{"OpenTelemetry in another form than OTLP", "send OTLP to /v1/traces or /v1/logs of publisher serve", func(head []byte, _ string) bool {
		return anyMember(head, "scopeSpans", "scopeLogs", "scopeMetrics", "traceId", "trace_id")
	}},
	{"the database of OpenCode", "import the output of opencode export SESSION", database("opencode")},
	{"a part of the storage of OpenCode", "import the output of opencode export SESSION", func(head []byte, base string) bool {
		return anyMember(head, "sessionID", "messageID") || strings.HasPrefix(base, "ses_")
	}},
	{"a database of Cursor", "import the files agent-transcripts/**/*.jsonl below ~/.cursor/projects", database("state", "store", "cursor")},
	{"the database of Kiro CLI", "import the files ~/.kiro/sessions/cli/*.jsonl", database("data")},
	{"the description of a session of Kiro CLI", "import the file .jsonl next to it", func(head []byte, _ string) bool {
		return anyMember(head, "session_state")
	}},
	{"an SQLite database", "export the sessions with the agent that wrote it", database("")},
	{"the chat history of Aider", "it has no structure that import can rely on", func(head []byte, base string) bool {
		return strings.HasPrefix(base, ".aider") || bytes.HasPrefix(ingest.Opening(head), []byte("# aider chat started"))
	}},
}

func anyMember(head []byte, names ...string) bool {
	var members map[string]json.RawMessage
	if first, list := ingest.FirstElement(head); list {
		members = ingest.Members(first)
	} else {
		members = ingest.Members(ingest.Opening(head))
	}
	for _, name := range names {
		if _, ok := members[name]; ok {
			return true
		}
	}
	return false
}

func database(prefixes ...string) func(head []byte, base string) bool {
	return func(head []byte, base string) bool {
		if !bytes.HasPrefix(head, []byte("SQLite format 3\x00")) {
			return false
		}
		for _, p := range prefixes {
			if strings.HasPrefix(base, p) {
				return true
			}
		}
		return false
	}
}
