package agents

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/claude"
	"github.com/hooktrail/hooktrail/internal/testkit/realdata"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/toolname"
)

type command struct {
	text, output string
	failed       bool
}

// recordedCommands returns the shell commands of recorded Claude Code sessions. These
// have exit statuses.
func recordedCommands(t *testing.T) []command {
	t.Helper()
	root := realdata.Path(t)
	var list []command
	err := filepath.WalkDir(filepath.Join(root, "claude-code"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".jsonl") {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		calls := map[string]string{}
		for e, err := range claude.Events(t.Context(), f, ingest.Options{File: path, Tenant: "t"}) {
			if err == nil {
				list = append(list, commandOf(e, calls)...)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

var exitStatus = regexp.MustCompile(`^(?:Error: )?Exit code \d+\n?`)

func commandOf(e events.Event, calls map[string]string) []command {
	switch e.Kind() {
	case events.ToolBefore:
		p, err := events.Payload[events.ToolBeforeData](e)
		if text, ok := hooks.FromRaw(p.Args).Text("command"); ok && err == nil && toolname.Canonical(p.Tool) == toolname.Shell {
			calls[e.ToolCall] = text
		}
	case events.ToolResult:
		p, err := events.Payload[events.ToolResultData](e)
		text, ok := calls[e.ToolCall]
		if !ok || err != nil {
			return nil
		}
		var output string
		if p.Error != nil {
			output = p.Error.Message
			if text, ok := textOf(p.Result); ok {
				output = text
			}
			if !exitStatus.MatchString(output) {
				return nil // a denied or interrupted command did not end
			}
		} else if json.Unmarshal(p.Result, &output) != nil {
			return nil
		}
		return []command{{text, exitStatus.ReplaceAllString(output, ""), p.Error != nil}}
	}
	return nil
}

func codexCommands(t *testing.T) []command {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(realdata.Path(t), "codex", "*", "exec-json-stream", "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var list []command
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(data) {
			item := objectOf(line).object("item")
			if status := item.raw("exit_code"); status != nil {
				list = append(list, command{item.text("command"), item.text("aggregated_output"), string(status) != "0"})
			}
		}
	}
	return list
}

// No successful command counts as failed.
func TestComplaint_Measured(t *testing.T) {
	var succeeded, failed, found int
	for _, c := range append(recordedCommands(t), codexCommands(t)...) {
		if strings.HasPrefix(c.text, "find ") {
			continue // Claude Code does not count its status 1 as a failure
		}
		line, _ := complaintOf(c.text, c.output)
		switch {
		case c.failed && line != "":
			failed++
			found++
		case c.failed:
			failed++
		default:
			succeeded++
			if line != "" {
				t.Errorf("taken for failed: %q because of %q", c.text, line)
			}
		}
	}
	if succeeded < 300 || found == 0 {
		t.Errorf("measured on %d and %d commands", succeeded, failed)
	}
	t.Logf("%d commands succeeded, %d failed, of which %d are known to have by their output", succeeded, failed, found)
}
