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

const priority = 1

const maxMarkDelay = 2 * time.Second

const author = "hooktrail"

type pendingEffect struct {
	seq     int64
	tenant  string
	effect  rules.Effect
	outcome string // why the backend refused the effect, or empty
}

func (s *settler) settle(ctx context.Context) error {
	w := blocked{issues: make(map[string]bool), tenants: make(map[string]bool)}
	for after := int64(0); ; {
		pending, err := s.unsettled(ctx, after)
		if err == nil && len(pending) > 0 {
			after = pending[len(pending)-1].seq
			err = s.settlePage(ctx, pending, &w)
		}
		if err != nil || len(pending) < roundSize || ctx.Err() != nil || w.pages > maxBlockedPages {
			return errors.Join(w.err, err)
		}
	}
}

const maxBlockedPages = 20

type blocked struct {
	err     error
	issues  map[string]bool // issues with a failed effect
	tenants map[string]bool // tenants with an unavailable workspace
	pages   int             // pages in a row without a settled effect
}

func (w *blocked) blocks(p pendingEffect) bool {
	return w.tenants[p.tenant] || w.issues[p.effect.ID] || p.effect.Link != nil && w.issues[p.effect.Link.ID]
}

func (w *blocked) add(p pendingEffect, err error) {
	w.issues[p.effect.ID] = true
	if errors.Is(err, beads.ErrUnavailable) || !errors.Is(err, beads.ErrTransient) {
		w.tenants[p.tenant] = true
	}
	if w.err == nil {
		w.err = fmt.Errorf("%s issue %s: %w", p.effect.Op, p.effect.ID, err)
	}
}

func (s *settler) settlePage(ctx context.Context, pending []pendingEffect, w *blocked) error {
	var done []pendingEffect
	w.pages++
	began := time.Now()
	for _, p := range pending {
		if w.blocks(p) {
			continue
		}
		err := s.call(ctx, callTimeout, func(ctx context.Context) error { return apply(ctx, s.backend.Workspace(p.tenant), p.effect) })
		switch {
		case ctx.Err() != nil:
			return errors.Join(ctx.Err(), err)
		case err == nil:
		case errors.Is(err, beads.ErrInvalid), errors.Is(err, beads.ErrConflict):
			p.outcome = err.Error()
			s.logger.WarnContext(ctx, "backend refused an effect", "issue", p.effect.ID, "op", p.effect.Op, "error", err)
		default:
			w.add(p, err)
			continue
		}
		done = append(done, p)
		if time.Since(began) > maxMarkDelay {
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

func (s *settler) mark(ctx context.Context, done []pendingEffect) error {
	s.stage("applied")
	if err := s.call(ctx, callTimeout, s.backend.Flush); err != nil {
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
	s.noteAccepted(false)
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
	return fmt.Errorf("unknown effect %q: %w", e.Op, beads.ErrInvalid)
}

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

// beadStatus maps flapping to open, because Beads has no status for flapping issues.
func beadStatus(s rules.Status) beads.Status {
	if s == rules.Flapping {
		return beads.Open
	}
	return beads.Status(s)
}

func labels(i rules.Issue) []string { return []string{author, string(i.Kind)} }

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
