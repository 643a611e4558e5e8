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

// The pace of the clock.
const (
	clockCheck = time.Second
	// clockGrace is how much later than it is due something is done: events of the
	// time before may still be on their way.
	clockGrace = 2 * time.Second
	// clockQuiet is how long no event of a tenant has come before its clock is
	// moved: events move it themselves, and those of an import are of another time.
	clockQuiet = 5 * time.Second
)

// ticker moves the clocks of tenants whose streams are quiet: when something is
// due, by the clock of this machine, it publishes a clock.ticked of that time,
// and does what is due when that comes by, like all others who read the stream.
type ticker struct {
	db     *projection.DB
	outbox outbox
	logger *slog.Logger
	caught func() bool // all that is in the stream was read

	mu    sync.Mutex           // guards heard
	heard map[string]time.Time // when an event of a tenant was last read

	sent map[string]string // by tenant, the id of the latest tick
}

func newTicker(db *projection.DB, box outbox, logger *slog.Logger, caught func() bool) *ticker {
	return &ticker{db: db, outbox: box, logger: logger, caught: caught, heard: make(map[string]time.Time), sent: make(map[string]string)}
}

// hear notes that events of tenants came now.
func (t *ticker) hear(tenants map[string]bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	for tenant := range tenants {
		t.heard[tenant] = now
	}
}

// run ticks until ctx ends.
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
			t.logger.WarnContext(ctx, "what is due waits for the next event", "error", err)
		}
		failed = err != nil
	}
}

// tick publishes a clock.ticked for each quiet tenant that something is due for.
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

// endHolds publishes a clock.ticked for each tenant whose holds have ended, and
// returns how many those are.
func (t *ticker) endHolds(ctx context.Context) (int, error) {
	due, err := t.due(ctx, time.Now().Add(-clockGrace), rules.HoldTimers)
	for _, d := range due {
		if err := t.publish(ctx, d); err != nil {
			return 0, err
		}
	}
	return len(due), err
}

// publish says that time has come to what is due.
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

// dueTimer is the latest timer of a tenant that is due, and the id of the event
// that says so: the same until something else is decided on.
type dueTimer struct {
	rules.Timer
	id string
}

// due returns for each tenant the latest timer that is due at a time, of those whose
// ids begin with prefix.
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
		return nil, fmt.Errorf("look what is due: %w", err)
	}
	return list, nil
}
