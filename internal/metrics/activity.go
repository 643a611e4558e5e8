package metrics

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// activityKind is stored as a number, so its values must not change.
type activityKind int

const (
	runActivity activityKind = iota + 1
	stepActivity
	callActivity
	responseActivity
	dispatchActivity // a dispatch in which a hook failed
)

const (
	active    = "active"
	completed = "completed"
	failed    = "failed"
	denied    = "denied"

	interrupted = "interrupted"

	// paused means that a run ended by silence and is active again with its next event. Its label is
	// "unknown".
	paused = "paused"

	// refused means that the tool itself refused the call, while denied means that a hook denied
	// it. Both have the label "denied".
	refused = "refused"

	// suffixed is added to the status of a call that also has a successful result. For a denied
	// call, such a result raises an alarm.
	suffixed = ", success"

	deniedSuccess = denied + suffixed

	// deniedError is the status that earlier versions stored for a denied call with an error. Its
	// label is "error".
	deniedError = "denied, error"
)

func withResult(status string, result events.ToolStatus) string {
	succeeded := result == events.ToolSuccess || hasSucceeded(status)
	switch {
	case isDenied(status) && succeeded:
		return deniedSuccess
	case isDenied(status):
		return denied
	case result != events.ToolSuccess && result != events.ToolDenied && result != events.ToolInterrupted:
		result = events.ToolError
	}
	strongest := statusOf(status).Stronger(result)
	status = string(strongest)
	if strongest == events.ToolDenied {
		status = refused
	}
	if succeeded && strongest != events.ToolSuccess {
		status += suffixed
	}
	return status
}

func statusOf(status string) events.ToolStatus {
	switch status = strings.TrimSuffix(status, suffixed); status {
	case active:
		return ""
	case refused:
		return events.ToolDenied
	}
	return events.ToolStatus(status)
}

func hasSucceeded(status string) bool {
	return status == string(events.ToolSuccess) || strings.HasSuffix(status, suffixed)
}

func withDenial(status string) string {
	if hasSucceeded(status) {
		return deniedSuccess
	}
	return denied
}

func isDenied(status string) bool {
	return status == denied || status == deniedError || status == deniedSuccess
}

func statusLabel(status string) string {
	switch status = strings.TrimSuffix(status, suffixed); status {
	case deniedError:
		return string(events.ToolError)
	case refused:
		return denied
	case paused:
		return string(events.RunUnknown)
	}
	return status
}

type activityKey struct {
	kind            activityKind
	tenant, run, id string
}

// Times are in whole microseconds, as in the database, so that durations can be subtracted exactly.
type activity struct {
	number   int64 // in the database, 0 if it is not stored yet
	label    string
	status   string
	started  time.Time
	ended    time.Time
	measured time.Duration // duration that the event reported
}

func (a *activity) endRun(e events.Event, p events.RunFinishedData) {
	if p.IsEndOfLog() && a.status != "" && a.status != active || e.Time.Before(a.ended) && statusLabel(a.status) != string(events.RunUnknown) {
		return
	}
	same := toMicroseconds(e.Time) == toMicroseconds(a.ended)
	if before := events.RunStatus(statusLabel(a.status)); same && p.Status().Stronger(before) == before {
		if before == p.Status() {
			a.measured = max(a.measured, milliseconds(p.DurationMS))
		}
		return
	}
	a.status, a.ended, a.measured = string(p.Status()), e.Time, milliseconds(p.DurationMS)
	if p.IsPause() && !(events.RunEnd{Source: e.Source, Data: p}).EndsTurn() {
		a.status = paused
	}
}

func (a activity) duration() (time.Duration, bool) {
	if a.measured > 0 {
		return a.measured, true
	}
	if a.started.IsZero() || a.ended.IsZero() || a.ended.Before(a.started) {
		return 0, false
	}
	return min(a.ended.Sub(a.started), maxDuration), true
}

