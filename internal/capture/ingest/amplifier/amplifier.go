package amplifier

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// Source is the CloudEvents source of the events, and the name of the agent in them.
const Source = "amplifier"

// Events yields the events of a log of Amplifier. A line with an unexpected shape becomes a custom
// event.
func Events(ctx context.Context, r io.Reader, opts ingest.Options) iter.Seq2[events.Event, error] {
	return func(yield func(events.Event, error) bool) {
		g := &log{Emitter: ingest.NewEmitter(Source, opts, yield), opts: opts, runs: map[string]*run{}}
		if g.Lines(ctx, r, g.read) && !opts.Open {
			for _, r := range g.order {
				r.end()
			}
		}
	}
}

// Detect reports whether an input that begins with head is a log of Amplifier.
func Detect(head []byte, _ string) bool {
	for object := range ingest.HeadObjects(head) {
		var schema struct {
			Name string `json:"name"`
		}
		if json.Unmarshal(object["schema"], &schema) == nil && strings.HasPrefix(schema.Name, "amplifier.") {
			return true
		}
	}
	return false
}

type log struct {
	*ingest.Emitter
	opts  ingest.Options
	runs  map[string]*run
	order []*run
	last  time.Time // of the latest line with a time
}

type run struct {
	*ingest.Run
	answered  bool // the open step has its answer
	turns     int
	responses int
	waiting   []waiting // calls without a result, oldest first
	ended     bool      // the session ended and may resume
	cancelled bool
}

type waiting struct{ id, tool string }

func (g *log) read(in ingest.Line) {
	l, err := parse(in)
	if err != nil {
		object := json.Valid(l.raw) && l.raw[0] == '{'
		g.NotJSON(in, err, object)
		if !object {
			return
		}
		l.Event, l.Session = "", ""
	}
	if g.last = g.Time(l.Time, g.last); g.last.IsZero() {
		g.last = g.Now()
	}
	l.time, l.id = g.last, g.LineID(l.raw)
	r := g.run(l)
	if r == nil {
		g.withoutRun(l)
		return
	}
	r.Touch(l.time)
	g.translate(r, l)
}

func (g *log) run(l *line) *run {
	if l.Session == "" {
		return g.openRun()
	}
	r := g.runs[l.Session]
	if r != nil {
		return r
	}
	who := ingest.Identity{Run: l.Session, Session: l.Session, Agent: Source}
	if l.Parent != "" && l.Parent != l.Session {
		who.ParentRun, who.ParentAgent = l.Parent, Source
		if l.Agent != "" {
			who.Agent = l.Agent
		}
	}
	started := g.Run(who, l.origin(), events.RunStartedData{Model: l.Model})
	started.PerAnswer = true
	r = &run{Run: started}
	g.runs[l.Session] = r
	g.order = append(g.order, r)
	return r
}

func (g *log) openRun() *run {
	var only *run
	for _, r := range g.order {
		if r.ended {
			continue
		}
		if only != nil {
			return nil
		}
		only = r
	}
	return only
}

func (g *log) withoutRun(l *line) {
	e := events.Event{
		ID:     events.DeriveID(g.opts.Tenant, Source, "", l.id, string(events.Custom)),
		Source: Source, Type: events.Custom.Type(), Time: l.time, Tenant: g.opts.Tenant, Agent: Source,
	}
	if err := e.SetData(events.CustomData{Name: l.name(), Common: l.common()}); err != nil {
		g.Report(err)
		return
	}
	g.Send(e)
}

func (r *run) end() {
	r.CloseStep()
	data := r.Finished()
	if r.ended && data.RunStatus == events.RunUnknown {
		data.SetStatus(events.RunCompleted)
	}
	if r.cancelled {
		data.SetStatus(events.RunInterrupted)
		data.Reason = "cancelled"
	}
	r.Finish(&data)
}

func (r *run) turn(p ingest.Origin) {
	if r.Step() == nil || r.answered {
		r.turns++
		r.Open(ingest.Origin{ID: "turn-" + strconv.Itoa(r.turns), Time: p.Time}, "")
	} else {
		r.Within(p)
	}
	r.answered = false
}

func (r *run) call(l *line) string {
	i := slices.IndexFunc(r.waiting, func(w waiting) bool {
		if l.Call != "" {
			return w.id == l.Call
		}
		return w.tool == l.Tool
	})
	if i < 0 {
		return cmp.Or(l.Call, l.id)
	}
	id := r.waiting[i].id
	r.waiting = slices.Delete(r.waiting, i, i+1)
	return id
}
