package tracker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/tracking/beads"
	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/internal/tracking/store"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

// priority is that of all issues, as the ADR has it.
const priority = 1

// settleMost is how long effects are applied before they are marked.
const settleMost = 2 * time.Second

// author signs what the tracker does.
const author = "hooktrail"

// pendingEffect is an effect that is not settled.
type pendingEffect struct {
	seq     int64
	tenant  string
	effect  rules.Effect
	outcome string // why the backend will not have it
}

// settle applies the effects that are not settled to the backend, in order, and
// marks them. What the backend will never take is marked with its reason. What it
// fails to take stays, and so does what comes after it on the same issue; the
// others go on. The error is the first of a failure.
func (s *settler) settle(ctx context.Context) error {
	w := waiting{issues: make(map[string]bool), tenants: make(map[string]bool)}
	for after := int64(0); ; {
		pending, err := s.unsettled(ctx, after)
		if err == nil && len(pending) > 0 {
			after = pending[len(pending)-1].seq
			err = s.settlePage(ctx, pending, &w)
		}
		if err != nil || len(pending) < roundSize || ctx.Err() != nil || w.pages > maxWaiting {
			return errors.Join(w.err, err)
		}
	}
}

// maxWaiting is how many pages of nothing but effects that wait a round looks
// through: what is behind them waits too.
const maxWaiting = 20

// waiting is what a round leaves to the next one.
type waiting struct {
	err     error
	issues  map[string]bool // an effect on them failed
	tenants map[string]bool // their workspace takes nothing
	pages   int             // in a row of which nothing was settled
}

// has reports whether p has to wait.
func (w *waiting) has(p pendingEffect) bool {
	return w.tenants[p.tenant] || w.issues[p.effect.ID] || p.effect.Link != nil && w.issues[p.effect.Link.ID]
}

// fail takes in that an effect failed.
func (w *waiting) fail(p pendingEffect, err error) {
	w.issues[p.effect.ID] = true
	if errors.Is(err, beads.ErrUnavailable) || !errors.Is(err, beads.ErrTransient) {
		w.tenants[p.tenant] = true
	}
	if w.err == nil {
		w.err = fmt.Errorf("%s issue %s: %w", p.effect.Op, p.effect.ID, err)
	}
}

// settlePage applies effects and marks them. It marks some before the others
// where the backend is slow.
func (s *settler) settlePage(ctx context.Context, pending []pendingEffect, w *waiting) error {
	var done []pendingEffect
	w.pages++
	began := time.Now()
	for _, p := range pending {
		if w.has(p) {
			continue
		}
		err := s.call(ctx, func(ctx context.Context) error { return apply(ctx, s.backend.Workspace(p.tenant), p.effect) })
		switch {
		case ctx.Err() != nil:
			return errors.Join(ctx.Err(), err)
		case err == nil:
		case errors.Is(err, beads.ErrInvalid), errors.Is(err, beads.ErrConflict):
			p.outcome = err.Error()
			s.logger.WarnContext(ctx, "backend refused an effect", "issue", p.effect.ID, "op", p.effect.Op, "error", err)
		default:
			w.fail(p, err)
			continue
		}
		done = append(done, p)
		if time.Since(began) > settleMost {
			if err := s.mark(ctx, done); err != nil {
				return err
			}
			began, done, w.pages = time.Now(), nil, 0
		}
	}
	if len(done) == 0 {
		return nil
	}
	w.pages = 0
	return s.mark(ctx, done)
}

