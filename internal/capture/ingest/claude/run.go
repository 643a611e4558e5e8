package claude

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// run is what is remembered of a run beside its counters.
type run struct {
	*ingest.Run
	hasStart  bool   // the session's start is told
	startHook string // names the hooks of its latest start

	response *response         // the API call whose lines are being read
	spent    map[string]*spent // by message id
	tasks    map[string]*task  // by call id, until the result came
}

// spent is what an API call used, and how often its lines ended: those of
// another may stand between them.
type spent struct {
	tokens events.Tokens
	ends   int
}

// response is one API call, which the transcript spreads over several lines.
type response struct {
	id, model, stop string
	step            string
	last            time.Time
	tokens          *events.Tokens
	usage           json.RawMessage
}

// task is a call that starts a sub-agent.
type task struct {
	Type        string `json:"subagent_type"`
	Description string `json:"description"`
	Prompt      string `json:"prompt"`
	Model       string `json:"model"`

	agent string // empty until it is known
}

// isSession reports whether the run is that of a session, not of a sub-agent.
func (r *run) isSession() bool { return r.ParentRun == "" }

// spend counts the usage of a message; only the latest of a message counts.
func (r *run) spend(id string, now events.Tokens) {
	m := r.spent[id]
	r.Spend(events.Tokens{
		Input: now.Input - m.tokens.Input, Output: now.Output - m.tokens.Output,
		CacheCreation: now.CacheCreation - m.tokens.CacheCreation, CacheRead: now.CacheRead - m.tokens.CacheRead,
	})
	m.tokens = now
}

func (r *run) closeResponse() {
	p := r.response
	if p == nil {
		return
	}
	r.response = nil
	m := r.spent[p.id]
	m.ends++
	r.Aggregate(p.id+"#"+strconv.Itoa(m.ends), p.step, p.last, events.ResponseCompleted, events.ResponseCompletedData{
		Message: p.id, Model: p.model, StopReason: p.stop, TokensUsed: p.tokens,
		Common: events.Common{Raw: p.usage},
	})
}
