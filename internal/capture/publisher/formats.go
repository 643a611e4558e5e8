package publisher

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/hooktrail/hooktrail/internal/capture/agents"
	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/amplifier"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/claude"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/codex"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/dialogue"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/gemini"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/openhands"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/sweagent"
	"github.com/hooktrail/hooktrail/pkg/events"
)

type format struct {
	name   string
	events func(context.Context, io.Reader, ingest.Options) iter.Seq2[events.Event, error]
	// detect reports whether a file with this beginning and path has the format. At most one format
	// accepts a file. nil means that the format is never detected.
	detect func(head []byte, path string) bool
	exts   []string
}

const hookLogFormat = "hook-log"

var lineExts = []string{".jsonl"}

// AutoFormat means that the format of each input is detected from its content.
const AutoFormat = "auto"

var formats = []format{
	{name: claude.Source, events: claude.Events, detect: claude.Detect, exts: lineExts},
	{name: codex.Source, events: codex.Events, detect: codex.Detect, exts: lineExts},
	{name: gemini.Source, events: gemini.Events, detect: gemini.Detect, exts: []string{".json", ".jsonl", ".responses"}},
	{name: "copilot-cli", events: agents.CopilotEvents, detect: agents.DetectCopilotEvents, exts: lineExts},
	{name: openhands.Source, events: openhands.Events, detect: openhands.Detect, exts: []string{".json", ".jsonl"}},
	{name: sweagent.Source, events: sweagent.Events, detect: sweagent.Detect, exts: []string{".traj", ".json"}},
	dialogueFormat(dialogue.Qwen, lineExts),
	dialogueFormat(dialogue.IFlow, lineExts),
	dialogueFormat(dialogue.Droid, lineExts),
	dialogueFormat(dialogue.Pi, lineExts),
	dialogueFormat(dialogue.Kiro, lineExts),
	dialogueFormat(dialogue.Cursor, lineExts),
	dialogueFormat(dialogue.OpenCode, []string{".json"}),
	{name: amplifier.Source, events: amplifier.Events, detect: amplifier.Detect, exts: lineExts},
	{name: hookLogFormat, events: agents.Log, detect: agents.DetectLog, exts: []string{".json", ".jsonl"}},
	{name: ingest.CloudEventsFormat, events: ingest.CloudEventFile, detect: ingest.DetectCloudEvents, exts: []string{".json", ".jsonl", ".ndjson"}},
}

func dialogueFormat(name string, exts []string) format {
	return format{name: name, events: dialogue.Events(name), exts: exts}
}

func (f *format) isAppended() bool { return slices.Equal(f.exts, lineExts) }

// ErrFormat means that import does not know the format.
var ErrFormat = errors.New("format cannot be imported")

func formatNamed(name string) *format {
	i := slices.IndexFunc(formats, func(f format) bool { return f.name == name })
	if i < 0 {
		return nil
	}
	return &formats[i]
}

// FormatNames returns the names of all formats, separated by commas.
func FormatNames() string {
	var names []string
	for _, f := range formats {
		names = append(names, f.name)
	}
	return strings.Join(names, ", ")
}

func checkFormat(name string) error {
	if name == AutoFormat || formatNamed(name) != nil {
		return nil
	}
	return fmt.Errorf("%w: %q is unknown; there is %s, and %s, which detects the format", ErrFormat, name, FormatNames(), AutoFormat)
}

func detect(head []byte, path string) *format {
	if name := dialogue.Of(head, path); name != "" {
		return formatNamed(name)
	}
	for i := range formats {
		if formats[i].detect != nil && formats[i].detect(head, path) {
			return &formats[i]
		}
	}
	return nil
}

func extsOf(name string) []string {
	if f := formatNamed(name); f != nil {
		return f.exts
	}
	var all []string
	for _, f := range formats {
		all = append(all, f.exts...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
