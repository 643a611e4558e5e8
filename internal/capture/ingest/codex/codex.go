// Package codex reads the rollout files of Codex sessions and the output of codex
// exec --json.
package codex

import (
	"context"
	"encoding/json"
	"io"
	"iter"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// Source is the CloudEvents source of the events, and the name of the agent in them.
const Source = "codex"

// Events yields the events of one rollout file, or of the output of codex exec --json,
// whose lines have no time.
//
// A session is a run, and a turn is a step. The session of a sub-agent is a run
// "<parent>/<session>". The events of a run are
//
//	run.started, session.start   at its first line, with the head of the session
//	prompt.submit                the prompt of the user
//	tool.before, tool.result     a tool call and its result, web searches included
//	response.completed           the tokens of one API call, or of a turn of exec
//	message.created              messages and thoughts
//	model.switched               a turn with another model than the one before
//	compact.before, error        compactions; failures, retries included
//	subagent.start               the start of a sub-agent, once its id is known
//	custom                       every other line
//	step.finished, run.finished  at the end of a turn, and of the input
//
// The raw member of an event contains the members of the line that the event has nowhere else.
// docs/import.md describes the status of calls and the tokens.
func Events(ctx context.Context, r io.Reader, opts ingest.Options) iter.Seq2[events.Event, error] {
	return func(yield func(events.Event, error) bool) {
		s := &session{Emitter: ingest.NewEmitter(Source, opts, yield), opts: opts}
		s.exec.session = s
		if s.Lines(ctx, r, s.read) {
			s.cutOff()
			s.Finish()
		}
	}
}

type session struct {
	*ingest.Emitter
	opts ingest.Options

	run    *ingest.Run
	last   time.Time // of the latest line with a time
	model  string
	inTurn bool // Codex will report the end of the open step
	asked  bool // the open step has its prompt

	prompted string // the latest prompt

	usage tokenCount
	calls calls
	exec  execStream
}

func (s *session) read(in ingest.Line) {
	l, ok := s.parse(in)
	if !ok {
		return
	}
	s.when(l)
	if s.run == nil && !l.begins() {
		s.begin(l, sessionMeta{})
	}
	s.translate(l)
	if s.run != nil {
		s.run.Touch(l.origin.Time)
	}
}

func (s *session) translate(l *line) {
	switch l.Type {
	case "session_meta":
		s.meta(l)
	case "thread.started", "turn.started", "turn.completed", "turn.failed", "item.started", "item.completed":
		s.exec.read(l)
	case "response_item":
		s.item(l)
	case "event_msg":
		s.event(l)
	case "turn_context":
		s.turnContext(l)
	case "compacted":
		s.run.Emit(l.origin, events.CompactBefore, "", events.CompactBeforeData{Common: raw(l.Payload)})
	case "error":
		s.failed(l, l.Message)
	default:
		s.custom(l, l.Type)
	}
}

func (s *session) when(l *line) {
	s.last = s.Time(l.Timestamp, s.last)
	if l.origin.Time = s.last; s.last.IsZero() {
		l.origin.Time = s.Now()
	}
}

type sessionMeta struct {
	ID         string          `json:"id"`
	Cwd        string          `json:"cwd"`
	Version    string          `json:"cli_version"`
	Originator string          `json:"originator"`
	Source     json.RawMessage `json:"source"`
	Git        struct {
		Branch string `json:"branch"`
	} `json:"git"`
}

func (h sessionMeta) parent() (session, role string) {
	var spawned struct {
		Subagent struct {
			Spawn struct {
				Parent   string `json:"parent_thread_id"`
				Role     string `json:"agent_role"`
				Nickname string `json:"agent_nickname"`
			} `json:"thread_spawn"`
		} `json:"subagent"`
	}
	lenient(h.Source, &spawned)
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

// meta uses only the first session_meta line, because a forked session also contains those of
// earlier sessions.
func (s *session) meta(l *line) {
	var h sessionMeta
	l.decode(&h)
	if s.run != nil {
		s.custom(l, l.Type)
		return
	}
	s.begin(l, h)
}

func (s *session) begin(l *line, h sessionMeta) {
	if h.ID == "" || !ingest.Usable(h.ID) {
		h.ID = sessionOf(s.opts.File)
	}
	id := ingest.Identity{Run: h.ID, Session: h.ID, Agent: Source}
	if parent, role := h.parent(); parent != "" {
		id = ingest.Identity{Run: parent, Session: parent, Agent: Source}.Sub(h.ID, role)
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
	s.calls = calls{session: s, ends: map[string]ending{}, spawns: map[string]spawn{}}
	s.exec.started = map[string]string{}
	resumed := s.Started(id.Run)
	s.run = s.Run(id, l.origin, started)
	if resumed {
		s.custom(l, l.Type)
		return
	}
	s.run.Emit(l.origin, events.SessionStart, "", events.SessionStartData{})
}

var rollout = regexp.MustCompile(`^rollout-.*-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$`)

func sessionOf(file string) string {
	if m := rollout.FindStringSubmatch(base(file)); m != nil {
		return m[1]
	}
	return ingest.SessionOf(file)
}

func base(file string) string {
	file = strings.TrimSuffix(file, ".gz")
	return strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
}
