// Package codex reads what Codex writes: the rollout files of its sessions, and
// the stream of codex exec --json.
package codex

import (
	"context"
	"io"
	"iter"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// Source is the source of the events of Codex sessions, and the name of the
// agent of a session.
const Source = "codex"

// Events yields the events of one rollout file, or of the output of codex exec
// --json.
//
// A session is a run, a turn of it a step: what a user asked, and all that
// followed. The session of a sub-agent is a run "<parent>/<session>" below that
// of its parent. A run has
//
//	run.started, session.start   at its first line, with what the session's head says
//	prompt.submit                what the user asked
//	tool.before, tool.result     a tool call and its result, web searches included
//	response.completed           one API call, or a turn of exec: the tokens that it added
//	message.created              messages and thoughts
//	model.switched               a turn with another model than the one before
//	compact.before, error        compactions; failures, retries included
//	subagent.start               of a call that spawned one, as soon as its id is known
//	custom                       every other line
//	step.finished, run.finished  at the end of a turn, and of the input
//
// What an event does not tell of its line is in raw. The status of a tool call is
// that of the exit code, where the result tells one, or of Codex's own words for
// a call that it could not make; ordinary output is never searched for errors.
// Input tokens are those that were not read from a cache.
//
// The lines of codex exec have no times: theirs are those of opts.Now.
func Events(ctx context.Context, r io.Reader, opts ingest.Options) iter.Seq2[events.Event, error] {
	return func(yield func(events.Event, error) bool) {
		s := &session{Emitter: ingest.NewEmitter(Source, opts, yield), opts: opts}
		if s.Lines(ctx, r, s.read) {
			s.Finish()
		}
	}
}

// session is the state of one input.
type session struct {
	*ingest.Emitter
	opts ingest.Options

	run    *ingest.Run
	last   time.Time // of the latest line that has one
	model  string    // of the latest turn
	inTurn bool      // the open step was told by Codex itself, and so its end will be
	asked  bool      // the open step has its prompt

	total events.Tokens         // of the session, as the latest count says
	ends  map[string]ending     // of calls whose result is still to come
	spawn map[string]spawn      // calls that start a sub-agent, until their result
	items map[string]streamItem // of codex exec: those that were started
	chain string                // of codex exec: names the latest line
}

func (s *session) read(in ingest.Line) {
	l, ok := s.parse(in)
	if !ok {
		return
	}
	s.when(l)
	if s.run == nil && !l.begins() {
		s.begin(l, head{})
	}
	s.translate(l)
	if s.run != nil {
		s.run.Touch(l.place.Time)
	}
}

// translate maps the line by its type.
func (s *session) translate(l *line) {
	switch l.Type {
	case "session_meta":
		s.meta(l)
	case "thread.started", "turn.started", "turn.completed", "turn.failed", "item.started", "item.completed":
		s.stream(l)
	case "response_item":
		s.item(l)
	case "event_msg":
		s.event(l)
	case "turn_context":
		s.turnContext(l)
	case "compacted":
		s.run.Emit(l.place, events.CompactBefore, "", events.CompactBeforeData{Common: raw(l.Payload)})
	case "error":
		s.failed(l, l.Message)
	default:
		s.custom(l, l.Type)
	}
}

// when gives l its time: its own, or that of the line before.
func (s *session) when(l *line) {
	if at, ok := ingest.Time(l.Timestamp); ok {
		s.last = at
	} else if l.Timestamp != "" {
		s.Fault(ingest.BadTime, true)
	}
	if s.last.IsZero() {
		l.place.Time = s.Now()
		return
	}
	l.place.Time = s.last
}

// head is what the first line of a rollout says of its session.
type head struct {
	ID         string    `json:"id"`
	Cwd        string    `json:"cwd"`
	Version    string    `json:"cli_version"`
	Originator string    `json:"originator"`
	Source     rawObject `json:"source"`
	Git        struct {
		Branch string `json:"branch"`
	} `json:"git"`
}

// parent returns the session that spawned this one, and as what.
func (h head) parent() (session, role string) {
	var spawned struct {
		Subagent struct {
			Spawn struct {
				Parent   string `json:"parent_thread_id"`
				Role     string `json:"agent_role"`
				Nickname string `json:"agent_nickname"`
			} `json:"thread_spawn"`
		} `json:"subagent"`
	}
	h.Source.decode(&spawned)
	by := spawned.Subagent.Spawn
	if by.Parent == "" || !ingest.Usable(by.Parent) {
		return "", ""
	}
	for _, name := range []string{by.Nickname, by.Role, h.ID} {
		if name != "" && ingest.Usable(name) {
			return by.Parent, name
		}
	}
	return by.Parent, Source
}

// meta reads the head of a session. A fork begins with the heads of those that
// it continues: the first one counts.
func (s *session) meta(l *line) {
	var h head
	l.decode(&h)
	if s.run != nil {
		s.custom(l, l.Type)
		return
	}
	s.begin(l, h)
}

// begin starts the run. Without a head the name of the file tells the session.
func (s *session) begin(l *line, h head) {
	if h.ID == "" || !ingest.Usable(h.ID) {
		h.ID = sessionOf(s.opts.File)
	}
	id := ingest.Identity{Run: h.ID, Session: h.ID, Agent: Source}
	if parent, role := h.parent(); parent != "" {
		id = ingest.Identity{Run: parent + "/" + h.ID, Session: parent, Agent: role, ParentRun: parent, ParentAgent: Source}
	}
	started := events.RunStartedData{Cwd: h.Cwd, Version: h.Version, Metadata: map[string]any{}}
	for name, value := range map[string]string{"git_branch": h.Git.Branch, "originator": h.Originator} {
		if value != "" {
			started.Metadata[name] = value
		}
	}
	if l.Type == "session_meta" {
		started.Raw = l.Payload
	}
	s.ends, s.spawn, s.items = map[string]ending{}, map[string]spawn{}, map[string]streamItem{}
	again := s.Started(id.Run)
	s.run = s.Run(id, l.place, started)
	if again {
		s.custom(l, l.Type)
		return
	}
	s.run.Emit(l.place, events.SessionStart, "", events.SessionStartData{})
}

var rollout = regexp.MustCompile(`^rollout-.*-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$`)

// sessionOf returns the session that a file is named after.
func sessionOf(file string) string {
	if m := rollout.FindStringSubmatch(base(file)); m != nil {
		return m[1]
	}
	return ingest.SessionOf(file)
}

// base returns the name of a file without its extension.
func base(file string) string {
	file = strings.TrimSuffix(file, ".gz")
	return strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
}
