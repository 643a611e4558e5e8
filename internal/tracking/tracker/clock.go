package tracker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/stream/projection"
	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/internal/tracking/store"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

const (
	clockCheck = time.Second
	// clockGrace is how long a due timer waits for earlier events. After that time, a clock.ticked
	// event is published.
	clockGrace = 2 * time.Second
	// clockQuiet is how long a tenant must be without events before its clock follows the wall
	// clock. Otherwise, the wall clock would be far ahead during an import of old events.
	clockQuiet = 5 * time.Second
)

type ticker struct {
	db     *projection.DB
	outbox outbox
	logger *slog.Logger
	caught func() bool // reports whether the whole stream is read

	mu    sync.Mutex           // guards heard. Holders take no other lock
	heard map[string]time.Time // time of the last read of a tenant's events

	sent map[string]string // id of the latest tick by tenant. Only the goroutine of run uses it
}

func newTicker(db *projection.DB, box outbox, logger *slog.Logger, caught func() bool) *ticker {
	return &ticker{db: db, outbox: box, logger: logger, caught: caught, heard: make(map[string]time.Time), sent: make(map[string]string)}
}

func (t *ticker) noteEvents(tenants map[string]bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	for tenant := range tenants {
		t.heard[tenant] = now
	}
}

func (t *ticker) run(ctx context.Context) {
	tick := time.NewTicker(clockCheck)
	defer tick.Stop()
	failed := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		err := t.tick(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil && !failed {
			t.logger.WarnContext(ctx, "clock tick failed, timers wait for the next event", "error", err)
		}
		failed = err != nil
	}
}

func (t *ticker) tick(ctx context.Context) error {
	if !t.caught() {
		return nil
	}
	now := time.Now()
	due, err := t.due(ctx, now.Add(-clockGrace), "")
	if err != nil {
		return err
	}
	for _, d := range due {
		if !t.quiet(d.Tenant, now) || t.sent[d.Tenant] == d.id {
			continue
		}
		if err := t.publish(ctx, d); err != nil {
			return err
		}
		t.sent[d.Tenant] = d.id
	}
	return nil
}

func (t *ticker) releaseHeld(ctx context.Context) (int, error) {
	due, err := t.due(ctx, time.Now().Add(-clockGrace), rules.GraceTimers)
	for _, d := range due {
		if err := t.publish(ctx, d); err != nil {
			return 0, err
		}
	}
	return len(due), err
}

func (t *ticker) publish(ctx context.Context, d dueTimer) error {
	e := events.Event{
		ID: d.id, Source: "/tracker", Type: events.ClockTicked.Type(), Time: d.At, Tenant: d.Tenant,
	}
	if err := e.SetData(events.ClockTickedData{At: d.At}); err != nil {
		return fmt.Errorf("tick: %w", err)
	}
	if _, err := t.outbox.Append(ctx, e); err != nil && !errors.Is(err, publish.ErrDuplicate) {
		return fmt.Errorf("tick: %w", err)
	}
	return nil
}

func (t *ticker) quiet(tenant string, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return now.Sub(t.heard[tenant]) >= clockQuiet
}

type dueTimer struct {
	rules.Timer
	id string // id of the clock.ticked event, a hash of the timer and the tenant's latest decision
}

func (t *ticker) due(ctx context.Context, at time.Time, prefix string) (list []dueTimer, err error) {
	err = t.db.Tx(ctx, func(conn *sqlite.Conn) error {
		err := store.Each(conn, func(stmt *sqlite.Stmt) error {
			at, id := stmt.ColumnText(1)[:len(store.Sorting)], stmt.ColumnText(1)[len(store.Sorting):]
			d := dueTimer{Timer: rules.Timer{Tenant: stmt.ColumnText(0), ID: id}}
			var err error
			d.At, err = time.Parse(store.Sorting, at)
			list = append(list, d)
			return err
		}, "SELECT tenant, max(at || id) FROM timer WHERE at <= ? AND substr(id, 1, ?) = ? GROUP BY tenant ORDER BY tenant",
			store.Sortable(at), len(prefix), prefix)
		for i, d := range list {
			if err != nil {
				return err
			}
			var last string
			err = store.Each(conn, func(stmt *sqlite.Stmt) error { last = stmt.ColumnText(0); return nil },
				"SELECT event FROM decision WHERE tenant = ? ORDER BY seq DESC LIMIT 1", d.Tenant)
			list[i].id = events.DeriveID(string(events.ClockTicked), d.Tenant, d.ID, store.Sortable(d.At), last)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("find due timers: %w", err)
	}
	return list, nil
}
