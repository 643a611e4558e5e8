package hooktrail

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/hooktrail/hooktrail/internal/platform/termtext"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

// tried is the outcome of hooks test.
type tried struct {
	hooks.DocumentOutcome

	Async []hooks.Execution `json:"async,omitempty"` // of hooks for which no agent waits
}

// executions collects the ends of async hooks, which a registry only records.
type executions struct {
	mu    sync.Mutex
	ended []hooks.Execution
}

// Append implements [hooks.Appender].
func (x *executions) Append(_ context.Context, e events.Event) (events.Event, error) {
	if e.Kind() != events.HookExecuted {
		return e, nil
	}
	var data events.HookExecutedData
	if err := json.Unmarshal(e.Data, &data); err != nil {
		return e, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if !data.Late { // the end of a hook after its timeout
		x.ended = append(x.ended, data.Execution)
	}
	return e, nil
}

func (x *executions) list() []hooks.Execution {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.ended
}

func tookOf(x hooks.Execution) string {
	return (time.Duration(x.DurationMS*1000) * time.Microsecond).String()
}

func writeOutcome(w io.Writer, out *tried) {
	fmt.Fprintf(w, "%s: %s\n", out.Point, out.Verdict)
	for _, line := range []struct{ name, text string }{
		{"reason", out.Reason}, {"context", out.Context}, {"args", string(out.Args)}, {"value", string(out.Value)},
	} {
		if line.text != "" {
			fmt.Fprintf(w, "%-8s %s\n", line.name, termtext.Printable(line.text))
		}
	}
	if len(out.Executions)+len(out.Async) == 0 {
		fmt.Fprintln(w, "no hook is for this event")
		return
	}
	fmt.Fprintln(w)
	rows := [][]string{{"HOOK", "SAID", "TOOK"}}
	for _, x := range out.Executions {
		rows = append(rows, []string{termtext.Printable(x.Name), said(x), tookOf(x)})
	}
	for _, x := range out.Async {
		word := "ended, async"
		if !x.Success {
			word = said(x) + ", async"
		}
		rows = append(rows, []string{termtext.Printable(x.Name), word, tookOf(x)})
	}
	writeTable(w, rows)
}

// maxSaid limits the text of a failure in the table. The log and --json have the whole text.
const maxSaid = 60

func said(x hooks.Execution) string {
	switch {
	case !x.Success:
		return "failed: " + shown(x.Error, maxSaid)
	case x.Modified && (x.Verdict == "" || x.Verdict == hooks.None):
		return "modified it"
	case x.Modified:
		return string(x.Verdict) + ", modified it"
	case x.Verdict == "":
		return string(hooks.None)
	}
	return string(x.Verdict)
}
