package auditor

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hooktrail/hooktrail/internal/evidence/access"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/pkg/events"
)

type purpose struct{ by, reason, ticket string }

func (p *purpose) register(flags *pflag.FlagSet) {
	flags.StringVar(&p.by, "by", "", "the `person` who does this, for the record; default is the system user, who is on record in any case")
	flags.StringVar(&p.reason, "reason", "", "the `reason`, for the record")
	flags.StringVar(&p.ticket, "ticket", "", "a `ticket` for this, for the record")
}

func (p purpose) access(action events.AuditAction, selection events.AuditSelection) events.AuditAccessedData {
	d := events.AuditAccessedData{Action: action, By: p.person(), Reason: p.reason, Ticket: p.ticket}
	if selection != (events.AuditSelection{}) {
		d.Selection = &selection
	}
	return d
}

func (p purpose) person() string {
	if p.by != "" {
		return p.by
	}
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "uid " + strconv.Itoa(os.Getuid())
}

func openRecorded(cmd *cobra.Command, shared *cli.Shared, file string, d events.AuditAccessedData) (*ledger.Reader, error) {
	r, err := openLedger(shared.DataDir, shared.TenantOrDefault(), file)
	if err != nil {
		return nil, err
	}
	if err := recordRead(cmd, shared, r, file, d); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

func recordRead(cmd *cobra.Command, shared *cli.Shared, r *ledger.Reader, file string, d events.AuditAccessedData) error {
	if file != "" {
		own, err := isOwnLedger(shared.DataDir, r.Tenant(), file)
		if err != nil {
			return err
		}
		if !own {
			shared.Logger(cmd).WarnContext(cmd.Context(), "use of evidence not recorded, the ledger is a copy outside the data directory",
				"ledger", file, "action", string(d.Action))
			return nil
		}
	}
	_, err := access.Record(cmd.Context(), shared.DataDir, r.Tenant(), d)
	if err != nil {
		return fmt.Errorf("%w, or copy the ledger and name the copy with --ledger, whose use is not recorded", err)
	}
	return nil
}

func isOwnLedger(dataDir, tenant, file string) (bool, error) {
	named, err := os.Stat(file)
	if err != nil {
		return false, err
	}
	path, err := ledger.Path(auditor.LedgerDir(dataDir), tenant)
	if err != nil {
		return false, nil //nolint:nilerr // a tenant with an invalid name has no ledger
	}
	own, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(named, own), err
}
