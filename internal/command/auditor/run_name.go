package auditor

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/platform/termtext"
)

// leastStart is the minimum number of characters of a shortened run id in commands about evidence.
// It keeps a script that asks for a missing run "r-4" from using run "r-42".
const leastStart = 8

const startUsage = "the first 8 or more characters of its id are enough if they name one run"

// RunsNamed returns the runs whose ids start with name, the run with the newest record first. If
// name is the full id of a run, RunsNamed returns only this run.
func RunsNamed(ctx context.Context, r *ledger.Reader, name string) (near []string, err error) {
	has, err := r.Has(ctx, name)
	if has {
		near = []string{name}
	}
	if err != nil || has {
		return near, err
	}
	runs, err := r.Runs(ctx)
	for _, info := range runs {
		if startsRun(info.Run, name) {
			near = append(near, info.Run)
		}
	}
	return near, err
}

func startsRun(run, name string) bool {
	session, agent, isSub := strings.Cut(run, "/")
	ofSession, ofAgent, wantsSub := strings.Cut(name, "/")
	return name != "" && isSub == wantsSub && strings.HasPrefix(session, ofSession) && strings.HasPrefix(agent, ofAgent)
}

// Candidates formats run ids for an error message. It shows the first five ids and the number of
// the others, such as "a b c d e and 7 more".
func Candidates(runs []string) string {
	const most = 5
	if n := len(runs); n > most {
		return termtext.ShellQuote(runs[:most]...) + fmt.Sprintf(" and %d more", n-most)
	}
	return termtext.ShellQuote(runs...)
}

func findRun(cmd *cobra.Command, shared *cli.Shared, file string, run *string) error {
	near := shortened(cmd.Context(), shared, file, *run)
	switch len(near) {
	case 0:
		return nil
	case 1:
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: --run %s is run %s\n", cmd.CommandPath(), termtext.Printable(*run), termtext.Printable(near[0]))
		*run = near[0]
		return nil
	}
	return fmt.Errorf("--run %q begins the ids of %d runs: %s", *run, len(near), Candidates(near))
}

func refuseStart(cmd *cobra.Command, shared *cli.Shared, run string) error {
	if near := shortened(cmd.Context(), shared, "", run); len(near) > 0 {
		return fmt.Errorf("--run %q: the whole id is needed here: %s", run, Candidates(near))
	}
	return nil
}

func shortened(ctx context.Context, shared *cli.Shared, file, run string) []string {
	if utf8.RuneCountInString(run) < leastStart {
		return nil
	}
	r, err := openLedger(shared.DataDir, shared.TenantOrDefault(), file)
	if err != nil {
		return nil
	}
	near, err := RunsNamed(ctx, r, run)
	if r.Close() != nil || err != nil || len(near) == 1 && near[0] == run {
		return nil
	}
	return near
}
