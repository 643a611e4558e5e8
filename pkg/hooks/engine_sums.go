package hooks

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// Notes is what a function tells about its work besides what it returns.
type Notes struct {
	Tokens   events.Tokens  // used since the last report
	Files    []string       // changed
	Summary  string         // of what came out; the last one counts
	Metadata map[string]any // complexity, partial_success, deferred, …; the last value of a key counts
}

// Report adds notes to what will be told at the end of the step, run and session
// that ctx belongs to: tokens and files to each, summary and metadata to the
// innermost. A sub-agent has a run of its own and adds nothing to that of its
// parent. Outside of an [Engine]'s functions it does nothing.
func Report(ctx context.Context, notes Notes) {
	f, ok := ctx.Value(frameKey{}).(frame)
	if !ok || f.sums == nil {
		return
	}
	f.sums.each(func(s *sums) {
		s.tokens = s.tokens.Plus(notes.Tokens)
		for _, file := range notes.Files {
			s.files[file] = true
		}
	})
	f.sums.mu.Lock()
	defer f.sums.mu.Unlock()
	if notes.Summary != "" {
		f.sums.summary = notes.Summary
	}
	maps.Copy(f.sums.metadata, notes.Metadata)
}

// progress is how far a run is.
type progress struct {
	session    *sums // of the session that it is part of; nil for none
	dispatches atomic.Uint64
	steps      atomic.Int64

	mu       sync.Mutex // guards reported
	reported error      // the latest that the hooks of Error have seen
}

// sums is what has come together in a step, a run or a session.
type sums struct {
	parent *sums // gets what comes here too; nil for none

	mu       sync.Mutex // guards what follows
	tokens   events.Tokens
	calls    int // of tools
	failed   int // tool calls that ended in an error
	open     int // tool calls that have not ended
	files    map[string]bool
	summary  string
	metadata map[string]any
}

func newSums(parent *sums, metadata map[string]any) *sums {
	s := &sums{parent: parent, files: map[string]bool{}, metadata: map[string]any{}}
	maps.Copy(s.metadata, metadata)
	return s
}

// each changes s and what it is part of.
func (s *sums) each(change func(*sums)) {
	for ; s != nil; s = s.parent {
		s.mu.Lock()
		change(s)
		s.mu.Unlock()
	}
}

// totals is a copy of what has come together so far.
type totals struct {
	tokens              *events.Tokens // nil for none
	calls, failed, open int
	files               []string
	summary             string
	metadata            map[string]any // nil for none
}

func (s *sums) totals() totals {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := totals{
		calls: s.calls, failed: s.failed, open: s.open,
		files: slices.Sorted(maps.Keys(s.files)), summary: s.summary,
	}
	if s.tokens != (events.Tokens{}) {
		used := s.tokens
		t.tokens = &used
	}
	if len(s.metadata) > 0 {
		t.metadata = maps.Clone(s.metadata)
	}
	return t
}
