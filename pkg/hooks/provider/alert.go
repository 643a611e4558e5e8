package provider

import (
	"context"
	"slices"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

// Alert is what whoever is on call is told.
type Alert struct {
	Title  string // what has happened: "circuit breaker open", "critical tool failed"
	Tenant string
	Run    string
	Step   string
	Agent  string
	Tool   string // where it is about one
	Type   hooks.ErrorType
	Error  string // text of the error, which may quote what agents handle
}

// AlertFunc tells somebody of an alert. It runs within the time of a hook.
type AlertFunc func(context.Context, Alert) error

func alertOf(title string, meta hooks.Meta, f hooks.Failure) Alert {
	a := Alert{Title: title, Tenant: meta.Tenant, Run: meta.Run, Step: meta.Step, Agent: meta.Agent, Type: f.Type}
	if f.Err != nil {
		a.Error = f.Err.Error()
	}
	return a
}

// Alerts tells whoever is on call of failures that a person has to see.
type Alerts struct {
	tools []hooks.Matcher
	send  AlertFunc
}

// NewAlerts returns an Alerts that tells send of every call of a critical tool
// that has failed. In their patterns '*' is any run of characters.
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

// Name is "alerts".
func (*Alerts) Name() string { return "alerts" }

// PostToolUse tells of the failure of a critical tool, and changes nothing.
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
