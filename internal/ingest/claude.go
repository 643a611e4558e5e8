package ingest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"iter"
	"strconv"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// ClaudeSource is the source of the events of Claude Code transcripts, and the
// name of the agent of a session.
const ClaudeSource = "claude-code"

// Options are what an adapter needs to know about its input.
type Options struct {
	File   string // its name, for reports; names the session of a transcript that does not say
	Tenant string // whose events they are
	Only   bool   // [CloudEvents]: report events of other tenants, do not yield them
}

// ClaudeCode yields the events of one Claude Code transcript: a main file, the
// file of a sub-agent, or one in which several sessions continue each other.
//
// A session is a run. The lines of a sub-agent are a run of their own,
// "<session>/<agent>", whose parent is the session's. A run has
//
//	run.started, session.start       at its first line
//	prompt.submit                    what the user asked; begins a step named by the line's uuid
//	tool.before, tool.result         a tool call and its result, paired by toolcall
//	response.completed               one API call; the tokens of its last line
//	subagent.start, subagent.stopped from the calls of Task, as soon as the agent's id is known
//	compact.before, error            compactions; answers and retries that are API errors
//	checkpoint.created               snapshots of the file history
//	message.created                  texts, thoughts, commands and what the harness injected
//	custom                           every other line, with its data or in raw
//	step.finished                    at the next prompt or the end of the input
//	run.finished                     at the end of the input
//
// Results are kept verbatim, and the tool's own copy of its result in raw.
// Events have the time of their line, or of the line before where it has none.
// A line that repeats an earlier one byte for byte says nothing new and yields
// nothing.
func ClaudeCode(ctx context.Context, r io.Reader, opts Options) iter.Seq2[events.Event, error] {
	return func(yield func(events.Event, error) bool) {
		c := &claude{opts: opts, yield: yield, runs: map[string]*run{}, seen: map[[16]byte][16]byte{}}
		for in, err := range readLines(ctx, r, opts.File) {
			var bad *LineError
			switch {
			case errors.As(err, &bad):
				c.report(bad)
			case err != nil:
				c.report(err)
				return
			default:
				c.read(in)
			}
			if c.stopped {
				return
			}
		}
		c.release()
		c.finish()
	}
}

// claude is the state of one transcript.
type claude struct {
	opts    Options
	yield   func(events.Event, error) bool
	stopped bool // yield returned false

	runs  map[string]*run
	order []*run // by first line

	number  int       // of the present line
	session string    // of the latest line that names one
	last    time.Time // of the latest line that has one

	head     []*claudeLine // lines before the first session and time, which they take
	headSize int
	started  bool // the head is released

	seen map[[16]byte][16]byte // line names to the hash of the line
}

func (c *claude) read(in line) {
	l, bad := parseClaudeLine(c.opts.File, in)
	if bad != nil {
		c.report(bad)
	}
	if l == nil || c.stopped {
		return
	}
	l.bad = bad != nil
	if c.started {
		c.add(l)
	} else {
		c.hold(l)
	}
}

// add turns one line into events.
func (c *claude) add(l *claudeLine) {
	if l.Session == "" {
		l.Session = c.session
	}
	c.session = l.Session
	if t, ok := l.when(); ok {
		c.last = t
	} else if l.Timestamp != "" {
		c.report(&LineError{File: c.opts.File, Line: l.number, Reason: badTime, Kept: true})
	}
	l.time, c.number = c.last, l.number
	if c.repeated(l) {
		return
	}
	r := c.run(l)
	r.touch(l.time)
	if r.agent == "" && !r.hasStart && l.UUID != "" {
		c.sessionStart(r, l, len(c.order) > 1)
	}
	c.translate(r, l)
}

// translate maps the line by its type.
func (c *claude) translate(r *run, l *claudeLine) {
	switch {
	case l.bad:
		c.custom(r, l)
	case l.Type == "user":
		c.user(r, l)
	case l.Type == "assistant":
		c.assistant(r, l)
	case l.Type == "progress":
		c.progress(r, l)
	case l.Type == "system":
		c.system(r, l)
	case l.Type == "file-history-snapshot":
		c.checkpoint(r, l)
	default:
		c.custom(r, l)
	}
}

