package auditor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/hooktrail/hooktrail/internal/stream/consume"
)

// hold keeps a tenant back whose ledger somebody changed: nothing is signed
// behind that, and the other tenants go on. What should have come to the ledger
// is noted as if it had, so that the next start finds the ledger behind it and
// reads the stream again from where the ledger is. Until then it stays held,
// even if it is restored meanwhile: messages would be missing.
func (p *projected) hold(ctx context.Context, tenant string, err error) {
	if p.held[tenant] != nil {
		return
	}
	p.held[tenant] = fmt.Errorf("ledger of tenant %q is held back: %w (auditor verify --tenant %q tells what is wrong; "+
		"restore it while the stream has its messages, and start the auditor again)", tenant, err, tenant)
	p.opts.Logger.ErrorContext(ctx, "a damaged ledger is held back; the other tenants go on", "tenant", tenant, "error", err)
}

// heldBack returns why tenants are held back, nil when none is.
func (p *projected) heldBack() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs error
	for _, tenant := range slices.Sorted(maps.Keys(p.held)) {
		errs = errors.Join(errs, p.held[tenant])
	}
	return errs
}

// progress passes on how the consumer stands, that tenants are held back, that
// checkpoints are not where they are to be kept, and that records of access cannot
// be sent.
func (p *projected) progress(now consume.Progress) {
	if now.Err == nil {
		now.Err = errors.Join(p.heldBack(), p.brokeOff(), p.keepers.Failure(), p.sender.failure(), p.scrubs.failure(), p.longWaits())
	}
	p.opts.Progress(now)
}
