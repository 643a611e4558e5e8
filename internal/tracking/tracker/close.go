package tracker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/platform/filelock"
	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/internal/tracking/store"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// Values of Closing.Action.
const (
	ActionClosed     = "closed"
	ActionNotPlanned = "not_planned"
)

const closePoll = 50 * time.Millisecond

// CloseRequest says which issue to close and why. All fields except NotPlanned are required.
type CloseRequest struct {
	Tenant, Issue string
	By            string // person who closes it
	Reason        string
	NotPlanned    bool
	Wait          time.Duration // how long to wait for a running tracker
}

// Closing is the result of a call of [Close].
type Closing struct {
	Issue  string       `json:"issue"`
	Tenant string       `json:"tenant"`
	Action string       `json:"action"`
	By     string       `json:"by"`
	Reason string       `json:"reason"` // as stored, with secrets redacted
	Event  string       `json:"event"`  // issue.edited event
	Taken  bool         `json:"taken"`  // a running tracker has applied the event
	Status rules.Status `json:"status"` // status of the issue when Close returns
}

// Close closes an issue for a person and waits until a running tracker has decided about the
// request. If no tracker is running, the next one closes the issue.
func Close(ctx context.Context, dataDir string, c CloseRequest) (Closing, error) {
	issue, err := find(ctx, dataDir, c.Tenant, c.Issue)
	if err != nil {
		return Closing{}, err
	}
	if issue.Status == rules.Closed {
		return Closing{}, fmt.Errorf("issue %s is closed already, since %s: %s", c.Issue, readable(issue.Closed), oneLine(issue.Reason))
	}
	done := Closing{Issue: c.Issue, Tenant: c.Tenant, Action: ActionClosed, By: c.By, Reason: c.Reason, Status: issue.Status}
	if c.NotPlanned {
		done.Action = ActionNotPlanned
	}
	e, err := RecordEdit(ctx, dataDir, c.Tenant, events.IssueEditedData{Issue: c.Issue, Action: done.Action, By: c.By, Value: c.Reason})
	if err != nil {
		return Closing{}, err
	}
	done.Event = e.ID
	if stored, err := events.Payload[events.IssueEditedData](e); err == nil {
		done.Reason = stored.Value
	}
	if runs, err := isRunning(dataDir); err != nil || !runs {
		return done, err
	}
	if err := done.await(ctx, dataDir, e, c.Wait); err != nil {
		return Closing{}, err
	}
	return done, nil
}

func (d *Closing) await(ctx context.Context, dataDir string, e events.Event, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(closePoll)
	defer tick.Stop()
	for {
		err := store.Read(ctx, dataDir, func(conn *sqlite.Conn) (err error) {
			d.Taken, err = store.Exists(conn, "SELECT 1 FROM decision WHERE tenant = ? AND event = ? AND source = ? AND record IS NOT NULL",
				e.Tenant, e.ID, e.Source)
			return err
		})
		if err != nil && ctx.Err() == nil {
			return err
		}
		if d.Taken {
			issue, err := find(ctx, dataDir, d.Tenant, d.Issue)
			d.Status = issue.Status
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the edit is stored as event %s, but the tracker has not applied it yet: %w", e.ID, ctx.Err())
		case <-tick.C:
		}
	}
}

func isRunning(dataDir string) (bool, error) {
	lock, err := filelock.Try(store.File(dataDir) + ".lock")
	if errors.Is(err, filelock.ErrHeld) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return false, lock.Unlock()
}
