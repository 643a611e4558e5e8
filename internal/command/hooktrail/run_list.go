package hooktrail

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	auditorcmd "github.com/hooktrail/hooktrail/internal/command/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
)

const allTenants = "*"

const (
	sealedWord   = "sealed"
	unsealedWord = "unsealed"
)

type listFlags struct {
	limit             int
	agent, tool, text string
	states            []string
	from, to          string

	filter ledger.RunFilter // from the flags above
}

func runListCommand(shared *cli.Shared) *cobra.Command {
	var f listFlags
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the runs, the latest first",
		Long: `List the runs in a tenant's ledger, or in the ledgers of all tenants with --tenant '*'.
The run that started last is first. The command reads the ledgers and needs no server.

A terminal shows as many columns as fit, and the start of each id, which run show
accepts. Without a terminal, ids are whole. --json prints all fields.

The state of a run is ` + joined(stateWords()) + `.
A run is open until an event tells its end, unknown if that event does not say how it
ended, and erased or pruned if the record of its end was removed. If it continues after
an end by silence, it is open again. Calls that
hooks denied or the tool refused count as denied. An unknown value is "–", also for a
run whose source states no times. --from and --to leave such a run out, because nothing
shows when it started.

The command compares each record with its leaf. The state of a run with an altered
record is ALTERED, and the command exits with 40.`,
		Example: `  hooktrail run list
  hooktrail run list --tenant '*' --from 7d --state failed,interrupted
  hooktrail run list --agent claude-code --tool Bash --text "flaky test"
  hooktrail run list --limit 0 --json`,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd, shared) },
	}
	flags := cmd.Flags()
	flags.IntVar(&f.limit, "limit", 20, "list the latest `N` runs; 0 lists all")
	flags.StringVar(&f.agent, "agent", "", "only runs of this `agent`, such as claude-code")
	flags.StringVar(&f.tool, "tool", "", "only runs that called this `tool`")
	flags.StringSliceVar(&f.states, "state", nil, "only runs in these `states`: "+joined(append(stateWords(), sealedWord, unsealedWord)))
	flags.StringVar(&f.text, "text", "", "only runs with this `text` in the id, title, first prompt, folder or branch; case is ignored")
	flags.StringVar(&f.from, "from", "", "only runs that started at this `time` or later: 2026-11-20T09:14:07Z, 2026-11-20 (UTC), or 2h or 7d ago")
	flags.StringVar(&f.to, "to", "", "only runs that started before this `time`, in the same forms")
	cli.LineOnly(cmd, "agent", "tool", "state", "text")
	cli.SeveralTenants(cmd)
	return cmd
}

func (f *listFlags) run(cmd *cobra.Command, shared *cli.Shared) error {
	if err := f.parse(time.Now()); err != nil {
		return err
	}
	tenants, err := chosenTenants(shared)
	if err != nil {
		return err
	}
	bar := cli.NewProgress(cmd.ErrOrStderr(), "runs")
	defer bar.Finish()
	list := ledger.RunList{Runs: []ledger.RunSummary{}}
	var ids []string // of all runs, so that no short id in the list is the id of another run
	width := cli.Columns(cmd.OutOrStdout())
	for _, tenant := range tenants {
		r, err := openLedger(shared.DataDir, tenant)
		if err != nil {
			return err
		}
		one, err := r.List(cmd.Context(), f.filter, f.limit, bar.Set)
		if err == nil && width > 0 && !shared.JSON {
			var all []string
			all, err = r.RunIDs(cmd.Context(), "")
			ids = append(ids, all...)
		}
		if err = errors.Join(err, r.Close()); err != nil {
			return err
		}
		list = joinLists(list, one, f.limit)
	}
	bar.Finish()
	err = cli.Print(cmd, shared, list.Runs, func(out io.Writer) { writeRuns(out, list, width, ids) })
	if list.Untimed {
		fmt.Fprintln(cmd.ErrOrStderr(), "runs whose source states no times are left out; without --from and --to they are listed")
	}
	return cmp.Or(err, list.Altered)
}

func joinLists(a, b ledger.RunList, limit int) ledger.RunList {
	runs := append(a.Runs, b.Runs...)
	slices.SortStableFunc(runs, func(a, b ledger.RunSummary) int { return b.First.Compare(a.First) })
	more := a.More + b.More
	if a.More < 0 || b.More < 0 {
		more = -1
	}
	if limit > 0 && len(runs) > limit {
		if more >= 0 {
			more += len(runs) - limit
		}
		runs = runs[:limit]
	}
	return ledger.RunList{Runs: runs, More: more, Altered: cmp.Or(a.Altered, b.Altered), Untimed: a.Untimed || b.Untimed}
}

func chosenTenants(shared *cli.Shared) ([]string, error) {
	switch {
	case len(shared.Tenants) == 0:
		return []string{shared.TenantOrDefault()}, nil
	case !slices.Contains(shared.Tenants, allTenants):
		return shared.Tenants, nil
	}
	tenants, err := ledger.Tenants(auditor.LedgerDir(shared.DataDir))
	if err == nil && len(tenants) == 0 {
		err = noLedgers(shared.DataDir)
	}
	return tenants, err
}

func noLedgers(dataDir string) error {
	return &noLedgerError{fmt.Sprintf("no ledger below %s: start `auditor serve` or `hooktrail up` there, or name another --data-dir", dataDir)}
}

func (f *listFlags) parse(now time.Time) (err error) {
	if f.limit < 0 {
		return cli.Usage("--limit %d: it cannot be negative", f.limit)
	}
	f.filter = ledger.RunFilter{Agent: f.agent, Tool: f.tool, Text: f.text}
	if f.filter.From, err = parseWhen(f.from, now); err != nil {
		return cli.Usage("--from: %w", err)
	}
	if f.filter.To, err = parseWhen(f.to, now); err != nil {
		return cli.Usage("--to: %w", err)
	}
	if to := f.filter.To; !to.IsZero() && !f.filter.From.Before(to) {
		return cli.Usage("--to: want a time after --from")
	}
	for _, word := range f.states {
		if err := f.addState(word); err != nil {
			return err
		}
	}
	return nil
}

func (f *listFlags) addState(word string) error {
	state := ledger.RunState(strings.ToLower(strings.TrimSpace(word)))
	switch {
	case state == sealedWord || state == unsealedWord:
		want := state == sealedWord
		if f.filter.Sealed != nil && *f.filter.Sealed != want {
			return cli.Usage("--state: no run is both %s and %s", sealedWord, unsealedWord)
		}
		f.filter.Sealed = &want
	case slices.Contains(ledger.RunStates, state):
		f.filter.States = append(f.filter.States, state)
	default:
		return cli.Usage("--state %q: want one of %s", word, joined(append(stateWords(), sealedWord, unsealedWord)))
	}
	return nil
}

func parseWhen(text string, now time.Time) (time.Time, error) {
	if age, err := auditorcmd.ParseAge(text); err == nil && age >= 0 {
		return now.Add(-age).UTC(), nil
	}
	t, err := auditorcmd.ParseTime(text)
	if err != nil {
		err = fmt.Errorf("%w, or an age such as 2h or 7d", err)
	}
	return t, err
}

func stateWords() (words []string) {
	for _, s := range ledger.RunStates {
		words = append(words, string(s))
	}
	return words
}

func joined(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
