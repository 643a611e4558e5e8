package tracker

import (
	"fmt"
	"io"
	"os"
	"os/user"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/platform/termtext"
	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/internal/tracking/tracker"
)

const (
	maxReason = 500
	maxBy     = 100
)

const closeWait = 30 * time.Second

func closeCommand(shared *cli.Shared) *cobra.Command {
	var c tracker.CloseRequest
	cmd := &cobra.Command{
		Use:   "close ID",
		Short: "Close an issue by hand",
		Long: `Close an issue by hand. The command stores an issue.edited event, which goes through
the stream like all events. If a tracker runs on the data directory, the command waits
until the tracker has applied the event. If not, the next tracker sends it.

Edits by people win over the tracker. A failure of a run that began later reopens a
closed issue. An issue that is closed with --not-planned stays closed until that
expires, and recurrences are only counted. Secrets and personal data in the reason are
redacted.`,
		Example: `  tracker close ht-0c3k9w1x2y4z5 --reason "fixed in 4.2" --by jdoe
  tracker close ht-0c3k9w1x2y4z5 --not-planned --reason "the mirror is retired" --json`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: issueArgument(shared, isNotClosed),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkClose(c); err != nil {
				return err
			}
			c.Tenant, c.Issue = shared.TenantOrDefault(), args[0]
			if c.By == "" {
				c.By = systemUser()
			}
			done, err := tracker.Close(cmd.Context(), shared.DataDir, c)
			if err != nil {
				return err
			}
			return cli.Print(cmd, shared, done, func(out io.Writer) { fmt.Fprintln(out, termtext.Printable(closingText(done))) })
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&c.Reason, "reason", "", "`reason` that is stored in the issue")
	flags.StringVar(&c.By, "by", "", "the `person` who closes it; default is the user of the system, who is on record in any case")
	flags.BoolVar(&c.NotPlanned, "not-planned", false, "close it as not planned: it stays closed when the same happens again")
	flags.DurationVar(&c.Wait, "wait", closeWait, "how long to wait for a running tracker")
	return cmd
}

func checkClose(c tracker.CloseRequest) error {
	switch {
	case termtext.OneLine(c.Reason) == "":
		return cli.Usage("--reason is required")
	case utf8.RuneCountInString(c.Reason) > maxReason:
		return cli.Usage("--reason: %d characters, want %d at most", utf8.RuneCountInString(c.Reason), maxReason)
	case utf8.RuneCountInString(c.By) > maxBy:
		return cli.Usage("--by: %d characters, want %d at most", utf8.RuneCountInString(c.By), maxBy)
	}
	return nil
}

func closingText(d tracker.Closing) string {
	how := "closed"
	if d.Action == tracker.ActionNotPlanned {
		how = "closed as not planned"
	}
	switch {
	case !d.Taken:
		return fmt.Sprintf("%s will be %s: %s (by %s)\n  no tracker runs on this data directory; the next tracker serve applies event %s",
			d.Issue, how, termtext.OneLine(d.Reason), termtext.OneLine(d.By), d.Event)
	case d.Status != rules.Closed:
		return fmt.Sprintf("%s is %s, not %s; run tracker why %s for the reason", d.Issue, d.Status, how, d.Event)
	}
	return fmt.Sprintf("%s %s: %s (by %s)", how, d.Issue, termtext.OneLine(d.Reason), termtext.OneLine(d.By))
}

func systemUser() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "uid " + strconv.Itoa(os.Getuid())
}
