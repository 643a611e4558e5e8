package tail

import (
	"bytes"
	"cmp"
	"context"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/pkg/events"
)

const (
	maxRuns    = 1000
	maxCalls   = 10_000
	maxDenials = 100_000 // of a run; results of later denied calls have no alarm after maxCalls other calls
)

type memory struct {
	ledger *ledger.Reader
	runs   map[string]*run
}

type run struct {
	agent, source, role string
	calls               map[string]*call
	denied              map[string]bool      // denied calls, also after calls was cleared
	prompts             map[string]statement // by step
}

type call struct {
	name, detail string
	began        time.Time
	denied       bool

	before, result statement
	status         string // of the result in a line, or empty
	alarmed        bool
}

// statement has the facts of the latest line about a call, a result or a prompt.
type statement struct {
	made                  bool
	name, detail, failure string
	verdict               events.Verdict
}

func stated(l Line) statement {
	s := statement{made: true, name: l.Name, detail: l.Detail, verdict: l.Verdict}
	if l.Failure != nil {
		s.failure = l.Failure.Message
	}
	return s
}

// repeats reports whether an earlier line states the same as s, and remembers s. Other facts under
// a known id are new, so that no earlier event hides them.
func (s statement) repeats(earlier *statement) bool {
	before := *earlier
	*earlier = s
	earlier.verdict = cmp.Or(s.verdict, before.verdict)
	if adds(s.verdict, before.verdict) {
		return false
	}
	before.verdict = s.verdict
	return s == before
}

func newMemory(r *ledger.Reader) *memory { return &memory{ledger: r, runs: make(map[string]*run)} }

func (m *memory) line(ctx context.Context, entry ledger.Entry, altered error) (Line, bool, error) {
	if entry.Class != ledger.ClassEvent || entry.Run == "" && !isProblem(entry) || isSilent(entry.Kind) {
		return Line{}, false, nil
	}
	if entry.Run == "" { // nothing is known about it from other records
		m.runs[""] = newRun()
	} else if m.runs[entry.Run] == nil {
		if err := m.recall(ctx, entry); err != nil {
			return Line{}, false, err
		}
	}
	l := m.add(entry, altered)
	l.Tenant = m.ledger.Tenant()
	return l, true, nil
}

// isProblem reports whether the entry is probably about a hook call without a readable payload,
// which is in no run.
func isProblem(entry ledger.Entry) bool {
	return entry.Kind == events.Custom && bytes.Contains(entry.Bytes, []byte(events.HookProblem))
}

func newRun() *run {
	return &run{calls: make(map[string]*call), denied: make(map[string]bool), prompts: make(map[string]statement)}
}

func isSilent(k events.Kind) bool {
	return k == events.BlobChunk || ledger.IsServiceRecord(k) && k != events.RunSealed && k != events.GapRecorded
}

func (m *memory) recall(ctx context.Context, entry ledger.Entry) error {
	if len(m.runs) >= maxRuns {
		for evicted := range m.runs { // a random one, because the oldest one of many active runs comes next
			delete(m.runs, evicted)
			break
		}
	}
	m.runs[entry.Run] = newRun()
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
	if l.Altered != "" {
		return l
	}
	switch {
	case l.ofTool() && l.Call != "":
		r.call(&l, e)
		l.Repeated = l.Removed == "" && r.calls[l.Call].states(l)
	case l.Kind == events.PromptSubmit && l.Step != "" && l.Removed == "":
		l.Repeated = r.prompted(l)
	}
	return l
}

func (r *run) prompted(l Line) bool {
	earlier := r.prompts[l.Step]
	known := stated(l).repeats(&earlier)
	if len(r.prompts) >= maxCalls {
		clear(r.prompts)
	}
	r.prompts[l.Step] = earlier
	return known
}

func adds(now, before events.Verdict) bool {
	return now != "" && now != events.VerdictNone && now != before
}

func (c *call) states(l Line) (known bool) {
	if l.Kind == events.ToolBefore {
		return stated(l).repeats(&c.before)
	}
	if l.Kind == events.ToolResult {
		now, before := events.ToolStatus(l.Status), events.ToolStatus(c.status)
		same := stated(l).repeats(&c.result)
		known = same && now.Stronger(before) == before && (c.alarmed || !l.DeniedResult)
		c.alarmed, c.status = c.alarmed || l.DeniedResult, string(before.Stronger(now))
	}
	return known
}

func (r *run) call(l *Line, e events.Event) {
	c := r.calls[l.Call]
	if c == nil {
		if len(r.calls) >= maxCalls {
			clear(r.calls)
		}
		c = &call{began: l.Time, denied: r.denied[l.Call]}
		r.calls[l.Call] = c
	}
	c.name, c.detail = cmp.Or(c.name, l.Name), cmp.Or(l.Detail, c.detail)
	if e.DeniesCall() {
		c.denied = true
		if len(r.denied) < maxDenials {
			r.denied[l.Call] = true
		}
	}
	l.Name, l.Detail = cmp.Or(l.Name, c.name), cmp.Or(l.Detail, c.detail)
	if l.Kind != events.ToolResult {
		return
	}
	l.DeniedResult = c.denied && e.CallSucceeded()
	if l.DurationMS == 0 && !l.Time.IsZero() && !c.began.IsZero() {
		l.DurationMS = max(0, l.Time.Sub(c.began).Milliseconds())
	}
}
