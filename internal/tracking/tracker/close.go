package tracker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/platform/filelock"
	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/internal/tracking/store"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// The actions of people's edits that close an issue.
const (
	editClosed     = "closed"
	editNotPlanned = "not_planned"
)

// How long the reason and the name are at most, in characters.
const (
	mostReason = 500
	mostBy     = 100
)

const (
	closePoll = 50 * time.Millisecond // how often is looked whether the tracker took it in
	closeWait = 30 * time.Second
)

// Closing is what came of closing an issue.
type Closing struct {
	Issue  string       `json:"issue"`
	Tenant string       `json:"tenant"`
	Action string       `json:"action"`
	By     string       `json:"by"`
	Reason string       `json:"reason"`
	Event  string       `json:"event"`  // id of its issue.edited
	Taken  bool         `json:"taken"`  // the tracker has taken it in; else it will
	Status rules.Status `json:"status"` // of the issue, as it is now
}

// closing are the flags of close.
type closing struct {
	reason, by string
	notPlanned bool
	wait       time.Duration
}

func closeCommand(shared *cli.Shared) *cobra.Command {
	var c closing
	cmd := &cobra.Command{
		Use:   "close ID",
		Short: "Close an issue, as a person",
		Long: `Close an issue. That is an issue.edited event: it goes into the stream as all
events do, and the tracker takes it in where it comes by. Close waits for that
while a tracker runs on the data directory; else the next one sends it.

What people decide wins. A failure of a run that began later opens a closed issue
again; with --not-planned it does not, until that expires: recurrences are counted.
Secrets and personal data in the reason are redacted, as everywhere.`,
		Example: `  tracker close ht-0c3k9w1x2y4z5 --reason "fixed in 4.2" --by jdoe
  tracker close ht-0c3k9w1x2y4z5 --not-planned --reason "the mirror is retired" --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.check(); err != nil {
				return err
			}
			done, err := c.close(cmd.Context(), shared.DataDir, shared.TenantOrDefault(), args[0])
			if err != nil {
				return err
			}
			if shared.JSON {
				return cli.PrintJSON(cmd, done)
			}
			fmt.Fprintln(cmd.OutOrStdout(), cli.Printable(done.String()))
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&c.reason, "reason", "", "`why`; it becomes the issue's reason")
	flags.StringVar(&c.by, "by", "", "`who` closes it; default is the user of the system")
	flags.BoolVar(&c.notPlanned, "not-planned", false, "close it as not planned: it stays closed when the same happens again")
	flags.DurationVar(&c.wait, "wait", closeWait, "how long to wait for a running tracker")
	return cmd
}

// check refuses what would not be kept whole.
func (c closing) check() error {
	switch {
	case cli.OneLine(c.reason) == "":
		return cli.Usage("say why: --reason")
	case utf8.RuneCountInString(c.reason) > mostReason:
		return cli.Usage("--reason: %d characters, want %d at most", utf8.RuneCountInString(c.reason), mostReason)
	case utf8.RuneCountInString(c.by) > mostBy:
		return cli.Usage("--by: %d characters, want %d at most", utf8.RuneCountInString(c.by), mostBy)
	}
	return nil
}

// close puts on record that somebody closes an issue, and waits for a tracker
// that runs.
func (c closing) close(ctx context.Context, dataDir, tenant, id string) (Closing, error) {
	issue, err := find(ctx, dataDir, tenant, id)
	if err != nil {
		return Closing{}, err
	}
	if issue.Status == rules.Closed {
		return Closing{}, fmt.Errorf("issue %s is closed already, since %s: %s", id, cli.Time(issue.Closed), cli.OneLine(issue.Reason))
	}
	done := Closing{Issue: id, Tenant: tenant, Action: editClosed, By: c.by, Reason: c.reason, Status: issue.Status}
	if c.notPlanned {
		done.Action = editNotPlanned
	}
	if done.By == "" {
		done.By = systemUser()
	}
	e, err := RecordEdit(ctx, dataDir, tenant, events.IssueEditedData{Issue: id, Action: done.Action, By: done.By, Value: done.Reason})
	if err != nil {
		return Closing{}, err
	}
	done.Event = e.ID
	if said, err := events.Payload[events.IssueEditedData](e); err == nil {
		done.Reason = said.Value // without secrets
	}
	if runs, err := isRunning(dataDir); err != nil || !runs {
		return done, err
	}
	if err := done.await(ctx, dataDir, e, c.wait); err != nil {
		return Closing{}, err
	}
	return done, nil
}

// await waits until the decision on the edit e is there.
func (d *Closing) await(ctx context.Context, dataDir string, e events.Event, most time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, most)
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
			return fmt.Errorf("the edit is on record, as event %s, and the tracker has not taken it in yet: %w", e.ID, ctx.Err())
		case <-tick.C:
		}
	}
}

// String returns the closing for people.
func (d Closing) String() string {
	how := "closed"
	if d.Action == editNotPlanned {
		how = "closed as not planned"
	}
	switch {
	case !d.Taken:
		return fmt.Sprintf("%s will be %s: %s (by %s)\n  no tracker runs on this data directory; the next tracker serve takes it in, event %s",
			d.Issue, how, cli.OneLine(d.Reason), cli.OneLine(d.By), d.Event)
	case d.Status != rules.Closed:
		return fmt.Sprintf("%s is %s, not %s: tracker why %s tells", d.Issue, d.Status, how, d.Event)
	}
	return fmt.Sprintf("%s %s: %s (by %s)", how, d.Issue, cli.OneLine(d.Reason), cli.OneLine(d.By))
}

// isRunning reports whether a process has the tracker's files.
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

// systemUser names who runs the process.
func systemUser() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "uid " + strconv.Itoa(os.Getuid())
}
