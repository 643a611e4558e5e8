package hooktrail

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	auditorcmd "github.com/hooktrail/hooktrail/internal/command/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/tail"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/pkg/events"
)

const defaultLines = 10

var tailStates = []string{string(events.ToolDenied), string(events.RunFailed), string(events.ToolInterrupted)} //nolint:gochecknoglobals // a constant

type tailFlags struct {
	agent, tool, since string
	states             []string
	lines              int
	all                bool

	filter tail.Filter // from the flags above
	from   time.Time
}

func runTailCommand(shared *cli.Shared) *cobra.Command {
	var f tailFlags
	cmd := &cobra.Command{
		Use:   "tail [RUN]",
		Short: "Follow runs live",
		Long: `Print one line per event as events reach the ledger, until Ctrl-C. With RUN, print only
this run and its sub-agents, and exit once the run has ended. Without RUN, print all
runs of the tenant, or of all tenants with --tenant '*'. The start of a run's id is
enough if it matches one run. First the command prints the newest lines that the ledger already has.

A line has the time, the run, the agent and the event: a call with its most telling
argument, a decision with who made it and why, a failure with its cause, the first
words of a message, the name of a custom event, or the end of a run with its state. "…" is a call that began, "✓" a success, "✗" a failure or a
denial, "■" an interrupt and "!" an alarm. Parts of large payloads and decisions of the
tracker have no line. Calls and prompts that an import repeats are printed once.
Messages without text, and custom events without a name or about the progress of a
command, are left out. --all prints these and repeated lines, and so does --json, which
prints one object per line.

The command reads the files of the ledgers. It needs no server, and continues after a
restart of the auditor and a rebuild of the ledger. It says on stderr that it waits if
no auditor runs. It does not verify the ledger, but compares each record with its leaf:
an altered one is marked, also if a filter is set, and the command exits with 40 at its
end. Without RUN it ends only at Ctrl-C.`,
		Example: `  hooktrail run tail
  hooktrail run tail 5e6c1d2a
  hooktrail run tail --state denied,failed --since 1h
  hooktrail run tail --tenant '*' --json | jq .name`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: shared.Argument(auditorcmd.RunValues(shared)),
		RunE:              func(cmd *cobra.Command, args []string) error { return f.run(cmd, shared, strings.Join(args, "")) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.agent, "agent", "", "only runs of this `agent`, such as claude-code")
	flags.StringVar(&f.tool, "tool", "", "only calls of this `tool`")
	flags.StringSliceVar(&f.states, "state", nil, "only events in these `states`: "+joined(tailStates))
	flags.StringVar(&f.since, "since", "", "first print the events since this `time`: 2026-11-20T09:14:07Z, 2026-11-20 (UTC), or 2h or 7d ago")
	flags.IntVar(&f.lines, "lines", defaultLines, "first print the newest `N` lines that the ledger has; -1 prints all of them, and is the default with --since")
	flags.BoolVar(&f.all, "all", false, "also print lines that repeat earlier ones, or from which a person learns nothing")
	cli.LineOnly(cmd, "agent", "tool", "state", "since", "lines", "all")
	cli.SeveralTenants(cmd)
	_ = cmd.RegisterFlagCompletionFunc("state", shared.ListCompletion(cli.Words(tailStates...)))
	return cmd
}

func (f *tailFlags) parse(cmd *cobra.Command, json bool, now time.Time) (err error) {
	if f.from, err = parseWhen(f.since, now); err != nil {
		return cli.Usage("--since: %w", err)
	}
	if !f.from.IsZero() && !cmd.Flags().Changed("lines") {
		f.lines = -1
	}
	f.filter = tail.Filter{Agent: f.agent, Tool: f.tool, Once: !json && !f.all, Telling: !json && !f.all}
	for _, word := range f.states {
		switch strings.ToLower(strings.TrimSpace(word)) {
		case string(events.ToolDenied):
			f.filter.Denied = true
		case string(events.RunFailed):
			f.filter.Failed = true
		case string(events.ToolInterrupted):
			f.filter.Interrupted = true
		default:
			return cli.Usage("--state %q: want one of %s", word, joined(tailStates))
		}
	}
	return nil
}

func (f *tailFlags) run(cmd *cobra.Command, shared *cli.Shared, run string) (err error) {
	if err := f.parse(cmd, shared.JSON, time.Now()); err != nil {
		return err
	}
	t := &tailing{tailFlags: *f, shared: shared, cmd: cmd, name: run, open: make(map[string]*followed), printer: newTailPrinter(cmd, shared)}
	if run != "" && (len(shared.Tenants) > 1 || slices.Contains(shared.Tenants, allTenants)) {
		return cli.Usage("a run needs one --tenant")
	}
	defer func() { err = errors.Join(err, t.close()) }()
	err = t.follow(cmd.Context())
	if cmd.Context().Err() != nil {
		err = nil // Ctrl-C is the usual end
	}
	if errors.Is(err, syscall.EPIPE) {
		return cli.Exit(cli.ExitOK)
	}
	return cmp.Or(err, t.failure())
}
