package hooktrail

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	auditorcmd "github.com/hooktrail/hooktrail/internal/command/auditor"
	"github.com/hooktrail/hooktrail/internal/command/service"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/runtree"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/platform/termtext"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// Command returns the hooktrail command.
func Command() *cobra.Command {
	shared := new(cli.Shared)
	cmd := cli.Group("hooktrail", "Record what agents do so that it can be proved",
		demoCommand(shared), hooksCommand(shared), natsCommand(shared), tenantCommand(shared), upCommand(shared),
		cli.Group("run", "Look at the runs in the ledger", runListCommand(shared), runShowCommand(shared), runTailCommand(shared)))
	cmd.Example = "  hooktrail demo\n  hooktrail up --hooks hooks.yaml"
	shared.Register(cmd)
	shared.CompleteFlags(cmd, map[string]cli.Values{
		"tenant": service.TenantValues(shared), "agent": auditorcmd.AgentValues(shared), "tool": auditorcmd.ToolValues(shared),
		"state": cli.Words(append(stateWords(), sealedWord, unsealedWord)...),
	})
	return cmd
}

func runShowCommand(shared *cli.Shared) *cobra.Command {
	var points, check bool
	cmd := &cobra.Command{
		Use:   "show RUN",
		Short: "Show a run as a waterfall",
		Long: `Show a run as a waterfall. Each step lists its tool calls with bars for start and
duration, failures, sub-agents and tokens. The command reads the ledger and needs no
server. The start of a run's id is enough if it matches one run. id:RUN is the run with
exactly this id, also if it begins the UUID of another run.

Each record is compared with its leaf. A row whose record was altered is marked, and
the command exits with 40. A denied call with a successful result is marked, and the
command exits with 12.

The command also verifies the ledger. If the ledger is INVALID, records of the run can be
missing, and the command exits with 40. It marks rows with FOREIGN records, which used the
name of a producer without its key, and exits with 11. It marks rows with CONTRADICTED
records, whose id or number another record has with other content, and exits with 12. It
leaves this out if the ledger has more than 100,000 leaves, unless --check is given.

--points shows the hook points instead: how often each one fired, how many hooks ran,
denials, failures with their reasons, and the points that never fired.`,
		Example: `  hooktrail run show 5e6c1d2a-7b1f-4c55-9a64-0f6b3c2d9e71
  hooktrail run show 5e6c1d2a --tenant acme --json
  hooktrail run show 5e6c1d2a --points`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: shared.Argument(auditorcmd.RunValues(shared)),
		RunE: func(cmd *cobra.Command, args []string) error {
			tenant := shared.TenantOrDefault()
			r, err := openLedger(shared.DataDir, tenant)
			if err != nil {
				return err
			}
			var report runReport
			if points {
				report, err = readFired(cmd.Context(), r, args[0], shared.DataDir, check)
			} else {
				report, err = readChecked(cmd.Context(), r, args[0], shared.DataDir, check)
			}
			if missing, ok := errors.AsType[*noRunError](err); ok {
				missing.list = listHint(shared)
			}
			if err = errors.Join(err, r.Close()); err != nil {
				return err
			}
			err = cli.Print(cmd, shared, report, func(out io.Writer) { report.write(out, cli.PaletteFor(out)) })
			return cmp.Or(err, report.failure())
		},
	}
	cmd.Flags().BoolVar(&check, "check", false, "verify a ledger of any size, and mark foreign and contradicted records")
	cmd.Flags().BoolVar(&points, "points", false, "show which hook points fired, what failed there, and which never fired")
	return cmd
}

func openLedger(dataDir, tenant string) (*ledger.Reader, error) {
	dir := auditor.LedgerDir(dataDir)
	if _, err := ledger.Path(dir, tenant); err != nil {
		return nil, cli.Usage("%w", err)
	}
	r, err := ledger.OpenTenant(dir, tenant)
	if !errors.Is(err, os.ErrNotExist) {
		return r, err
	}
	tenants, err := ledger.Tenants(dir)
	if len(tenants) == 0 {
		return nil, errors.Join(noLedgers(dataDir), err)
	}
	slices.Sort(tenants)
	missing := &noLedgerError{fmt.Sprintf("tenant %q has no ledger below %s; there are: %s", tenant, dataDir, strings.Join(tenants, ", "))}
	return nil, errors.Join(missing, err)
}

type noLedgerError struct{ text string }

// Error implements error.
func (e *noLedgerError) Error() string { return e.text }

type runReport interface {
	write(w io.Writer, paint cli.Palette)
	failure() error
}

func readTrace(ctx context.Context, r *ledger.Reader, name string, d doubts) (runTrace, error) {
	run, err := findRun(ctx, r, name)
	if err != nil {
		return runTrace{}, err
	}
	fold := runtree.Fold{Tenant: r.Tenant()}
	read := map[string]bool{run: true}
	for left := []string{run}; len(left) > 0; left = left[1:] {
		if err := foldRun(ctx, r, left[0], &fold, d); err != nil {
			return runTrace{}, err
		}
		for _, sub := range fold.Subagents(left[0]) {
			if !read[sub] {
				read[sub] = true
				left = append(left, sub)
			}
		}
	}
	trace := fold.Trace(run)
	trace.Unchecked = d.unchecked
	trace.Integrity, trace.Problems = string(d.integrity), d.problems
	return runTrace{Trace: trace, incomplete: d.incomplete}, nil
}

func eachEvent(ctx context.Context, r *ledger.Reader, run string, fold func(events.Event)) error {
	for entry, err := range r.Run(ctx, run) {
		if err != nil {
			return err
		}
		e, err := entry.Event()
		if err != nil {
			return fmt.Errorf("leaf %d of run %q: %w", entry.Leaf, run, err)
		}
		fold(e)
	}
	return nil
}

func findRun(ctx context.Context, r *ledger.Reader, name string) (string, error) {
	near, err := auditorcmd.RunsNamed(ctx, r, name)
	if err != nil {
		return "", err
	}
	if len(near) == 1 {
		return near[0], nil
	}
	return "", &noRunError{name: name, tenant: r.Tenant(), near: near, list: listCommand}
}

const listCommand = "hooktrail run list"

type noRunError struct {
	name, tenant string
	near         []string // runs whose ids start with the name
	list         string   // command that lists the runs
}

// Error implements error.
func (e *noRunError) Error() string {
	if n := len(e.near); n > 1 {
		return fmt.Sprintf("%q begins the ids of %d runs: %s; `%s` lists them%s", e.name, n, auditorcmd.Candidates(e.near), e.list, auditorcmd.ExactHint(e.name, e.near))
	}
	return fmt.Sprintf("run %q is not in the ledger of tenant %q; `%s` lists what is", e.name, e.tenant, e.list)
}

func listHint(shared *cli.Shared) string {
	hint := listCommand + tenantFlag(shared.TenantOrDefault())
	if shared.DataDir != cli.DefaultDataDir() {
		hint += " --data-dir " + termtext.ShellQuote(shared.DataDir)
	}
	return hint
}
