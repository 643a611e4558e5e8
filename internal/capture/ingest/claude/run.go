package claude

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// run extends an ingest.Run. It owns the API calls and the tasks of the run.
type run struct {
	*ingest.Run
	hasStart  bool   // session.start was emitted
	startHook string // identifies the hooks of the latest start

	response *response         // the API call whose lines are being read
	spent    map[string]*spent // by message id
	tasks    map[string]*task  // by call id, until the result
}

// spent has the tokens of an API call. Lines of another call can interrupt its
// lines, so ends counts how often its lines ended.
type spent struct {
	tokens events.Tokens
	ends   int
}

// response is one API call. The transcript has several lines for it.
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

	agent string // empty while unknown
}

// isSession reports whether the run is a session and not a sub-agent.
func (r *run) isSession() bool { return r.ParentRun == "" }

// spend counts the usage of a message. Only the latest usage of a message counts.
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
