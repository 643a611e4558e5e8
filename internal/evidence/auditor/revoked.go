package auditor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/platform/atomicfile"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// Revocation describes an issuer whose grants no longer count in any ledger of a data directory.
// It is stored as JSON, so fields must never be renamed.
type Revocation struct {
	Issuer string    `json:"issuer"`
	Time   time.Time `json:"time"` // from this time, its grants do not count
	By     string    `json:"by"`
	Reason string    `json:"reason"`
	Ticket string    `json:"ticket,omitempty"`
}

func revokedPath(dataDir string) string { return filepath.Join(KeyDir(dataDir), "revoked.json") }

// Revocations returns the issuers whose grants no longer count in any ledger of a data directory.
func Revocations(dataDir string) (list []Revocation, err error) {
	data, err := os.ReadFile(revokedPath(dataDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &list)
	}
	if err != nil {
		return nil, fmt.Errorf("revoked issuers: %s: %w", revokedPath(dataDir), err)
	}
	return list, nil
}

// SetRevocation revokes an issuer for all ledgers of a data directory. If trusted is true, it
// removes the revocation of r.Issuer instead.
func SetRevocation(dataDir string, r Revocation, trusted bool) error {
	list, err := Revocations(dataDir)
	if err != nil {
		return err
	}
	n := len(list)
	same := func(o Revocation) bool { return o.Issuer == r.Issuer }
	switch {
	case trusted:
		list = slices.DeleteFunc(list, same)
	case !slices.ContainsFunc(list, same): // the first revocation stays
		list = append(list, r)
	}
	if len(list) == n {
		return nil
	}
	data, err := json.MarshalIndent(list, "", "  ")
	if err == nil {
		err = atomicfile.Write(revokedPath(dataDir), append(data, '\n'))
	}
	if err != nil {
		return fmt.Errorf("revoked issuers: %w", err)
	}
	return nil
}

const revokeEvery = time.Minute

type revoker struct {
	opts     Options
	standsBy func() bool
	given    map[[2]string]bool // by tenant and issuer
}

func (r *revoker) run(ctx context.Context) {
	tick := time.NewTicker(revokeEvery)
	defer tick.Stop()
	for {
		if err := r.all(ctx); err != nil && ctx.Err() == nil {
			r.opts.Logger.WarnContext(ctx, "issuers not revoked in later ledgers", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (r *revoker) all(ctx context.Context) error {
	list, err := Revocations(r.opts.DataDir)
	if err != nil || len(list) == 0 || r.standsBy() {
		return err
	}
	tenants, err := r.opts.tenants()
	for _, tenant := range tenants {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		err = errors.Join(err, r.tenant(ctx, tenant, list))
	}
	return err
}

func (r *revoker) tenant(ctx context.Context, tenant string, list []Revocation) (err error) {
	reader, err := ledger.OpenTenant(LedgerDir(r.opts.DataDir), tenant)
	if errors.Is(err, ledger.ErrDamaged) {
		return nil // readiness already reports the suspended ledger
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, reader.Close()) }()
	known, err := reader.Orders().Issuers(ctx)
	if err != nil {
		return err
	}
	for _, one := range list {
		has := slices.ContainsFunc(known.Orders(), func(o ledger.Order) bool { return o.Issuer == one.Issuer })
		if key := [2]string{tenant, one.Issuer}; !has && !r.given[key] {
			if err := r.give(ctx, reader, one); err != nil {
				return err
			}
			r.given[key] = true
		}
	}
	return nil
}

func (r *revoker) give(ctx context.Context, reader *ledger.Reader, one Revocation) error {
	o, err := reader.Orders().Resolve(ctx, ledger.Order{
		Action: events.AuditRevoke, ID: events.NewID(), Time: r.opts.Now().UTC(), By: one.By, Reason: one.Reason, Ticket: one.Ticket,
		Issuer: one.Issuer, Selection: ledger.OrderSelection{From: one.Time.UTC()},
	})
	if err != nil {
		return err
	}
	_, err = GiveOrders(ctx, r.opts.DataDir, []ledger.Order{o})
	return err
}
