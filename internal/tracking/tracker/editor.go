package tracker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/stream/projection"
	"github.com/hooktrail/hooktrail/internal/tracking/beads"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

const (
	editPoll = 5 * time.Second

	unknownAuthor = "somebody"
)

type editor struct {
	opts   Options
	db     *projection.DB
	outbox *publish.Publisher
}

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
		failed = e.logOnce(ctx, failed, err)
	}
}

func (e *editor) logOnce(ctx context.Context, before string, err error) string {
	if err == nil {
		return ""
	}
	if err.Error() != before {
		e.opts.Logger.WarnContext(ctx, "reading edits failed", "error", err)
	}
	return err.Error()
}

func (e *editor) drain(ctx context.Context) error {
	e.logOnce(ctx, "", e.poll(ctx))
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := e.outbox.Flush(ctx); err != nil {
		return err
	}
	return e.sendAll(ctx)
}

func (e *editor) poll(ctx context.Context) error {
	var tenants []string
	err := e.db.Tx(ctx, func(conn *sqlite.Conn) (err error) {
		tenants, err = texts(conn, "SELECT DISTINCT tenant FROM record WHERE kind = 'issue' ORDER BY tenant")
		return err
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
	return errors.Join(err, w.Acknowledge(limited, edits))
}

func (e *editor) publish(ctx context.Context, tenant string, edit beads.Edit) error {
	at := edit.At
	if now := time.Now(); at.IsZero() || at.After(now) {
		at = now // a time in the future would advance the time of the tenant
	}
	event := events.Event{
		ID:     events.DeriveID(string(events.IssueEdited), tenant, edit.ID),
		Source: editSource, Type: events.IssueEdited.Type(), Time: at.UTC(), Tenant: tenant,
	}
	err := setEdit(&event, events.IssueEditedData{Issue: edit.Issue, Action: string(edit.Action), By: cmp.Or(edit.By, unknownAuthor), Value: edit.Value})
	if err == nil {
		_, err = e.outbox.Append(ctx, event)
	}
	if err != nil && !errors.Is(err, publish.ErrDuplicate) {
		return fmt.Errorf("publish edit of %s: %w", edit.Issue, err)
	}
	return nil
}

func (e *editor) outboxOptions() publish.Options {
	space := e.opts.Broker.Space()
	return publish.Options{
		Dir: EditOutbox(e.opts.DataDir), Journal: publish.JournalDir(e.opts.DataDir), Name: editsName, Redactor: publish.NoRedaction, Durability: publish.DiskDurability,
		SubjectPrefix: space.Prefix, StreamPrefix: space.StreamPrefix, Heartbeat: e.opts.Heartbeat, Logger: e.opts.Logger,
		Issuer: broker.Issuer(e.opts.DataDir, e.opts.Logger),
	}
}

func (e *editor) send(ctx context.Context) {
	for pause := time.Second; ; pause = min(2*pause, time.Minute) {
		p, err := publish.OpenShared(ctx, e.opts.Broker.Conn(), e.outboxOptions())
		if ctx.Err() != nil && err != nil {
			return
		}
		if err == nil {
			<-ctx.Done()
			closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
			defer cancel()
			if err := p.Close(closing); err != nil {
				e.opts.Logger.WarnContext(ctx, "edits left in the outbox", "error", err)
			}
			return
		}
		e.opts.Logger.ErrorContext(ctx, "opening the outbox of edits failed", "error", err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

func (e *editor) sendAll(ctx context.Context) error {
	if err := publish.DrainShared(ctx, e.opts.Broker.Conn(), e.outboxOptions()); err != nil {
		return fmt.Errorf("send edits: %w", err)
	}
	return nil
}