// repeated names the line, by its uuid or else by its content, and reports
// whether it was there before. A second line with the uuid of another is told
// apart by its content, so that no two contents share an id.
func (c *claude) repeated(l *claudeLine) bool {
	sum := sha256.Sum256(l.raw)
	hash := [16]byte(sum[:16])
	l.id = l.UUID
	if l.id == "" || !usable(l.id) {
		l.id = "line-" + hex.EncodeToString(hash[:])
	}
	for range 2 {
		sum := sha256.Sum256([]byte(l.Session + "\x00" + l.Agent + "\x00" + l.id))
		key := [16]byte(sum[:16])
		before, ok := c.seen[key]
		if !ok {
			c.seen[key] = hash
			return false
		}
		if before == hash {
			return true
		}
		l.id += "-" + hex.EncodeToString(hash[:])
	}
	return true
}

// run returns the run of l, which it starts with its first line.
func (c *claude) run(l *claudeLine) *run {
	id := l.Session
	if l.Agent != "" {
		id += "/" + l.Agent
	}
	r := c.runs[id]
	if r != nil {
		return r
	}
	r = &run{
		id: id, session: l.Session, agent: l.Agent, first: l.time, last: l.time,
		spent: map[string]*spent{}, calls: map[string]*call{},
	}
	c.runs[id] = r
	c.order = append(c.order, r)
	started := events.RunStartedData{Cwd: l.Cwd, Version: l.Version}
	if l.Branch != "" {
		started.Metadata = map[string]any{"git_branch": l.Branch}
	}
	c.emit(r, l, events.RunStarted, -1, "", started)
	return r
}

// finish closes everything that the end of the input closes.
func (c *claude) finish() {
	for _, r := range c.order {
		c.closeStep(r)
		c.aggregate(r, "", "", r.last, events.RunFinished, r.finished())
	}
}

// emit yields an event of l. Its id is that of its place: the line, the block
// in it (or -1) and the kind.
func (c *claude) emit(r *run, l *claudeLine, kind events.Kind, block int, toolCall string, payload any) {
	e := c.event(r, l.time, kind, payload)
	e.ID = events.DeriveID(c.opts.Tenant, ClaudeSource, r.id, l.id, strconv.Itoa(block), string(kind))
	e.Step, e.ToolCall = r.stepID(), toolCall
	c.send(e)
}

// aggregate yields an event whose content grows with the input. Its id covers
// the content.
func (c *claude) aggregate(r *run, name, step string, at time.Time, kind events.Kind, payload any) {
	e := c.event(r, at, kind, payload)
	e.ID = events.DeriveID(c.opts.Tenant, ClaudeSource, r.id, name, string(kind), at.Format(time.RFC3339Nano), string(e.Data))
	e.Step = step
	c.send(e)
}

func (c *claude) event(r *run, at time.Time, kind events.Kind, payload any) events.Event {
	e := events.Event{
		Source: ClaudeSource, Type: kind.Type(), Subject: r.id, Time: at,
		Tenant: c.opts.Tenant, Run: r.id, Session: r.session, Agent: ClaudeSource,
	}
	if r.agent != "" {
		e.Agent, e.ParentAgent, e.ParentRun = r.agent, ClaudeSource, r.session
	}
	if err := e.SetData(payload); err != nil {
		c.report(err)
	}
	return e
}

// send yields e. An event that cannot be published, such as one whose data is
// nested too deep, is reported instead.
func (c *claude) send(e events.Event) {
	if c.stopped {
		return
	}
	if err := e.Validate(); err != nil {
		bad := asLineError(c.opts.File, c.number, err)
		bad.Reason, bad.Column = string(e.Kind())+": "+bad.Reason, 0 // the place is one in e
		c.report(bad)
		return
	}
	c.stopped = !c.yield(e, nil)
}

func (c *claude) report(err error) {
	if !c.stopped {
		c.stopped = !c.yield(events.Event{}, err)
	}
}
