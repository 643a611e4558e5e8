package auditor

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
)

type selection struct {
	run, from, to string
	file          string
}

const (
	whenStored   = "when the server stored it"
	whenHappened = "by the time in the event"
)

func (s *selection) register(flags *pflag.FlagSet, when string) {
	flags.StringVar(&s.run, "run", "", "only this `run`; "+startUsage)
	s.registerTimes(flags, when)
	registerLedger(flags, &s.file)
}

func (s *selection) registerTimes(flags *pflag.FlagSet, when string) {
	flags.StringVar(&s.from, "from", "", "only from this `time`, "+when+": 2026-11-20T09:14:07Z, or 2026-11-20 (UTC)")
	flags.StringVar(&s.to, "to", "", "only before this `time`, "+when+", in the same forms")
}

func registerLedger(flags *pflag.FlagSet, file *string) {
	flags.StringVar(file, "ledger", "", "`file` of the ledger; default is the ledger of the tenant in the data directory")
}

func (s selection) isAll() bool { return s.run == "" && s.from == "" && s.to == "" }

func (s selection) find(cmd *cobra.Command, shared *cli.Shared) (ledger.Selection, error) {
	if err := findRun(cmd, shared, s.file, &s.run); err != nil {
		return ledger.Selection{}, err
	}
	return s.parse()
}

func (s selection) parse() (ledger.Selection, error) {
	chosen := ledger.Selection{Run: s.run}
	var err error
	if chosen.From, err = ParseTime(s.from); err != nil {
		return chosen, cli.Usage("--from: %w", err)
	}
	if chosen.To, err = ParseTime(s.to); err != nil {
		return chosen, cli.Usage("--to: %w", err)
	}
	if !chosen.To.IsZero() && !chosen.From.Before(chosen.To) {
		return chosen, cli.Usage("--to: want a time after --from")
	}
	return chosen, nil
}

// ParseTime parses a timestamp or a date, which means midnight UTC. An empty text gives the zero
// time.
func ParseTime(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		return day, nil
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("invalid time %q; want 2026-11-20T09:14:07Z or 2026-11-20", text)
	}
	return t.UTC(), nil
}
