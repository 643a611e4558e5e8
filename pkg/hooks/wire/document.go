package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

type document struct {
	Event string          `json:"event"`
	Point events.Kind     `json:"point"`
	Tool  *string         `json:"tool"`
	Args  json.RawMessage `json:"args"`

	Result  json.RawMessage `json:"result,omitempty"`
	Error   string          `json:"error,omitempty"`
	Payload json.RawMessage `json:"payload,omitempty"`

	Session   string    `json:"session_id"`
	Timestamp time.Time `json:"timestamp"`

	Tenant      string `json:"tenant,omitempty"`
	Run         string `json:"run,omitempty"`
	RunType     string `json:"run_type,omitempty"`
	Step        string `json:"step,omitempty"`
	Agent       string `json:"agent,omitempty"`
	AgentRole   string `json:"agent_role,omitempty"`
	ParentAgent string `json:"parent_agent,omitempty"`
	ParentRun   string `json:"parent_run,omitempty"`
	TeamRoot    string `json:"team_root,omitempty"`
	Thread      string `json:"thread,omitempty"`
	User        string `json:"user,omitempty"`
	Flow        string `json:"flow,omitempty"`
	Side        string `json:"side,omitempty"`
	ToolCall    string `json:"tool_call,omitempty"`
	AgentFS     string `json:"agentfs,omitempty"`
	Hooks       string `json:"hooks,omitempty"`
	Traceparent string `json:"traceparent,omitempty"`
	StepCount   int    `json:"step_count,omitempty"`
	Stopped     bool   `json:"stopped,omitempty"`
	Sequence    uint64 `json:"sequence,omitempty"`
}

// Append appends d to dst as JSON. event is the name of the hook point as configuration files write
// it, such as PreToolUse.
func Append(dst []byte, event string, d hooks.Document) ([]byte, error) {
	return encode(dst, newDocument(event, d))
}

func newDocument(event string, d hooks.Document) document {
	m := &d.Meta
	out := document{
		Event: event, Point: d.Point, Args: d.Args.Raw(), Result: d.Result.Raw(), Error: d.Error, Payload: d.Payload.Raw(),
		Session: m.Session, Timestamp: m.Time.UTC(),
		Tenant: m.Tenant, Run: m.Run, RunType: m.RunType, Step: m.Step, Agent: m.Agent, AgentRole: m.AgentRole,
		ParentAgent: m.ParentAgent, ParentRun: m.ParentRun, TeamRoot: m.TeamRoot, Thread: m.Thread, User: m.User,
		Flow: m.Flow, Side: m.Side, ToolCall: m.ToolCall, AgentFS: m.AgentFS, Hooks: m.Hooks, Traceparent: m.Traceparent,
		StepCount: m.StepCount, Stopped: m.Stopped, Sequence: m.Sequence,
	}
	if d.Tool != "" {
		out.Tool = &d.Tool
	}
	return out
}

func encode(dst []byte, v any) ([]byte, error) {
	b := bytes.NewBuffer(dst)
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("encode document: %w", hooks.Fault("it holds what is no JSON"))
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

func (d *document) meta() hooks.Meta {
	return hooks.Meta{
		Tenant: d.Tenant, Run: d.Run, RunType: d.RunType, Step: d.Step, Session: d.Session, Agent: d.Agent,
		AgentRole: d.AgentRole, ParentAgent: d.ParentAgent, ParentRun: d.ParentRun, TeamRoot: d.TeamRoot,
		Thread: d.Thread, User: d.User, Flow: d.Flow, Side: d.Side, ToolCall: d.ToolCall, AgentFS: d.AgentFS,
		Hooks: d.Hooks, Traceparent: d.Traceparent, StepCount: d.StepCount, Stopped: d.Stopped,
		Time: d.Timestamp, Sequence: d.Sequence,
	}
}
