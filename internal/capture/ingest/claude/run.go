package claude

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

type run struct {
	*ingest.Run
	hasStart  bool
	startHook string // identifies the hooks of the latest start

	response *response // the API call whose lines are being read
	spent    map[string]*spent
	tasks    map[string]*task // by call id, until the result
	hooked   map[string]bool  // calls before which hooks ran, until the result
}

type spent struct {
	tokens events.Tokens
	ends   int
}

type response struct {
	id, model, stop string
	step            string
	last            time.Time
	tokens          *events.Tokens
	usage           json.RawMessage
}

type task struct {
	Type        string `json:"subagent_type"`
	Description string `json:"description"`
	Prompt      string `json:"prompt"`
	Model       string `json:"model"`

	agent string
}

func (r *run) isSession() bool { return r.ParentRun == "" }

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
