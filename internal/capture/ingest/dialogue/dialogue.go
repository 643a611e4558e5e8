package dialogue

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

type role int

const (
	other role = iota // becomes a custom event
	user
	assistant
	compaction
	silent // only describes the session
)

type entry struct {
	role role
	name string // of a custom event
	raw  json.RawMessage

	id    string // unique in its run; empty for a hash of raw
	when  string
	epoch time.Time // instead of when

	session string // empty for the session of the entry before
	agent   string // id of the sub-agent that wrote the entry
	about   about

	parts    []part
	injected bool // written by the agent, so it is no prompt

	model, stop string
	tokens      *events.Tokens
	cost        float64 // in US dollars; 0 if unknown
	usage       json.RawMessage
	failure     *events.Failure
	interrupted bool
}

type about struct {
	Cwd, Version, Branch, Title string
	parent                      string // id of the session that started this one
}

type partKind int

const (
	text partKind = iota
	thought
	call
	result
	content // of another type, such as an image
)

type part struct {
	kind partKind
	text string
	raw  json.RawMessage

	id, tool string // of a call or a result
	args     json.RawMessage
	outcome  events.ToolResultData
	at       time.Time // of the result, if not the time of the entry
}

type dialogue struct {
	*ingest.Emitter
	opts   ingest.Options
	source string

	session string
	last    time.Time
	runs    map[string]*run
	seen    map[string]int
}

type run struct {
	*ingest.Run
	model string
}

func newDialogue(source string, opts ingest.Options, yield func(events.Event, error) bool) *dialogue {
	return &dialogue{
		Emitter: ingest.NewEmitter(source, opts, yield), opts: opts, source: source,
		runs: map[string]*run{}, seen: map[string]int{},
	}
}

func (d *dialogue) take(e entry) {
	if !ingest.Usable(e.session) || !ingest.Usable(e.agent) || !ingest.Usable(e.about.parent) {
		d.Fault("the id of the session or the agent cannot be used as an id", false)
		return
	}
	d.session = cmp.Or(e.session, d.session, ingest.SessionOf(d.opts.File))
	at := d.when(e)
	if e.role == silent && d.runs[d.session] != nil {
		e.role = other
	}
	p := ingest.Origin{Block: -1, Time: at}
	p.ID = d.name(e)
	r := d.run(e, p)
	r.Touch(p.Time)
	switch e.role {
	case user:
		d.user(r, p, e)
	case assistant:
		d.answer(r, p, e)
	case compaction:
		r.Emit(p, events.CompactBefore, "", events.CompactBeforeData{Common: events.Common{Raw: e.raw}})
	case other:
		r.Emit(p, events.Custom, "", events.CustomData{Name: cmp.Or(e.name, "untyped"), Common: events.Common{Raw: e.raw}})
	case silent:
	}
}

func (d *dialogue) when(e entry) time.Time {
	if e.epoch.IsZero() {
		d.last = d.Time(e.when, d.last)
	} else {
		d.last = e.epoch
	}
	if d.last.IsZero() {
		return d.Now()
	}
	return d.last
}

func (d *dialogue) name(e entry) string {
	if e.id == "" || !ingest.Usable(e.id) {
		return d.LineID(e.raw)
	}
	key := d.session + "\x00" + e.agent + "\x00" + e.id
	d.seen[key]++
	if n := d.seen[key]; n > 1 {
		return e.id + "#" + strconv.Itoa(n)
	}
	return e.id
}

func (d *dialogue) run(e entry, p ingest.Origin) *run {
	who := ingest.Identity{Run: d.session, Session: d.session, Agent: d.source}
	switch {
	case e.agent != "":
		who = who.Sub(e.agent, e.agent)
	case e.about.parent != "":
		who.ParentRun, who.ParentAgent = e.about.parent, d.source
	}
	if r := d.runs[who.Run]; r != nil {
		return r
	}
	started := events.RunStartedData{Title: e.about.Title, Model: e.model, Cwd: e.about.Cwd, Version: e.about.Version}
	if e.about.Branch != "" {
		started.Metadata = map[string]any{"git_branch": e.about.Branch}
	}
	if e.role == silent {
		started.Raw = e.raw
	}
	r := &run{Run: d.Run(who, p, started)}
	d.runs[who.Run] = r
	if who.ParentRun == "" {
		r.Emit(p, events.SessionStart, "", events.SessionStartData{})
	}
	return r
}

