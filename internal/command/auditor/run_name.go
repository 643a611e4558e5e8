package auditor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/platform/termtext"
)

// leastStart is the minimum number of characters of a shortened run id in commands about evidence.
// It keeps a script that asks for a missing run "r-4" from using run "r-42".
const leastStart = 8

// exactly precedes the id of a run that also begins the ids of other runs.
const exactly = "id:"

const startUsage = "the first 8 or more characters of its id are enough if they name one run"

// RunsNamed returns the runs whose ids start with name, the run with the newest record first. If name
// is the full id of a run, also after "id:", RunsNamed returns only this run. The exception is a name
// of 8 or more characters that begins a UUID, because an agent could give a run the short id that a
// list shows for another run. Then RunsNamed returns both.
func RunsNamed(ctx context.Context, r *ledger.Reader, name string) (near []string, err error) {
	has, err := r.Has(ctx, name)
	switch id, isID := strings.CutPrefix(name, exactly); {
	case err != nil:
		return nil, err
	case has && utf8.RuneCountInString(name) < leastStart:
		return []string{name}, nil
	case has:
		near, err = r.RunIDs(ctx, name)
		return slices.DeleteFunc(near, func(run string) bool { return run != name && (!startsRun(run, name) || !isRandom(run)) }), err
	case isID:
		if has, err = r.Has(ctx, id); has {
			near = []string{id}
		}
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

// isRandom reports whether the id of a session or of its sub-agent is a UUID. The ids that programs
// count, such as review-1 and review-10, begin each other by chance.
func isRandom(run string) bool {
	session, agent, _ := strings.Cut(run, "/")
	return uuid.Validate(session) == nil || uuid.Validate(agent) == nil
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
	return fmt.Errorf("--run %q begins the ids of %d runs: %s%s", *run, len(near), Candidates(near), ExactHint(*run, near))
}

// ExactHint says how to name the run whose whole id is name, if near has it and other runs.
func ExactHint(name string, near []string) string {
	if len(near) > 1 && near[0] == name {
		return "; write " + termtext.ShellQuote(exactly+name) + " for the first"
	}
	return ""
}

func refuseStart(cmd *cobra.Command, shared *cli.Shared, run *string) error {
	near := shortened(cmd.Context(), shared, "", *run)
	if len(near) == 1 && near[0] == strings.TrimPrefix(*run, exactly) {
		*run = near[0]
		return nil
	}
	if len(near) > 0 {
		return fmt.Errorf("--run %q: the whole id is needed here: %s%s", *run, Candidates(near), ExactHint(*run, near))
	}
	return nil
}

func shortened(ctx context.Context, shared *cli.Shared, file, run string) []string {
	if utf8.RuneCountInString(run) < leastStart && !strings.HasPrefix(run, exactly) {
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
