package tracker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/stream/projection"
	"github.com/hooktrail/hooktrail/internal/tracking/beads"
	"github.com/hooktrail/hooktrail/internal/tracking/store"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

// The pace of looking for what people did.
const (
	editPoll = 5 * time.Second
	sendPoll = 100 * time.Millisecond // how often a drain looks whether another process has sent what waits
	sendOpen = time.Second            // how long it tries to do so itself
)

// somebody did what a workspace does not say who did.
const somebody = "somebody"

// editor brings what people did to issues into the stream: what commands put on
// record, and what they changed in the workspaces.
type editor struct {
	opts    Options
	db      *projection.DB
	settler *settler
	outbox  *publish.Publisher
	logger  *slog.Logger
}

func newEditor(opts Options, db *projection.DB, s *settler, box *publish.Publisher) *editor {
	return &editor{opts: opts, db: db, settler: s, outbox: box, logger: opts.Logger}
}

// run does so until ctx ends.
func (e *editor) run(ctx context.Context) {
	var wg sync.WaitGroup
	wg.Go(func() { e.send(ctx) })
	defer wg.Wait()
	tick := time.NewTicker(editPoll)
	defer tick.Stop()
	failed := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		err := e.poll(ctx)
		if ctx.Err() != nil {
			return
		}
		failed = e.note(ctx, failed, err)
	}
}

// note logs why edits cannot be read, once.
func (e *editor) note(ctx context.Context, before string, err error) string {
	if err == nil {
		return ""
	}
	if err.Error() != before {
		e.logger.WarnContext(ctx, "what people changed cannot be read", "error", err)
	}
	return err.Error()
}

// drain brings what is there now into the stream. What a workspace does not tell
// for now is left to a later time.
func (e *editor) drain(ctx context.Context) error {
	e.note(ctx, "", e.poll(ctx))
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := e.outbox.Flush(ctx); err != nil {
		return err
	}
	return e.sendAll(ctx)
}

// poll publishes what people changed in the workspaces since the last time.
func (e *editor) poll(ctx context.Context) error {
	var tenants []string
	err := e.db.Tx(ctx, func(conn *sqlite.Conn) error {
		return store.Each(conn, func(stmt *sqlite.Stmt) error {
			tenants = append(tenants, stmt.ColumnText(0))
			return nil
		}, "SELECT DISTINCT tenant FROM record WHERE kind = 'issue' ORDER BY tenant")
	})
	for _, tenant := range tenants {
		if ctx.Err() != nil {
			break
		}
		err = errors.Join(err, e.pollTenant(ctx, tenant))
	}
	return err
}

func (e *editor) pollTenant(ctx context.Context, tenant string) error {
	w := e.opts.backend.Workspace(tenant)
	var edits []beads.Edit
	limited, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	edits, err := w.Edits(limited)
	if len(edits) == 0 {
		return err
	}
	for _, edit := range edits {
		if err := e.publish(ctx, tenant, edit); err != nil {
			return err
		}
	}
	return errors.Join(err, w.Taken(limited, edits))
}

// publish puts an edit into the outbox, once.
func (e *editor) publish(ctx context.Context, tenant string, edit beads.Edit) error {
	at, by := edit.At, edit.By
	if now := time.Now(); at.IsZero() || at.After(now) {
		at = now // nobody has changed anything in the future; the clocks of tenants would believe it
	}
	if by == "" {
		by = somebody
	}
	event := events.Event{
		ID:     events.DeriveID(string(events.IssueEdited), tenant, edit.ID),
		Source: editSource, Type: events.IssueEdited.Type(), Time: at.UTC(), Tenant: tenant,
	}
	err := setEdit(&event, events.IssueEditedData{Issue: edit.Issue, Action: string(edit.Action), By: by, Value: edit.Value})
	if err == nil {
		_, err = e.outbox.Append(ctx, event)
	}
	if err != nil && !errors.Is(err, publish.ErrDuplicate) {
		return fmt.Errorf("publish edit of %s: %w", edit.Issue, err)
	}
	return nil
}

// open opens the outbox of edits, when no other process has it.
func (e *editor) open(ctx context.Context) (*publish.Publisher, error) {
	space := e.opts.Broker.Space()
	return publish.OpenShared(ctx, e.opts.Broker.Conn(), publish.Options{
		Dir: EditOutbox(e.opts.DataDir), Name: editsName, Redactor: publish.NoRedaction, Durability: publish.DiskDurability,
		SubjectPrefix: space.Prefix, StreamPrefix: space.StreamPrefix, Logger: e.logger,
	})
}

// send sends what is put on record until ctx ends.
func (e *editor) send(ctx context.Context) {
	for pause := time.Second; ; pause = min(2*pause, time.Minute) {
		p, err := e.open(ctx)
		if ctx.Err() != nil && err != nil {
			return
		}
		if err == nil {
			<-ctx.Done()
			closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
			defer cancel()
			if err := p.Close(closing); err != nil {
				// The next start sends it.
				e.logger.WarnContext(ctx, "edits wait in the outbox", "error", err)
			}
			return
		}
		e.logger.ErrorContext(ctx, "edits are not sent", "error", err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// sendAll sends what waits now, or waits for the process that does.
func (e *editor) sendAll(ctx context.Context) error {
	for {
		state, err := publish.Inspect(EditOutbox(e.opts.DataDir))
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("send edits: %w", err)
		}
		if state.Waiting == 0 && len(state.Gaps) == 0 && state.Damaged == 0 {
			return nil
		}
		if !state.Held {
			if done, err := e.flush(ctx); done || err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("send edits: %d wait for process %d: %w", state.Waiting, state.Holder, ctx.Err())
		case <-time.After(sendPoll):
		}
	}
}

// flush sends what waits, unless another process is faster.
func (e *editor) flush(ctx context.Context) (done bool, err error) {
	opening, cancel := context.WithTimeout(ctx, sendOpen)
	defer cancel()
	p, err := e.open(opening)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return false, nil
	}
	if err == nil {
		err = errors.Join(p.Flush(ctx), p.Close(ctx))
	}
	if err != nil {
		return false, fmt.Errorf("send edits: %w", err)
	}
	return true, nil
}
