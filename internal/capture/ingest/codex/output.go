package codex

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
)

type ending struct {
	failed     bool
	message    string
	class      string
	exit       *int
	durationMS int64
}

// complaints maps the first words of an output to a failure class. Codex writes such an
// output if a call fails.
var complaints = []struct{ text, class string }{
	{"exec_command failed", ""},
	{"write_stdin failed", ""},
	{"apply_patch verification failed", ""},
	{"apply_patch handler received", ""},
	{"failed to parse function arguments", ""},
	{"failed to parse exec_command arguments", ""},
	{"unsupported call:", ""},
	{"unsupported custom tool call:", ""},
	{"tool call error:", ""},
	{"execution error:", ""},
	{"rejected by user", "rejected"},
	{"patch rejected by user", "rejected"},
	{"exec command rejected by user", "rejected"},
	{"aborted by user", "rejected"},
	{"command timed out after", "timeout"},
}

func (e *ending) read(output json.RawMessage) {
	var old struct {
		Success *bool           `json:"success"` // for outputs that are objects
		Content json.RawMessage `json:"content"`
	}
	text := ingest.Flatten(output)
	if len(output) > 0 && output[0] == '{' {
		lenient(output, &old)
		text = ingest.Flatten(old.Content)
		if old.Success != nil && !*old.Success {
			e.failed = true
		}
	}
	if !e.readJSON(text) {
		e.readHeader(text)
	}
	for _, c := range complaints {
		if strings.HasPrefix(text, c.text) {
			e.failed, e.class = true, c.class
		}
	}
	if e.exit != nil && *e.exit != 0 {
		e.failed = true
	}
	if e.failed && e.message == "" {
		e.message = text
	}
}

// readJSON reads the JSON output of older shells and of MCP servers. It returns false
// if text has another form.
func (e *ending) readJSON(text string) bool {
	var out struct {
		Output   *string `json:"output"`
		Metadata struct {
			Exit    *int    `json:"exit_code"`
			Seconds float64 `json:"duration_seconds"`
		} `json:"metadata"`
		IsError bool            `json:"isError"`
		Content json.RawMessage `json:"content"`
	}
	if !strings.HasPrefix(text, "{") || json.Unmarshal([]byte(text), &out) != nil {
		return false
	}
	if out.Output != nil && out.Metadata.Exit != nil {
		e.exit, e.message = out.Metadata.Exit, *out.Output
		e.took(out.Metadata.Seconds)
	}
	if out.IsError && out.Content != nil {
		e.failed = true
	}
	return true
}

var headerKeys = []string{"Exit code: ", "Chunk ID: ", "Wall time: ", "Process "}

// readHeader reads the header of a command's output, which ends with "Output:".
func (e *ending) readHeader(text string) {
	begins := func(key string) bool { return strings.HasPrefix(text, key) }
	header, _, found := strings.Cut(text+"\n", "\nOutput:\n")
	if !found || !slices.ContainsFunc(headerKeys, begins) {
		return
	}
	var exit *int
	seconds, timed := 0.0, false
	for line := range strings.Lines(header) {
		line = strings.TrimSpace(line)
		for _, before := range []string{"Exit code: ", "Process exited with code "} {
			if code, ok := strings.CutPrefix(line, before); ok {
				if n, err := strconv.Atoi(code); err == nil {
					exit = &n
				}
			}
		}
		if wall, ok := strings.CutPrefix(line, "Wall time: "); ok {
			n, err := strconv.ParseFloat(strings.TrimSuffix(wall, " seconds"), 64)
			seconds, timed = n, err == nil
		}
	}
	if !timed { // not a header of Codex
		return
	}
	e.took(seconds)
	if exit != nil {
		e.exit = exit
	}
}

func (e *ending) took(seconds float64) {
	if ms := seconds * 1000; e.durationMS == 0 && ms > 0 && ms < ingest.MaxCount {
		e.durationMS = int64(ms)
	}
}
