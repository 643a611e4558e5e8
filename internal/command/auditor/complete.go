package auditor

import (
	"context"
	"maps"
	"slices"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/pkg/events"
)

const maxRuns = 200

// RunValues lists the runs with the newest records in the ledger of the tenant.
func RunValues(shared *cli.Shared) cli.Values {
	return fromLedger(shared, func(ctx context.Context, r *ledger.Reader) (names []string) {
		runs, err := r.Runs(ctx)
		if err != nil {
			return nil
		}
		for _, run := range runs[:min(maxRuns, len(runs))] {
			names = append(names, run.Run)
		}
		return names
	})
}

const maxLeaves = 5000

// ToolValues lists the tools that runs have called lately.
func ToolValues(shared *cli.Shared) cli.Values {
	return fromEvents(shared, func(e events.Event) []string {
		d, err := events.Payload[events.ToolBeforeData](e)
		if e.Kind() != events.ToolBefore || err != nil {
			return nil
		}
		return []string{d.Tool}
	})
}

// AgentValues lists the agents of the latest events, without sub-agents.
func AgentValues(shared *cli.Shared) cli.Values {
	return fromEvents(shared, func(e events.Event) []string {
		switch {
		case e.Run == "" || ledger.IsServiceRecord(e.Kind()):
			return nil
		case e.ParentRun != "":
			return []string{e.Source}
		}
		return []string{e.Source, e.Agent}
	})
}

func fromEvents(shared *cli.Shared, pick func(events.Event) []string) cli.Values {
	return fromLedger(shared, func(ctx context.Context, r *ledger.Reader) []string {
		newest, err := r.Newest(ctx)
		if err != nil {
			return nil
		}
		words := make(map[string]bool)
		for entry, err := range r.After(ctx, newest.Size-maxLeaves) {
			if err != nil {
				break // the words found so far are still useful
			}
			if entry.Class != ledger.ClassEvent || entry.Removal.Done() {
				continue
			}
			if e, err := entry.Event(); err == nil {
				for _, word := range pick(e) {
					words[word] = true
				}
			}
		}
		delete(words, "")
		return slices.Sorted(maps.Keys(words))
	})
}

func fromLedger(shared *cli.Shared, list func(context.Context, *ledger.Reader) []string) cli.Values {
	return func(ctx context.Context) []string {
		tenant := shared.TenantOrDefault()
		if n := len(shared.Tenants); n > 0 {
			tenant = shared.Tenants[n-1] // one on the command line follows one from the environment
		}
		r, err := ledger.OpenTenant(auditor.LedgerDir(shared.DataDir), tenant)
		if err != nil {
			return nil
		}
		names := list(ctx, r)
		if r.Close() != nil {
			return nil
		}
		return names
	}
}
