package hooktrail

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/evidence/tail"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/platform/termtext"
)

const (
	tailPoll  = 150 * time.Millisecond
	tailCheck = time.Second // between looks for an auditor and for new ledgers
	tailSeal  = time.Second // how long the seal of a finished run is awaited
)

type tailing struct {
	tailFlags

	shared  *cli.Shared
	cmd     *cobra.Command
	name    string // of the run, or empty
	tenants []string
	open    map[string]*followed // by tenant
	printer *tailPrinter
	started bool // the ledgers of the start are open
	waits   bool // the user knows that no auditor runs
}

type followed struct {
	ledger *ledger.Reader
	lines  *tail.Tail
}

func (t *tailing) close() (err error) {
	for _, f := range t.open {
		err = errors.Join(err, f.ledger.Close())
	}
	return err
}

func (t *tailing) failure() error {
	altered := 0
	for _, f := range t.open {
		altered += f.lines.Altered()
	}
	if altered == 0 {
		return nil
	}
	err := fmt.Errorf("%s altered in the ledger: auditor verify shows the damage", plural(altered, "record"))
	return &cli.StatusError{Status: verifier.ExitInvalid, Err: err}
}

func (t *tailing) follow(ctx context.Context) error {
	var busy, checked time.Time
	for {
		if time.Since(checked) >= tailCheck {
			checked = time.Now()
			if err := t.check(ctx, time.Since(busy)); err != nil {
				return err
			}
		}
		n, err := t.printNew(ctx)
		if err != nil {
			return err
		}
		if n > 0 {
			busy = time.Now()
		} else if t.ended(time.Since(busy)) || cli.Closed(t.cmd.OutOrStdout()) {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(tailPoll):
		}
	}
}

func (t *tailing) check(ctx context.Context, idle time.Duration) error {
	err := t.openNew(ctx)
	if err == nil && idle >= tailCheck {
		err = t.tellWaiting(ctx)
	}
	return err
}

func (t *tailing) ended(idle time.Duration) bool {
	for _, f := range t.open {
		finished, sealed := f.lines.Ended()
		return t.name != "" && finished && (sealed || idle >= tailSeal)
	}
	return false
}

func (t *tailing) printNew(ctx context.Context) (n int, err error) {
	for _, tenant := range slices.Sorted(maps.Keys(t.open)) {
		for line, err := range t.open[tenant].lines.Next(ctx) {
			if replaced, ok := errors.AsType[*tail.ReplacedError](err); ok {
				t.tell(replaced.Error())
				continue
			}
			if tail.Waits(err) {
				break
			}
			if err == nil {
				err = t.printer.line(line)
			}
			if err != nil {
				return n, err
			}
			n++
		}
	}
	return n, nil
}

func (t *tailing) openNew(ctx context.Context) error {
	tenants, err := chosenTenants(t.shared)
	if err = t.unlessAwaited(ctx, "", err); err != nil {
		return err
	}
	for _, tenant := range tenants {
		if t.open[tenant] != nil {
			continue
		}
		err := t.openTenant(ctx, tenant)
		if err = t.unlessAwaited(ctx, tenant, err); err != nil {
			return err
		}
	}
	t.printer.several = t.printer.several || len(t.open) > 1
	t.tenants, t.started = tenants, true
	return nil
}

func (t *tailing) unlessAwaited(ctx context.Context, tenant string, err error) error {
	if _, ok := errors.AsType[*noLedgerError](err); !ok {
		return err
	}
	if t.started {
		return nil
	}
	served, unknown := auditor.LooksServed(ctx, t.shared.DataDir, tenant)
	if t.name != "" || unknown != nil || !served {
		return err
	}
	t.tell("waits: " + err.Error())
	return nil
}

func (t *tailing) openTenant(ctx context.Context, tenant string) error {
	r, err := openLedger(t.shared.DataDir, tenant)
	if err != nil {
		return err
	}
	f := &followed{ledger: r}
	run := ""
	if t.name != "" {
		run, err = findRun(ctx, r, t.name)
		if missing, ok := errors.AsType[*noRunError](err); ok {
			missing.list = listHint(t.shared)
		}
	}
	if err == nil {
		f.lines, err = tail.Open(ctx, r, run, t.filter)
	}
	if err == nil {
		err = t.printer.know(ctx, r)
	}
	if err != nil {
		return errors.Join(err, r.Close())
	}
	t.open[tenant] = f
	if t.started {
		f.lines.FromStart()
		return nil
	}
	past, err := f.lines.Past(ctx, t.from, t.lines)
	for _, line := range past {
		if err = cmp.Or(err, t.printer.line(line)); err != nil {
			break
		}
	}
	return err
}

func (t *tailing) tellWaiting(ctx context.Context) error {
	if t.ended(tailSeal) {
		return nil
	}
	for _, tenant := range append(slices.Clone(t.tenants), "") {
		served, err := auditor.LooksServed(ctx, t.shared.DataDir, tenant)
		if err != nil {
			return err
		}
		if served {
			if t.waits {
				t.tell("continues: an auditor runs")
			}
			t.waits = false
			return nil
		}
	}
	if !t.waits {
		t.tell("waits: no auditor runs on this directory; start `hooktrail up` or `auditor serve` there")
	}
	t.waits = true
	return nil
}

func (t *tailing) tell(text string) {
	fmt.Fprintf(t.cmd.ErrOrStderr(), "%s: %s\n", t.cmd.CommandPath(), termtext.Printable(text))
}
