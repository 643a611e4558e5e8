package auditor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/evidence/agentfs"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/pkg/events"
)

const (
	orderPoll = 50 * time.Millisecond // interval of looking for the effect
	// filesPoll is longer than orderPoll, because each poll must open all AgentFS files.
	filesPoll = 250 * time.Millisecond
	orderWait = time.Minute
)

type orderFlags struct {
	purpose

	dryRun    bool
	wait      time.Duration
	noTracker bool // do not wait for the answer of a tracker
	approving bool // wait for the effect of the approval instead of the proposal
}

func (f *orderFlags) register(cmd *cobra.Command) {
	f.purpose.register(cmd.Flags())
	cmd.Flags().DurationVar(&f.wait, "wait", orderWait, "how long to wait for the effect")
}

func (f *orderFlags) registerTracker(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.noTracker, "no-tracker", false, "do not wait for the answer of a tracker with another data directory")
}

func (f *orderFlags) order(action events.AuditAction) (ledger.Order, error) {
	if f.reason == "" {
		return ledger.Order{}, cli.Usage("--reason is required, for the record")
	}
	return ledger.Order{
		Action: action, ID: events.NewID(), Time: time.Now().UTC(), By: f.person(), Reason: f.reason, Ticket: f.ticket,
	}, nil
}

func (f *orderFlags) give(cmd *cobra.Command, shared *cli.Shared, r *ledger.Reader, orders []ledger.Order) ([]ledger.Outcome, error) {
	if err := checkBroker(cmd, shared, r.Tenant()); err != nil {
		return nil, err
	}
	ids, err := auditor.GiveOrders(cmd.Context(), shared.DataDir, orders)
	if err != nil {
		return nil, err
	}
	done, err := f.await(cmd, shared, r, ids)
	if err != nil {
		return nil, fmt.Errorf("%w (the order is signed and on record, and still takes effect)", err)
	}
	return done, nil
}

func (f *orderFlags) await(cmd *cobra.Command, shared *cli.Shared, r *ledger.Reader, ids []string) ([]ledger.Outcome, error) {
	if err := drainUnserved(cmd, shared, r.Tenant()); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), f.wait)
	defer cancel()
	tick := time.NewTicker(orderPoll)
	defer tick.Stop()
	for {
		done, err := effects(cmd.Context(), r, ids, f.approving)
		if err != nil {
			return nil, err
		}
		unclean, err := writer.Unclean(auditor.LedgerDir(shared.DataDir), r.Tenant())
		if err != nil {
			return nil, err
		}
		if len(done) == len(ids) && !unclean {
			return done, f.awaitFiles(ctx, shared.DataDir, r, done)
		}
		select {
		case <-ctx.Done():
			if len(done) == len(ids) {
				return nil, fmt.Errorf("the payloads can no longer be read, but are still in the ledger's file or log: the auditor rewrites the file, "+
					"and retries while a reader or a full disk prevents that (see its log and readiness): %w", ctx.Err())
			}
			return nil, fmt.Errorf("the auditor has not sent the order and read it back within %v, so see its log: %w", f.wait, ctx.Err())
		case <-tick.C:
		}
	}
}

func (f *orderFlags) awaitFiles(ctx context.Context, dataDir string, r *ledger.Reader, done []ledger.Outcome) error {
	if !slices.ContainsFunc(done, func(o ledger.Outcome) bool { return o.Removed > 0 }) {
		return nil
	}
	tick := time.NewTicker(filesPoll)
	defer tick.Stop()
	var remains error // result of the last complete scan
	for {
		left, err := agentfs.Unerased(ctx, auditor.AgentFSDir(dataDir), r.Tenant(), auditor.AgentFSSource(r))
		if err != nil && !errors.Is(err, agentfs.ErrBusy) && ctx.Err() == nil {
			return err
		}
		if err == nil && len(left) == 0 {
			return nil
		}
		if remains == nil || ctx.Err() == nil {
			remains = remaining(left, err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the payloads are erased from the ledger; the auditor erases them from AgentFS files when no other process has the files open: %w", remains)
		case <-tick.C:
		}
	}
}

func remaining(left []string, err error) error {
	if errors.Is(err, agentfs.ErrBusy) {
		err = fmt.Errorf("another process has: %w", err)
	}
	if len(left) > 0 {
		err = errors.Join(fmt.Errorf("still in %s", strings.Join(left, ", ")), err)
	}
	return err
}

func effects(ctx context.Context, r *ledger.Reader, ids []string, approving bool) (all []ledger.Outcome, err error) {
	for _, id := range ids {
		done, ok, err := r.Orders().Outcome(ctx, id)
		if err != nil {
			return nil, err
		}
		if ok && (!approving || done.Effect != ledger.EffectProposed) {
			all = append(all, done)
		}
	}
	return all, nil
}
