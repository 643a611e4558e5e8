package tracker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/beads"
	"github.com/hooktrail/hooktrail/internal/issues"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

// priority is that of all issues, as the ADR has it.
const priority = 1

// author signs what the tracker does.
const author = "hooktrail"

// pendingEffect is an effect that is not settled.
type pendingEffect struct {
	seq    int64
	tenant string
	effect issues.Effect
}

// settle applies the next effects to the backend and marks them. It returns how
// many there were. What the backend will never take is marked with its reason.
func (s *settler) settle(ctx context.Context) (int, error) {
	pending, err := s.unsettled(ctx)
	if err != nil || len(pending) == 0 {
		return 0, err
	}
	outcomes := make([]string, len(pending))
	for i, p := range pending {
		err := apply(ctx, s.backend.Workspace(p.tenant), p.effect)
		switch {
		case err == nil:
		case errors.Is(err, beads.ErrInvalid), errors.Is(err, beads.ErrConflict):
			outcomes[i] = err.Error()
			s.logger.WarnContext(ctx, "backend refused an effect", "issue", p.effect.ID, "op", p.effect.Op, "error", err)
		default:
			return 0, fmt.Errorf("%s issue %s: %w", p.effect.Op, p.effect.ID, err)
		}
	}
	s.stage("applied")
	if err := s.backend.Flush(ctx); err != nil {
		return 0, err
	}
	s.stage("flushed")
	err = s.db.Tx(ctx, func(conn *sqlite.Conn) error {
		for i, p := range pending {
			if err := run(conn, "UPDATE effect SET settled = 1, outcome = ? WHERE seq = ?", outcomes[i], p.seq); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("mark effects: %w", err)
	}
	s.stage("settled")
	return len(pending), nil
}

func (s *settler) unsettled(ctx context.Context) (pending []pendingEffect, err error) {
	err = s.db.Tx(ctx, func(conn *sqlite.Conn) error {
		return each(conn, func(stmt *sqlite.Stmt) error {
			p := pendingEffect{seq: stmt.ColumnInt64(0), tenant: stmt.ColumnText(1)}
			if err := json.Unmarshal([]byte(stmt.ColumnText(2)), &p.effect); err != nil {
				return fmt.Errorf("decode effect %d: %w", p.seq, err)
			}
			pending = append(pending, p)
			return nil
		}, "SELECT seq, tenant, record FROM effect WHERE settled = 0 ORDER BY seq LIMIT ?", roundSize)
	})
	return pending, err
}

// apply asks a workspace for an effect.
func apply(ctx context.Context, w beads.Backend, e issues.Effect) error {
	switch e.Op {
	case issues.OpCreate:
		return w.Ensure(ctx, bead(*e.Issue))
	case issues.OpTransition:
		return w.Transition(ctx, beads.Transition{
			Issue: e.ID, To: beads.Status(e.To), At: e.At, Reason: e.Reason, Reopen: e.Reopen,
		})
	case issues.OpLink:
		return w.Link(ctx, beads.Dependency{
			Issue: e.ID, DependsOn: e.Link.ID, Type: e.Link.Type, CreatedAt: e.At, CreatedBy: author,
		})
	case issues.OpNote:
		return w.Note(ctx, beads.Comment{Issue: e.ID, Author: author, Text: e.Text, CreatedAt: e.At})
	case issues.OpErase:
		return w.Erase(ctx, e.ID, e.Text)
	}
	return fmt.Errorf("effect %q is none: %w", e.Op, beads.ErrInvalid)
}

// bead returns the issue as Beads has it.
func bead(i issues.Issue) beads.Issue {
	b := beads.Issue{
		ID: i.ID, Title: i.Title, Description: i.Description, Status: beads.Status(i.Status),
		Priority: priority, Type: beads.TypeTask, CreatedAt: i.Created, CreatedBy: author, UpdatedAt: i.Updated,
		Labels: labels(i),
	}
	if i.Status == issues.Closed {
		b.ClosedAt, b.CloseReason = i.Closed, i.Reason
	}
	return b
}

// labels returns the labels of an issue, sorted.
func labels(i issues.Issue) []string { return []string{author, string(i.Kind)} }

// publish puts the next decisions into the outbox and marks them. It returns how
// many there were.
func (s *settler) publish(ctx context.Context) (int, error) {
	var pending []issues.Decision
	err := s.db.Tx(ctx, func(conn *sqlite.Conn) error {
		return record(conn, func(d issues.Decision) { pending = append(pending, d) },
			"SELECT record FROM decision WHERE published = 0 ORDER BY seq LIMIT ?", roundSize)
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
			if err := run(conn, "UPDATE decision SET published = 1 WHERE id = ?", d.ID()); err != nil {
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
