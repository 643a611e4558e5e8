package tail

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// Past returns the newest lines from before the start of the tail, at most limit of them. A
// negative limit means all lines. If since is not zero, lines without a time or with an earlier
// time are omitted. Call Past before [Tail.Next].
func (t *Tail) Past(ctx context.Context, since time.Time, limit int) (lines []Line, err error) {
	switch {
	case t.run != "":
		lines, err = t.pastOfRun(ctx)
		lines = slices.DeleteFunc(lines, func(l Line) bool { return l.Time.Before(since) || !t.filter.matches(l) })
	case !since.IsZero():
		lines, err = t.collect(ctx, ledger.Selection{From: since, Events: true, Before: t.start}, 0, limit)
	case limit < 0:
		lines, err = t.collect(ctx, ledger.Selection{Events: true, Before: t.start}, 0, limit)
	case limit > 0:
		lines, err = t.newest(ctx, limit)
	}
	if limit >= 0 && len(lines) > limit {
		lines = lines[len(lines)-limit:]
	}
	for _, l := range lines {
		t.count(l)
	}
	return lines, err
}

func (t *Tail) newest(ctx context.Context, limit int) (lines []Line, err error) {
	const first, growth = 256, 8
	for window := max(first, 4*int64(limit)); ; window *= growth {
		from := max(0, t.start-window)
		lines, err = t.collect(ctx, ledger.Selection{Events: true, Before: t.start}, from, limit)
		if err != nil || len(lines) >= limit || from == 0 {
			return lines, err
		}
	}
}

// collect may return more lines than limit. A negative limit means no limit.
func (t *Tail) collect(ctx context.Context, s ledger.Selection, from int64, limit int) (lines []Line, err error) {
	if s.Before == 0 {
		return nil, nil
	}
	t.memory = newMemory(t.ledger)
	records := t.ledger.Select(ctx, s)
	if from > 0 {
		records = t.ledger.After(ctx, from-1)
	}
	for r, err := range t.read(ctx, records) {
		if err != nil {
			return lines, err
		}
		if r.entry.Leaf >= s.Before {
			break
		}
		if !r.ok || r.line.Time.Before(s.From) || !t.filter.matches(r.line) {
			continue
		}
		if lines = append(lines, r.line); limit >= 0 && len(lines) > 2*limit+1 {
			lines = append(lines[:0], lines[len(lines)-limit:]...)
		}
	}
	return lines, nil
}

func (t *Tail) pastOfRun(ctx context.Context) (lines []Line, err error) {
	if t.start == 0 {
		return nil, nil
	}
	session, _, _ := strings.Cut(t.run, "/")
	for left := []string{t.run}; len(left) > 0; left = left[1:] {
		for r, err := range t.read(ctx, t.ledger.Select(ctx, ledger.Selection{Run: left[0], Events: true, Before: t.start})) {
			if err != nil {
				return lines, err
			}
			if !r.ok {
				continue
			}
			t.follow(r.line)
			lines = append(lines, r.line)
			left = append(left, t.subagents(session, r.line)...)
		}
	}
	slices.SortFunc(lines, func(a, b Line) int { return cmp.Compare(a.Leaf, b.Leaf) })
	return lines, nil
}

func (t *Tail) subagents(session string, l Line) (runs []string) {
	if l.Kind != events.SubagentStart || l.Name == "" {
		return nil
	}
	for _, run := range []string{session + "/" + l.Name, l.Name} {
		if !t.member[run] {
			t.member[run] = true
			runs = append(runs, run)
		}
	}
	return runs
}
