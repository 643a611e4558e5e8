package tail

import (
	"cmp"
	"context"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/pkg/events"
)

const (
	maxRuns  = 1000
	maxCalls = 10_000
)

// memory has facts of earlier events that a line needs, such as the arguments of the call of a
// result. It reads them from the ledger for runs that it does not know, so it may forget runs.
type memory struct {
	ledger *ledger.Reader
	runs   map[string]*run
}

type run struct {
	agent, source, role string
	calls               map[string]*call
}

type call struct {
	name, detail string
	began        time.Time
	denied       bool
}

func newMemory(r *ledger.Reader) *memory { return &memory{ledger: r, runs: make(map[string]*run)} }

func (m *memory) line(ctx context.Context, entry ledger.Entry, altered error) (Line, bool, error) {
	if entry.Class != ledger.ClassEvent || entry.Run == "" || isSilent(entry.Kind) {
		return Line{}, false, nil
	}
	if m.runs[entry.Run] == nil {
		if err := m.recall(ctx, entry); err != nil {
			return Line{}, false, err
		}
	}
	l := m.add(entry, altered)
	l.Tenant = m.ledger.Tenant()
	return l, true, nil
}

// Parts of payloads, and most records of services, say nothing about what an agent does.
func isSilent(k events.Kind) bool {
	return k == events.BlobChunk || ledger.IsServiceRecord(k) && k != events.RunSealed && k != events.GapRecorded
}

func (m *memory) recall(ctx context.Context, entry ledger.Entry) error {
	if len(m.runs) >= maxRuns {
		clear(m.runs)
	}
	m.runs[entry.Run] = &run{calls: make(map[string]*call)}
	if entry.Leaf == 0 {
		return nil
	}
	for e, err := range m.ledger.Select(ctx, ledger.Selection{Run: entry.Run, Events: true, Before: entry.Leaf}) {
		if err != nil && !isAltered(err) {
			return err
		}
		m.add(e, err)
	}
	return nil
}

// m.runs must have the run of the entry.
func (m *memory) add(entry ledger.Entry, altered error) Line {
	l := Line{Leaf: entry.Leaf, ID: entry.ID, Time: entry.Time, Run: entry.Run, Kind: entry.Kind}
	e, err := entry.Event()
	if err == nil && altered == nil {
		l = lineOf(entry, e)
	} else {
		l.Altered = cmp.Or(altered, err).Error()
	}
	r := m.runs[entry.Run]
	if !ledger.IsServiceRecord(l.Kind) {
		r.agent, r.source, r.role = cmp.Or(r.agent, l.Agent), cmp.Or(r.source, l.Source), cmp.Or(r.role, l.Role)
	}
	l.Agent, l.Source, l.Role = cmp.Or(l.Agent, r.agent), cmp.Or(r.source, l.Source), cmp.Or(l.Role, r.role)
	if l.ofTool() && l.Call != "" && l.Altered == "" {
		r.call(&l, e)
	}
	return l
}

func (r *run) call(l *Line, e events.Event) {
	c := r.calls[l.Call]
	if c == nil {
		if len(r.calls) >= maxCalls {
			clear(r.calls)
		}
		c = &call{began: l.Time}
		r.calls[l.Call] = c
	}
	c.name, c.detail = cmp.Or(c.name, l.Name), cmp.Or(l.Detail, c.detail)
	c.denied = c.denied || e.DeniesCall()
	l.Name, l.Detail = cmp.Or(l.Name, c.name), cmp.Or(l.Detail, c.detail)
	if l.Kind != events.ToolResult {
		return
	}
	l.DeniedResult = c.denied && e.CallSucceeded()
	if l.DurationMS == 0 && !l.Time.IsZero() && !c.began.IsZero() {
		l.DurationMS = max(0, l.Time.Sub(c.began).Milliseconds())
	}
}
