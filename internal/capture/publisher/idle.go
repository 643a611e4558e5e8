package publisher

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

const (
	// idleAfter is how long a run can be without events before it is ended. An auditor waits longer
	// until it reports a missing end.
	idleAfter  = 10 * time.Minute
	idleChecks = time.Minute
	// maxIdle limits the open runs of one tenant, and maxIdleAll limits the open runs of all
	// tenants.
	maxIdle    = 4096
	maxIdleAll = 8 * maxIdle
	// saveEvery limits how old the saved time of the last event of an open run can be.
	saveEvery = time.Minute
	maxOthers = 50_000
)

// IdleRuns ends runs that have sent no events for some time. It is for sources such as logs, which
// do not report the end of a run. It is safe for concurrent use.
type IdleRuns struct {
	to     Appender
	dir    string // has a file for each open run, so that the next process can end it
	logger *slog.Logger

	mu   sync.Mutex
	open map[runKey]*idleRun
	held map[string]int // open runs of each tenant
	// others contains recent runs from sources that report the ends of runs. When the map is full,
	// it becomes older.
	others, older map[runKey]bool
}

type runKey struct{ tenant, run string }

type idleRun struct {
	ID      string    `json:"id"`
	Tenant  string    `json:"tenant"`
	Run     string    `json:"run"`
	Source  string    `json:"source"`
	Session string    `json:"session,omitempty"`
	Agent   string    `json:"agent,omitempty"`
	User    string    `json:"user,omitempty"`
	Time    time.Time `json:"time"`

	heard, saved time.Time
}

// NewIdleRuns returns IdleRuns that append a run.finished event for each run that they end.
func NewIdleRuns(to Appender, opts Options) *IdleRuns {
	opts = opts.withDefaults()
	return &IdleRuns{
		to: to, dir: filepath.Join(opts.DataDir, "open-runs"), logger: opts.Logger,
		open: map[runKey]*idleRun{}, held: map[string]int{}, others: map[runKey]bool{},
	}
}

// Ended returns an Appender for sources such as logs, which do not report the ends of runs.
// IdleRuns ends these runs.
func (r *IdleRuns) Ended(to Appender) Appender { return heard{to, r.hear} }

// Others returns an Appender for sources such as hooks, which report the ends of runs. IdleRuns
// does not end these runs.
func (r *IdleRuns) Others(to Appender) Appender { return heard{to, r.leave} }

type heard struct {
	to   Appender
	hear func(context.Context, events.Event)
}

// Append implements [Appender]. It also calls hear for an event that is stored already, because an
// earlier process may have stored it without calling hear.
func (h heard) Append(ctx context.Context, e events.Event) (events.Event, error) {
	stored, err := h.to.Append(ctx, e)
	if err == nil || errors.Is(err, publish.ErrDuplicate) {
		h.hear(ctx, e)
	}
	return stored, err
}

func (r *IdleRuns) hear(ctx context.Context, e events.Event) {
	if e.Run == "" || e.Kind() == events.Custom { // a custom event needs no seal
		return
	}
	k := runKey{orDefault(e.Tenant), e.Run}
	now := idleRun{ID: e.ID, Tenant: k.tenant, Run: k.run, Source: e.Source, Session: e.Session, Agent: e.Agent, User: e.User, Time: e.Time, heard: time.Now()}
	r.mu.Lock()
	defer r.mu.Unlock()
	was := r.open[k]
	switch {
	case e.Kind() == events.RunFinished:
		r.forget(k)
		return
	case r.others[k] || r.older[k]:
		return
	case was == nil:
		r.makeRoom(ctx, k.tenant)
		r.held[k.tenant]++
	case was.Time.After(now.Time):
		now.ID, now.Time = was.ID, was.Time
		fallthrough
	default:
		now.saved = was.saved
	}
	if now.heard.Sub(now.saved) >= saveEvery {
		now.saved = now.heard
		r.save(ctx, now)
	}
	r.open[k] = &now
}

func (r *IdleRuns) leave(_ context.Context, e events.Event) {
	if e.Run == "" || e.Kind() == events.Custom {
		return
	}
	k := runKey{orDefault(e.Tenant), e.Run}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forget(k)
	if r.others[k] = true; len(r.others) >= maxOthers {
		r.others, r.older = map[runKey]bool{}, r.others
	}
}

// makeRoom ends an open run of the tenant if the tenant has too many. If all tenants together have
// too many, it ends a run of the tenant with the most, so that a flood does not end runs of others.
// It selects the run that has been silent longest.
func (r *IdleRuns) makeRoom(ctx context.Context, tenant string) {
	switch {
	case r.held[tenant] >= maxIdle:
	case len(r.open) >= maxIdleAll:
		tenant = slices.MaxFunc(slices.Sorted(maps.Keys(r.held)), func(a, b string) int { return cmp.Compare(r.held[a], r.held[b]) })
	default:
		return
	}
	var oldest *idleRun
	for _, o := range r.open {
		if o.Tenant == tenant && (oldest == nil || o.heard.Before(oldest.heard)) {
			oldest = o
		}
	}
	r.end(ctx, *oldest, events.ReasonIdle)
}

