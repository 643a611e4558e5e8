package publisher

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/hooktrail/hooktrail/internal/agents"
	"github.com/hooktrail/hooktrail/internal/ingest"
	"github.com/hooktrail/hooktrail/internal/ingest/amplifier"
	"github.com/hooktrail/hooktrail/internal/ingest/claude"
	"github.com/hooktrail/hooktrail/internal/ingest/codex"
	"github.com/hooktrail/hooktrail/internal/ingest/gemini"
	"github.com/hooktrail/hooktrail/internal/ingest/openhands"
	"github.com/hooktrail/hooktrail/internal/ingest/sweagent"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// format is a kind of input that import reads.
type format struct {
	name   string
	events func(context.Context, io.Reader, ingest.Options) iter.Seq2[events.Event, error]
	// detect tells from the first bytes of a file (64 KiB, or all of a shorter
	// one) and from its path whether it is of this format. No input is of two.
	detect func(head []byte, path string) bool
	// whole says that the tool writes its file anew each time, and does not
	// append lines to it.
	whole bool
}

// formats are all of them, in the order in which help lists them.
var formats = []format{
	{name: claude.Source, events: claude.Events, detect: claude.Detect},
	{name: codex.Source, events: codex.Events, detect: codex.Detect},
	{name: gemini.Source, events: gemini.Events, detect: gemini.Detect, whole: true},
	{name: "copilot-cli", events: agents.CopilotEvents, detect: agents.DetectCopilotEvents},
	{name: openhands.Source, events: openhands.Events, detect: openhands.Detect, whole: true},
	{name: sweagent.Source, events: sweagent.Events, detect: sweagent.Detect, whole: true},
	{name: amplifier.Source, events: amplifier.Events, detect: amplifier.Detect},
	{name: "hook-log", events: agents.Log, detect: agents.DetectLog, whole: true},
	{name: ingest.CloudEventsFormat, events: ingest.CloudEventFile, detect: ingest.DetectCloudEvents},
}

// laterFormats are formats that import does not read yet.
var laterFormats = []string{"auto"}

// ErrFormat is wrapped by the refusal of a format.
var ErrFormat = errors.New("format cannot be imported")

// formatNamed returns the format of that name, nil where there is none.
func formatNamed(name string) *format {
	i := slices.IndexFunc(formats, func(f format) bool { return f.name == name })
	if i < 0 {
		return nil
	}
	return &formats[i]
}

// formatNames returns the names of all formats, as help and errors list them.
func formatNames() string {
	var names []string
	for _, f := range formats {
		names = append(names, f.name)
	}
	return strings.Join(names, ", ")
}

// checkFormat refuses what is not in formats.
func checkFormat(name string) error {
	switch {
	case formatNamed(name) != nil:
		return nil
	case name == "":
		return fmt.Errorf("%w: none is given; there is %s", ErrFormat, formatNames())
	case slices.Contains(laterFormats, name):
		return fmt.Errorf("%w: %q is not supported yet; there is %s", ErrFormat, name, formatNames())
	}
	return fmt.Errorf("%w: %q is unknown; there is %s", ErrFormat, name, formatNames())
}