// mark marks effects that were applied as settled, once they are durable.
func (s *settler) mark(ctx context.Context, done []pendingEffect) error {
	s.stage("applied")
	if err := s.call(ctx, s.backend.Flush); err != nil {
		return err
	}
	s.stage("flushed")
	err := s.db.Tx(ctx, func(conn *sqlite.Conn) error {
		for _, p := range done {
			if err := store.Run(conn, "UPDATE effect SET settled = 1, outcome = ? WHERE seq = ?", p.outcome, p.seq); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("mark effects: %w", err)
	}
	for _, p := range done {
		if p.effect.Op == rules.OpErase {
			s.scrub.Store(true)
		}
	}
	s.moved(false)
	s.stage("settled")
	return nil
}

func (s *settler) unsettled(ctx context.Context, after int64) (pending []pendingEffect, err error) {
	err = s.db.Tx(ctx, func(conn *sqlite.Conn) error {
		return store.Each(conn, func(stmt *sqlite.Stmt) error {
			p := pendingEffect{seq: stmt.ColumnInt64(0), tenant: stmt.ColumnText(1)}
			if err := json.Unmarshal([]byte(stmt.ColumnText(2)), &p.effect); err != nil {
				return fmt.Errorf("decode effect %d: %w", p.seq, err)
			}
			pending = append(pending, p)
			return nil
		}, "SELECT seq, tenant, record FROM effect WHERE settled = 0 AND seq > ? ORDER BY seq LIMIT ?", after, roundSize)
	})
	return pending, err
}

// apply asks a workspace for an effect.
func apply(ctx context.Context, w beads.Backend, e rules.Effect) error {
	switch e.Op {
	case rules.OpCreate:
		return w.Ensure(ctx, bead(*e.Issue))
	case rules.OpTransition:
		return w.Transition(ctx, beads.Transition{
			Issue: e.ID, To: beadStatus(e.To), At: e.At, Reason: e.Reason, Reopen: e.Reopen,
		})
	case rules.OpLink:
		return w.Link(ctx, beads.Dependency{
			Issue: e.ID, DependsOn: e.Link.ID, Type: e.Link.Type, CreatedAt: e.At, CreatedBy: author,
		})
	case rules.OpNote:
		return w.Note(ctx, beads.Comment{Issue: e.ID, Author: author, Text: e.Text, CreatedAt: e.At})
	case rules.OpLabel:
		return w.Label(ctx, e.ID, e.Label, e.At)
	case rules.OpDescribe:
		return w.Describe(ctx, e.ID, e.Text, e.At)
	case rules.OpErase:
		return w.Erase(ctx, e.ID, e.Text)
	}
	return fmt.Errorf("effect %q is none: %w", e.Op, beads.ErrInvalid)
}

// bead returns the issue as Beads has it.
func bead(i rules.Issue) beads.Issue {
	b := beads.Issue{
		ID: i.ID, Title: i.Title, Description: i.Description, Status: beadStatus(i.Status),
		Priority: priority, Type: beads.TypeTask, CreatedAt: i.Created, CreatedBy: author, UpdatedAt: i.Updated,
		Labels: labels(i),
	}
	if i.Status == rules.Closed {
		b.ClosedAt, b.CloseReason = i.Closed, i.Reason
	}
	return b
}

// beadStatus returns the status as Beads has it: what is flapping is open there,
// and labelled.
func beadStatus(s rules.Status) beads.Status {
	if s == rules.Flapping {
		return beads.Open
	}
	return beads.Status(s)
}

// labels returns the labels of an issue, sorted.
func labels(i rules.Issue) []string { return []string{author, string(i.Kind)} }

// publish puts the next decisions into the outbox and marks them. It returns how
// many there were.
func (s *settler) publish(ctx context.Context) (int, error) {
	var pending []rules.Decision
	err := s.db.Tx(ctx, func(conn *sqlite.Conn) error {
		return store.Records(conn, func(d rules.Decision) error { pending = append(pending, d); return nil },
			"SELECT record FROM decision WHERE published = 0 AND record IS NOT NULL ORDER BY seq LIMIT ?", roundSize)
	})
	if err != nil || len(pending) == 0 {
		return 0, err
	}
	for _, d := range pending {
		e := events.Event{
			ID: d.ID(), Source: "/tracker", Type: events.IssueDecided.Type(), Subject: d.Run,
			Time: d.Time, Tenant: d.Tenant, Run: d.Run,
		}
		if err := e.SetData(d.Data()); err != nil {
			return 0, fmt.Errorf("decision on %s: %w", d.Event, err)
		}
		if _, err := s.outbox.Append(ctx, e); err != nil && !errors.Is(err, publish.ErrDuplicate) {
			return 0, err
		}
	}
	s.stage("published")
	err = s.db.Tx(ctx, func(conn *sqlite.Conn) error {
		for _, d := range pending {
			if err := store.Run(conn, "UPDATE decision SET published = 1 WHERE id = ?", d.ID()); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("mark decisions: %w", err)
	}
	s.stage("marked")
	return len(pending), nil
}
