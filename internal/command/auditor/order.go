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
	orderPoll = 50 * time.Millisecond  // how often is looked whether an order has come
	filesPoll = 250 * time.Millisecond // and whether it has come to the AgentFS files: it opens them
	orderWait = time.Minute
)

// ordering are the flags of the commands that give orders.
type ordering struct {
	purpose

	dryRun bool
	wait   time.Duration
}

func (f *ordering) register(cmd *cobra.Command) {
	f.purpose.register(cmd.Flags())
	cmd.Flags().DurationVar(&f.wait, "wait", orderWait, "how long to wait until it has taken effect")
}

// order returns an order of an action, filled in but for what it is about.
func (f *ordering) order(action events.AuditAction) (ledger.Order, error) {
	if f.reason == "" {
		return ledger.Order{}, cli.Usage("say why, for the record: --reason")
	}
	by := f.by
	if by == "" {
		by = systemUser()
	}
	return ledger.Order{
		Action: action, ID: events.NewID(), Time: time.Now().UTC(), By: by, Reason: f.reason, Ticket: f.ticket,
	}, nil
}

// give gives orders and waits until they have taken effect, and nothing is left in
// files of what they destroyed. Where no auditor runs it does its work once.
func (f *ordering) give(cmd *cobra.Command, shared *cli.Shared, r *ledger.Reader, orders []ledger.Order) ([]ledger.Outcome, error) {
	ids, err := auditor.GiveOrders(cmd.Context(), shared.DataDir, orders)
	if err != nil {
		return nil, err
	}
	done, err := f.await(cmd, shared, r, ids)
	if err != nil {
		return nil, fmt.Errorf("%w (the order is signed and on record, and stays so)", err)
	}
	return done, nil
}

func (f *ordering) await(cmd *cobra.Command, shared *cli.Shared, r *ledger.Reader, ids []string) ([]ledger.Outcome, error) {
	if err := drainUnserved(cmd, shared, r.Tenant()); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), f.wait)
	defer cancel()
	tick := time.NewTicker(orderPoll)
	defer tick.Stop()
	for {
		done, err := cameAll(ctx, r, ids)
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
				return nil, fmt.Errorf("nothing reads it any more, but the ledger's file or log still has it: the auditor writes that anew, "+
					"and goes on trying while a reader or a full disk is in the way (its log and readiness tell): %w", ctx.Err())
			}
			return nil, fmt.Errorf("wait for the order's effect, which it has when the auditor has sent it and read it back: %w", ctx.Err())
		case <-tick.C:
		}
	}
}

// awaitFiles waits until nothing of what orders destroyed is left in the AgentFS
// files, which follow the ledger within a second.
func (f *ordering) awaitFiles(ctx context.Context, dataDir string, r *ledger.Reader, done []ledger.Outcome) error {
	if !slices.ContainsFunc(done, func(o ledger.Outcome) bool { return o.Removed > 0 }) {
		return nil
	}
	tick := time.NewTicker(filesPoll)
	defer tick.Stop()
	var remains error // as far as it was looked for in time
	for {
		left, err := agentfs.Disobedient(ctx, auditor.AgentFSDir(dataDir), r.Tenant(), auditor.AgentFSSource(r))
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
			return fmt.Errorf("it is gone from the ledger; out of AgentFS files the auditor takes it when no other process has them open: %w", remains)
		case <-tick.C:
		}
	}
}

// remaining says which AgentFS files still have what was destroyed, and why it is
// not known of others.
func remaining(left []string, err error) error {
	if errors.Is(err, agentfs.ErrBusy) {
		err = fmt.Errorf("another process has: %w", err)
	}
	if len(left) > 0 {
		err = errors.Join(fmt.Errorf("still in %s", strings.Join(left, ", ")), err)
	}
	return err
}

// cameAll returns what orders did, those that have come.
func cameAll(ctx context.Context, r *ledger.Reader, ids []string) (all []ledger.Outcome, err error) {
	for _, id := range ids {
		done, ok, err := r.Orders().Outcome(ctx, id)
		if err != nil {
			return nil, err
		}
		if ok {
			all = append(all, done)
		}
	}
	return all, nil
}