// Start ends the runs that an earlier process left open. It then ends idle runs in the background
// until stop is called. stop also ends all runs that are still open.
//
// Call stop after the last event and before the outbox is closed.
func (r *IdleRuns) Start(ctx context.Context) (stop func()) {
	r.load(ctx)
	r.endAll(ctx, r.silentSince(time.Now()), events.ReasonEndOfLog)
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(idleChecks)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case now := <-tick.C:
				r.endAll(ctx, r.silentSince(now.Add(-idleAfter)), events.ReasonIdle)
			}
		}
	})
	return func() {
		cancel()
		wg.Wait()
		r.endAll(context.WithoutCancel(ctx), r.silentSince(time.Now()), events.ReasonEndOfLog)
	}
}

func (r *IdleRuns) silentSince(t time.Time) (list []idleRun) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, o := range r.open {
		if !o.heard.After(t) {
			list = append(list, *o)
		}
	}
	slices.SortFunc(list, func(a, b idleRun) int {
		return cmp.Or(a.heard.Compare(b.heard), cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Run, b.Run))
	})
	return list
}

func (r *IdleRuns) endAll(ctx context.Context, list []idleRun, reason string) {
	ctx, cancel := context.WithTimeout(ctx, replyTimeout)
	defer cancel()
	for _, o := range list {
		r.mu.Lock()
		if now := r.open[o.key()]; now == nil || !now.heard.After(o.heard) {
			r.end(ctx, o, reason)
		}
		r.mu.Unlock()
	}
}

// end must be called with r.mu locked, so that no event of the run arrives before the end is
// recorded.
func (r *IdleRuns) end(ctx context.Context, o idleRun, reason string) {
	data := events.RunFinishedData{Reason: reason}
	data.SetStatus(events.RunUnknown)
	e, err := events.New(events.RunFinished, o.Source, data)
	if err == nil {
		e.ID, e.Time = events.DeriveID(o.Tenant, "idle-run", o.Run, o.ID, reason), o.Time
		e.Tenant, e.Run, e.Subject, e.Session, e.Agent, e.User = o.Tenant, o.Run, o.Run, o.Session, o.Agent, o.User
		_, err = r.to.Append(ctx, e)
	}
	if err != nil && !errors.Is(err, publish.ErrDuplicate) && !errors.Is(err, publish.ErrShed) {
		r.logger.WarnContext(ctx, "end of an idle run not recorded", "error", err)
		return
	}
	r.forget(o.key())
}

func (o idleRun) key() runKey { return runKey{o.Tenant, o.Run} }

func (r *IdleRuns) path(k runKey) string {
	sum := sha256.Sum256([]byte(k.tenant + "\x00" + k.run))
	return filepath.Join(r.dir, hex.EncodeToString(sum[:16]))
}

func (r *IdleRuns) forget(k runKey) {
	if r.open[k] == nil {
		return
	}
	delete(r.open, k)
	if r.held[k.tenant]--; r.held[k.tenant] == 0 {
		delete(r.held, k.tenant)
	}
	_ = os.Remove(r.path(k)) // if it stays, the next start appends the same end again, which adds nothing
}

func (r *IdleRuns) save(ctx context.Context, o idleRun) {
	data, err := json.Marshal(o)
	if err == nil {
		path := r.path(o.key())
		if err = os.WriteFile(path+".new", data, 0o600); err == nil {
			err = os.Rename(path+".new", path) // so a kill leaves the earlier file or the new one
		}
	}
	if err != nil {
		r.logger.WarnContext(ctx, "open run not noted, so a crash leaves it without an end", "error", err)
	}
}

func (r *IdleRuns) load(ctx context.Context) {
	err := os.MkdirAll(r.dir, 0o700)
	if err != nil {
		r.logger.WarnContext(ctx, "open runs cannot be noted", "error", err)
		return
	}
	entries, err := os.ReadDir(r.dir)
	if err != nil {
		r.logger.WarnContext(ctx, "open runs of an earlier process not read", "error", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, entry := range entries {
		var o idleRun
		path := filepath.Join(r.dir, entry.Name())
		data, err := os.ReadFile(path)
		if err != nil || json.Unmarshal(data, &o) != nil || r.path(o.key()) != path {
			_ = os.Remove(path) // a killed process left an incomplete file
			continue
		}
		r.open[o.key()] = &o
		r.held[o.Tenant]++
	}
}
