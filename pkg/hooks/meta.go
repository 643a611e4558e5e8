package hooks

import "time"

// Meta says where in which run a dispatch happens. The engine stamps it; hooks
// get it by value, so that none can change what the next one or the record sees.
type Meta struct {
	Tenant      string // whose run this is
	Run         string
	RunType     string // TRIAGE, PLAN, RESOLVE, REVIEW, AUTOPILOT
	Step        string
	Session     string
	Agent       string // who acts
	AgentRole   string // FOREMAN, CODER, …
	ParentAgent string // who started that agent
	ParentRun   string
	TeamRoot    string // the directory that the team works in
	Thread      string
	User        string
	Flow        string
	Side        string // of a conversation: "a" or "b"
	ToolCall    string // pairs a call with its result
	AgentFS     string // the AgentFS file of the run
	Hooks       string // which of "agentfs", "beads" are on; empty means all
	Traceparent string // W3C

	StepCount int       // model turns so far
	Stopped   bool      // the run has been told to stop
	Time      time.Time // when what is reported happened; zero means now
	Sequence  uint64    // the dispatch's place among those of its run, where the engine counts
}
