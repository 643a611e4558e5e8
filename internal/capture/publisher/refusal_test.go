package publisher

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
)

// Files of known programs that import does not read are refused by name, and others with
// the names of the formats.
func TestImport_RefusesByName(t *testing.T) {
	_, b := open(t)
	for file, tt := range map[string]struct{ text, want string }{
		"langfuse.json": {`{"trace": {"id": "1", "projectId": "secret"}, "observations": []}`, "an export of Langfuse, which import does not read; send the OTLP of the agent to /v1/traces of publisher serve"},
		"span.json":     {`[{"traceId":"secret","spanId":"1","name":"x"}]`, "OpenTelemetry in another form than OTLP, which import does not read; send OTLP to /v1/traces or /v1/logs of publisher serve"},
		"scope.json":    {`{"scopeSpans":[{"spans":[]}]}`, "OpenTelemetry in another form than OTLP, which import does not read; send OTLP to /v1/traces or /v1/logs of publisher serve"},
		"trace.json":    {`{"resourceSpans":[{"secret":1}]}`, "OTLP, which import does not read; send it to /v1/traces or /v1/logs of publisher serve"},
		"logs.jsonl":    {`{"resourceLogs":[]}`, "OTLP, "},
		"opencode.db":   {"SQLite format 3\x00", "the database of OpenCode, which import does not read; import the output of opencode export SESSION"},
		"prt_1.json":    {`{"id":"prt_1","messageID":"m","sessionID":"ses_1","type":"text"}`, "a part of the storage of OpenCode, "},
		"state.vscdb":   {"SQLite format 3\x00", "a database of Cursor, "},
		"data.sqlite3":  {"SQLite format 3\x00", "the database of Kiro CLI, "},
		"kiro.json":     {`{"session_id":"s","cwd":"/w","session_state":{}}`, "the description of a session of Kiro CLI, "},
		"other.sqlite":  {"SQLite format 3\x00", "an SQLite database, "},
		"notes.md":      {"# aider chat started at 2026-01-01\n", "the chat history of Aider, "},
		"something.txt": {"secret", "unknown format; import reads claude-code, codex, "},
	} {
		name := filepath.Join(t.TempDir(), file)
		writeText(t, name, tt.text)
		sum, err := Import(t.Context(), ImportOptions{Broker: b, DataDir: t.TempDir(), Paths: []string{name}})
		if !errors.Is(err, ErrUnrecognised) || !strings.Contains(err.Error(), name+": "+tt.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: got %v", file, err)
		}
		if len(sum.Refused) != 1 || sum.Refused[0].File != name || !strings.HasPrefix(sum.Refused[0].Reason, tt.want) {
			t.Errorf("%s: refused %+v", file, sum.Refused)
		}
	}
}

// A named format is not forced onto a file that looks like another one, unless Force is set
// or the answer is yes.
func TestImport_OtherFormat(t *testing.T) {
	_, b := open(t)
	const codexLine = `{"timestamp":"2026-01-01T00:00:00Z","type":"event_msg","payload":{"type":"user_message","message":"go"}}`
	asked := ""
	yes := func(question string) bool { asked = question; return true }
	no := func(question string) bool { asked = question; return false }
	for _, tt := range []struct {
		name, text, want string
		force            bool
		confirm          func(string) bool
	}{
		{name: "Other", text: codexLine, want: "looks like codex, not claude-code; leave out --format, or add --force"},
		{name: "Unknown", text: `{"secret":1}`, want: "does not look like claude-code, and a ledger keeps wrong events permanently; --force imports it nevertheless"},
		{name: "Forced", text: codexLine, force: true},
		{name: "Yes", text: codexLine, confirm: yes},
		{name: "No", text: codexLine, confirm: no, want: "looks like codex"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			asked = ""
			name := filepath.Join(t.TempDir(), "a.jsonl")
			writeText(t, name, tt.text+"\n")
			sum, err := Import(t.Context(), ImportOptions{
				Broker: b, DataDir: t.TempDir(), Paths: []string{name}, Format: "claude-code", Force: tt.force, Confirm: tt.confirm,
			})
			switch {
			case tt.want == "" && (err != nil || sum.Events == 0):
				t.Errorf("got %d events, %v", sum.Events, err)
			case tt.want != "" && (!errors.Is(err, ErrUnrecognised) || !strings.Contains(err.Error(), tt.want) || sum.Events > 0):
				t.Errorf("got %d events, %v", sum.Events, err)
			}
			if tt.confirm != nil && asked != name+" does not look like claude-code. Import it nevertheless?" {
				t.Errorf("asked %q", asked)
			}
		})
	}
}

// A missing file, an empty folder and a pattern without files do not stop the others.
func TestImport_MissingFile(t *testing.T) {
	_, b := open(t)
	dir := t.TempDir()
	there, gone, empty, pattern := filepath.Join(dir, "a.jsonl"), filepath.Join(dir, "gone.jsonl"), t.TempDir(), filepath.Join(dir, "x*")
	writeTranscript(t, there, "a")
	sum, err := Import(t.Context(), ImportOptions{Broker: b, DataDir: t.TempDir(), Paths: []string{gone, empty, pattern, there}})
	for i, name := range []string{gone, empty, pattern} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want it to name %s", err, name)
		}
		if len(sum.Refused) != 3 || sum.Refused[i].File != name {
			t.Errorf("refused %+v", sum.Refused)
		}
	}
	if len(sum.Runs) != 1 || sum.Runs[0] != "a" {
		t.Errorf("got runs %q", sum.Runs)
	}
}