func at(p ingest.Origin, block int) ingest.Origin {
	p.Block = block
	return p
}

func (d *dialogue) user(r *run, p ingest.Origin, e entry) {
	var said []string
	for i, part := range e.parts {
		switch part.kind {
		case result:
			d.result(r, at(p, i), part)
		case text:
			said = append(said, part.text)
		case thought, call, content:
		}
	}
	prompt := strings.Join(said, "\n")
	if strings.TrimSpace(prompt) == "" || e.injected {
		d.messages(r, p, e, "user")
		return
	}
	data := events.PromptSubmitData{Prompt: prompt}
	if len(said) < len(e.parts) {
		data.Raw = e.raw
	}
	r.Prompt(p, data)
}

func (d *dialogue) messages(r *run, p ingest.Origin, e entry, role string) {
	for i, part := range e.parts {
		if part.kind != result && part.raw != nil {
			d.message(r, at(p, i), p.ID, role, part.raw)
		}
	}
}

func (d *dialogue) message(r *run, p ingest.Origin, id, role string, content json.RawMessage) {
	r.Emit(p, events.MessageCreated, "", events.MessageData{Message: id, Role: role, Content: content})
}

func (d *dialogue) answer(r *run, p ingest.Origin, e entry) {
	step := r.Within(p)
	d.switched(r, p, e.model)
	step.Failure = e.failure // if it is nil, the model recovered from earlier errors
	for i, part := range e.parts {
		switch part.kind {
		case call:
			d.call(r, at(p, i), part)
			continue
		case result:
			d.result(r, at(p, i), part)
			continue
		case text:
			step.Answer(part.text)
		case thought, content:
		}
		if part.raw != nil {
			d.message(r, at(p, i), p.ID, "assistant", part.raw)
		}
	}
	if e.tokens != nil || e.cost > 0 {
		d.spend(r, p, e)
	}
	if e.failure != nil {
		r.Emit(p, events.Error, "", events.ErrorData{Error: *e.failure, ErrorType: "api_error", Model: e.model})
	}
	if e.interrupted {
		step.Status = events.StepInterrupted
	}
}

func (d *dialogue) switched(r *run, p ingest.Origin, model string) {
	if model == "" || model == r.model {
		return
	}
	if r.model != "" {
		r.Emit(p, events.ModelSwitched, "", events.ModelSwitchedData{From: r.model, To: model})
	}
	r.model = model
}

func (d *dialogue) spend(r *run, p ingest.Origin, e entry) {
	if e.tokens != nil {
		r.Spend(*e.tokens)
	}
	r.Aggregate(p.ID, r.StepID(), p.Time, events.ResponseCompleted, events.ResponseCompletedData{
		Message: p.ID, Model: e.model, StopReason: e.stop, TokensUsed: e.tokens, Cost: ingest.Told(e.cost), Common: events.Common{Raw: e.usage},
	})
}

func callID(p ingest.Origin, id string) string {
	if id == "" || !ingest.Usable(id) {
		return p.ID + "/" + strconv.Itoa(p.Block)
	}
	return id
}

func (d *dialogue) call(r *run, p ingest.Origin, c part) {
	id := callID(p, c.id)
	if !r.Call(p, id, events.ToolBeforeData{Tool: cmp.Or(c.tool, "unknown"), Args: c.args}) {
		r.Emit(p, events.Custom, id, events.CustomData{Name: "call.repeated", Common: events.Common{Raw: c.raw}})
		return
	}
	if c.outcome.Status != "" {
		d.result(r, p, c)
	}
}

func (d *dialogue) result(r *run, p ingest.Origin, c part) {
	id := callID(p, c.id)
	if c.at.After(p.Time) {
		p.Time = c.at
		r.Touch(c.at)
	}
	data := c.outcome
	if !r.Called(id) {
		data.Tool = c.tool
	}
	if !r.Result(p, id, data) {
		r.Emit(p, events.Custom, id, events.CustomData{Name: "result.repeated", Common: events.Common{Raw: c.raw}})
	}
}