func (a activity) count(n *seriesSet, k activityKey, times int64) {
	var total, open, took *family
	switch k.kind {
	case runActivity:
		total, open, took = runsTotal, runsActive, runDuration
	case stepActivity:
		total, open, took = stepsTotal, stepsActive, stepDuration
	case callActivity:
		total, open, took = callsTotal, callsActive, callDuration
	case responseActivity, dispatchActivity:
		return
	}
	switch a.status {
	case "":
	case active:
		n.add(open, times, k.tenant, a.label)
	default:
		n.add(total, times, k.tenant, a.label, statusLabel(a.status))
		if a.status == deniedSuccess {
			n.add(deniedResults, times, k.tenant, a.label)
		}
		if d, ok := a.duration(); ok && statusLabel(a.status) != denied {
			n.observe(took, times, d, k.tenant, a.label)
		}
	}
}

func (f *fold) change(k activityKey, e events.Event, apply func(*activity)) (bool, error) {
	before, err := f.load(k)
	if err != nil {
		return false, err
	}
	after := before
	if after.number == 0 {
		if after.number, err = f.insert(k); err != nil {
			return false, err
		}
	}
	if isNew, err := f.addEvent(after.number, e.ID); err != nil || !isNew {
		return false, err
	}
	apply(&after)
	after.started = fromMicroseconds(toMicroseconds(after.started))
	after.ended = fromMicroseconds(toMicroseconds(after.ended))
	before.count(f.series, k, -1)
	after.count(f.series, k, 1)
	return true, f.store(after)
}

func (f *fold) load(k activityKey) (activity, error) {
	var a activity
	err := sqlitex.Execute(f.conn, `SELECT number, label, status, started, ended, measured FROM thing
		WHERE kind = ? AND tenant = ? AND run = ? AND id = ?`, &sqlitex.ExecOptions{
		Args: []any{int(k.kind), k.tenant, k.run, k.id},
		ResultFunc: func(stmt *sqlite.Stmt) error {
			a = activity{
				number: stmt.ColumnInt64(0), label: stmt.ColumnText(1), status: stmt.ColumnText(2),
				started: fromMicroseconds(stmt.ColumnInt64(3)), ended: fromMicroseconds(stmt.ColumnInt64(4)),
				measured: time.Duration(stmt.ColumnInt64(5)) * time.Microsecond,
			}
			return nil
		},
	})
	if err != nil {
		return activity{}, fmt.Errorf("load activity: %w", err)
	}
	return a, nil
}

func (f *fold) insert(k activityKey) (int64, error) {
	err := sqlitex.Execute(f.conn, `INSERT INTO thing (kind, tenant, run, id, label, status, started, ended, measured)
		VALUES (?, ?, ?, ?, '', '', 0, 0, 0)`, &sqlitex.ExecOptions{Args: []any{int(k.kind), k.tenant, k.run, k.id}})
	if err != nil {
		return 0, fmt.Errorf("insert activity: %w", err)
	}
	return f.conn.LastInsertRowID(), nil
}

func (f *fold) store(a activity) error {
	err := sqlitex.Execute(f.conn, `UPDATE thing SET label = ?, status = ?, started = ?, ended = ?, measured = ? WHERE number = ?`,
		&sqlitex.ExecOptions{Args: []any{
			a.label, a.status, toMicroseconds(a.started), toMicroseconds(a.ended), a.measured.Microseconds(), a.number,
		}})
	if err != nil {
		return fmt.Errorf("store activity: %w", err)
	}
	return nil
}

const seenBytes = 8

func (f *fold) addEvent(activity int64, id string) (isNew bool, err error) {
	sum := sha256.Sum256([]byte(id))
	err = sqlitex.Execute(f.conn, `INSERT OR IGNORE INTO seen (thing, event) VALUES (?, ?)`,
		&sqlitex.ExecOptions{Args: []any{activity, sum[:seenBytes]}})
	if err != nil {
		return false, fmt.Errorf("store event of activity: %w", err)
	}
	return f.conn.Changes() > 0, nil
}

func toMicroseconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func fromMicroseconds(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.UnixMicro(n).UTC()
}
