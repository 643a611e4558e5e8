package hooks

import "time"

// Meta describes where in a run a dispatch takes place. Each hook gets a copy.
type Meta struct {
	Tenant      string // owner of the run
	Run         string
	RunType     string // TRIAGE, PLAN, RESOLVE, REVIEW, AUTOPILOT
	Step        string
	Session     string
	Agent       string
	AgentRole   string // FOREMAN, CODER, …
	ParentAgent string
	ParentRun   string
	TeamRoot    string // working directory of the team
	Thread      string
	User        string
	Flow        string
	Side        string // side of a conversation: "a" or "b"
	ToolCall    string // id of a tool call and of its result
	AgentFS     string // AgentFS file of the run
	Hooks       string // enabled ones of "agentfs" and "beads". Empty enables both
	Traceparent string // W3C trace context

	StepCount int       // number of steps or model turns so far
	Stopped   bool      // the run must stop
	Time      time.Time // time of the event, zero for now
	Sequence  uint64    // number of the dispatch in its run, set by the engine
}
