// Package claude reads the transcripts of Claude Code.
package claude

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"iter"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// Source is the CloudEvents source of the events, and the name of the agent in them.
const Source = "claude-code"

// Events yields the events of one Claude Code transcript. It can be a main file, the file of a
// sub-agent, or contain several sessions.
//
// A session is a run. The lines of a sub-agent are a run "<session>/<agent>". The
// events of a run are
//
//	run.started, session.start       at its first line
//	prompt.submit                    a prompt; begins a step with the uuid of the line
//	tool.before, tool.result         a tool call and its result, paired by the id of the call
//	response.completed               one API call; the tokens of its last line
//	subagent.start, subagent.stopped the calls of Task, once the id of the agent is known
//	compact.before, error            compactions; answers and retries that are API errors
//	checkpoint.created               snapshots of the file history
//	message.created                  texts, thoughts, commands and texts of the harness
//	custom                           every other line, with its data or in raw
//	step.finished                    at the next prompt or the end of the input
//	run.finished                     at the end of the input
//
// Claude Code writes a second copy of each result, which is in the raw member. A line without a
// time has the time of the line before. A repeated line adds no event.
func Events(ctx context.Context, r io.Reader, opts ingest.Options) iter.Seq2[events.Event, error] {
	return func(yield func(events.Event, error) bool) {
		t := &transcript{
			Emitter: ingest.NewEmitter(Source, opts, yield), opts: opts,
			runs: map[string]*run{}, seen: map[[16]byte][16]byte{},
		}
		if t.Lines(ctx, r, t.read) {
			t.release()
			t.finish()
		}
	}
}

type transcript struct {
	*ingest.Emitter
	opts ingest.Options

	runs  map[string]*run
	order []*run

	session  string    // of the latest line that names one
	last     time.Time // of the latest line with a time
	head     []*line   // lines read before the session and the time are known
	headSize int
	started  bool

	seen map[[16]byte][16]byte
}

func (t *transcript) read(in ingest.Line) {
	l, bad := parse(t.opts.File, in)
	if bad != nil {
		t.Report(bad)
	}
	if l == nil || t.Stopped() {
		return
	}
	l.bad = bad != nil
	if t.started {
		t.add(l)
	} else {
		t.enqueue(l)
	}
}

func (t *transcript) add(l *line) {
	if l.Session == "" {
		l.Session = t.session
	}
	t.session = l.Session
	t.At(l.number)
	t.last = t.Time(l.Timestamp, t.last)
	l.time = t.last
	if t.repeated(l) {
		return
	}
	r := t.run(l)
	r.Touch(l.time)
	if r.isSession() && !r.hasStart && l.UUID != "" {
		t.sessionStart(r, l, len(t.order) > 1)
	}
	t.translate(r, l)
}

func (t *transcript) translate(r *run, l *line) {
	switch {
	case l.bad:
		t.custom(r, l)
	case l.Type == "user":
		t.user(r, l)
	case l.Type == "assistant":
		t.assistant(r, l)
	case l.Type == "progress":
		t.progress(r, l)
	case l.Type == "system":
		t.system(r, l)
	case l.Type == "cost-state":
		if r.Cost = ingest.Told(l.TotalCost); l.PartialCost {
			r.Cost = nil
		}
		t.custom(r, l)
	case l.Type == "file-history-snapshot":
		t.checkpoint(r, l)
	default:
		t.custom(r, l)
	}
}

func (t *transcript) repeated(l *line) bool {
	sum := sha256.Sum256(l.raw)
	hash := [16]byte(sum[:16])
	l.id = l.UUID
	if l.id == "" || !ingest.Usable(l.id) {
		l.id = "line-" + hex.EncodeToString(hash[:])
	}
	for range 2 {
		sum := sha256.Sum256([]byte(l.Session + "\x00" + l.Agent + "\x00" + l.id))
		key := [16]byte(sum[:16])
		before, ok := t.seen[key]
		if !ok {
			t.seen[key] = hash
			return false
		}
		if before == hash {
			return true
		}
		l.id += "-" + hex.EncodeToString(hash[:])
	}
	return true
}

func (t *transcript) run(l *line) *run {
	who := ingest.Identity{Run: l.Session, Session: l.Session, Agent: Source}
	if l.Agent != "" {
		who = who.Sub(l.Agent, l.Agent)
	}
	r := t.runs[who.Run]
	if r != nil {
		return r
	}
	started := events.RunStartedData{Cwd: l.Cwd, Version: l.Version}
	if l.Branch != "" {
		started.Metadata = map[string]any{"git_branch": l.Branch}
	}
	r = &run{Run: t.Run(who, l.whole(), started), spent: map[string]*spent{}, tasks: map[string]*task{}, hooked: map[string]bool{}}
	t.runs[who.Run] = r
	t.order = append(t.order, r)
	return r
}

func (t *transcript) finish() {
	for _, r := range t.order {
		if !t.opts.Open {
			r.closeResponse()
		}
		r.Finish(nil)
	}
}
