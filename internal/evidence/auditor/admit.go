package auditor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io/fs"
	"maps"
	"os"

	"github.com/hooktrail/hooktrail/internal/platform/atomicfile"
)

const (
	maxRefusedNames  = 1000    // tenants listed in the file
	maxRefusedHashes = 200_000 // hashes in memory, about 8 MB
	maxRefusedLogs   = 20      // warnings that name one tenant
)

type refusedTenants struct {
	Tenants map[string]uint64 `json:"tenants"` // stream sequence of the first message, by tenant
	More    bool              `json:"more"`    // more tenants were refused than are listed

	// Policy is the [Options.Policy] that refused the tenants. Refused tenants that are not in
	// Tenants stay refused until the policy changes.
	Policy string `json:"policy,omitempty"`
}

// A refused tenant stays refused until the next start, because its ledger would lack messages.
// ledgers.mu guards admissions.
type admissions struct {
	admit  func(tenant string) error // nil accepts every tenant
	policy string
	path   string
	seed   maphash.Seed

	has     map[string]bool // tenants with a ledger
	refused map[uint64]bool // hashes of refused tenants
	file    refusedTenants
	before  refusedTenants // content at the start if the stream is read again
	changed bool
	logged  int
}

func newAdmissions(o Options) (*admissions, error) {
	a := &admissions{
		admit: o.Admit, policy: o.Policy, seed: maphash.MakeSeed(), has: map[string]bool{"": true}, refused: map[uint64]bool{},
		file: refusedTenants{Tenants: map[string]uint64{}},
	}
	if o.Tenant != "" {
		a.admit = nil
	}
	var err error
	if a.path, err = ownFile(o.DataDir, o.Tenant, ".refused.json"); err != nil {
		return nil, err
	}
	data, err := os.ReadFile(a.path)
	if err == nil {
		err = json.Unmarshal(data, &a.file)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("refused tenants: %s: %w", a.path, err)
	}
	tenants, _ := o.tenants() // the start logs an unreadable folder
	for _, t := range tenants {
		a.has[t] = true
	}
	return a, nil
}

func (a *admissions) readAgain() bool {
	again := a.file.More && (a.policy == "" || a.policy != a.file.Policy)
	for tenant := range a.file.Tenants {
		if a.admit == nil || a.has[tenant] || a.admit(tenant) == nil {
			again = true
		} else {
			a.refused[maphash.String(a.seed, tenant)] = true
		}
	}
	if !again {
		return false
	}
	clear(a.refused)
	a.before, a.file, a.changed = a.file, refusedTenants{Tenants: map[string]uint64{}, Policy: a.policy}, true
	return true
}

func (a *admissions) allows(ctx context.Context, l *ledgers, tenant string, sequence uint64) bool {
	if a.admit == nil || a.has[tenant] {
		return true
	}
	hash := maphash.String(a.seed, tenant)
	if a.refused[hash] {
		return false
	}
	err := a.admit(tenant)
	if err == nil {
		a.has[tenant] = true
		return true
	}
	if len(a.refused) < maxRefusedHashes {
		a.refused[hash] = true
	}
	switch {
	case len(a.file.Tenants) < maxRefusedNames:
		a.file.Tenants[tenant], a.changed = sequence, true
	case !a.file.More:
		a.file.More, a.file.Policy, a.changed = true, a.policy, true
	}
	if a.logged++; a.logged <= maxRefusedLogs {
		l.opts.Logger.WarnContext(ctx, "tenant refused, it has no ledger until the next start", "stream_sequence", sequence, "error", err)
	}
	if a.logged == maxRefusedLogs {
		l.opts.Logger.WarnContext(ctx, "further refused tenants are not logged", "file", a.path)
	}
	return false
}

// save must be called before the stream position is committed. Otherwise, a crash could lose the
// entry of a refused tenant.
func (a *admissions) save() error {
	if !a.changed {
		return nil
	}
	all := refusedTenants{Tenants: maps.Clone(a.file.Tenants), More: a.file.More || a.before.More, Policy: a.file.Policy}
	if a.before.Tenants != nil {
		all.Policy = a.before.Policy
	}
	maps.Copy(all.Tenants, a.before.Tenants)
	data, err := json.Marshal(all)
	if err == nil {
		err = atomicfile.Write(a.path, append(data, '\n'))
	}
	if err != nil {
		return fmt.Errorf("refused tenants: %w", err)
	}
	a.changed = false
	return nil
}

func (a *admissions) committed() error {
	if a.before.Tenants == nil {
		return nil
	}
	a.before, a.changed = refusedTenants{}, true
	return a.save()
}
