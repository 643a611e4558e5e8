package provider

import (
	"context"
	"slices"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

// Alert describes a failure for the person on call.
type Alert struct {
	Title  string // such as "circuit breaker open"
	Tenant string
	Run    string
	Step   string
	Agent  string
	Tool   string // empty if no tool is involved
	Type   hooks.ErrorType
	Error  string // text of the error, which may contain a part of a payload
}

// AlertFunc sends an alert. It must return within the timeout of the calling hook.
type AlertFunc func(context.Context, Alert) error

func alertOf(title string, meta hooks.Meta, f hooks.Failure) Alert {
	a := Alert{Title: title, Tenant: meta.Tenant, Run: meta.Run, Step: meta.Step, Agent: meta.Agent, Type: f.Type}
	if f.Err != nil {
		a.Error = f.Err.Error()
	}
	return a
}

// Alerts is a provider that sends an alert when a critical tool fails.
type Alerts struct {
	tools []hooks.Matcher
	send  AlertFunc
}

// NewAlerts returns a provider that sends an alert when a critical tool fails. In the tool names,
// '*' matches any characters.
func NewAlerts(send AlertFunc, criticalTools ...string) (*Alerts, error) {
	a := &Alerts{send: send}
	for _, pattern := range criticalTools {
		m, err := hooks.ForTool(pattern)
		if err != nil {
			return nil, err
		}
		a.tools = append(a.tools, m)
	}
	return a, nil
}

// Name returns "alerts".
func (*Alerts) Name() string { return "alerts" }

// PostToolUse sends an alert if a critical tool has failed.
func (a *Alerts) PostToolUse(ctx context.Context, meta hooks.Meta, done hooks.ToolDone, out hooks.ToolOutcome) (*hooks.ToolOutcome, error) {
	subject := hooks.Subject{Tool: done.Call.Tool, Args: done.Call.Args}
	critical := slices.ContainsFunc(a.tools, func(m hooks.Matcher) bool { return m.Match(meta, subject) })
	if !critical || out.Status != events.ToolError {
		return hooks.Unchanged[hooks.ToolOutcome](), nil
	}
	return nil, a.send(ctx, Alert{
		Title: "critical tool failed", Tenant: meta.Tenant, Run: meta.Run, Step: meta.Step, Agent: meta.Agent,
		Tool: done.Call.Tool, Type: hooks.ToolError, Error: out.Error,
	})
}
