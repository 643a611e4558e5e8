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

// purpose are the flags that record who uses evidence, and why.
type purpose struct{ by, reason, ticket string }

func (p *purpose) register(flags *pflag.FlagSet) {
	flags.StringVar(&p.by, "by", "", "the `person` who does this, for the record; default is the system user")
	flags.StringVar(&p.reason, "reason", "", "the `reason`, for the record")
	flags.StringVar(&p.ticket, "ticket", "", "a `ticket` for this, for the record")
}

// access returns the record of an action.
func (p purpose) access(action events.AuditAction, selection events.AuditSelection) events.AuditAccessedData {
	d := events.AuditAccessedData{Action: action, By: p.by, Reason: p.reason, Ticket: p.ticket}
	if d.By == "" {
		d.By = systemUser()
	}
	if selection != (events.AuditSelection{}) {
		d.Selection = &selection
	}
	return d
}

// systemUser returns the name of the user that runs the process.
func systemUser() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "uid " + strconv.Itoa(os.Getuid())
}

// recordRead records that a command is about to read from r. file is the value of
// --ledger. The use of a ledger outside the data directory is not recorded, and
// recordRead logs that.
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
		return fmt.Errorf("%w; the use of a copy of the ledger, with --ledger, is not recorded", err)
	}
	return nil
}

// isOwnLedger reports whether file is the ledger of tenant in a data directory.
func isOwnLedger(dataDir, tenant, file string) (bool, error) {
	named, err := os.Stat(file)
	if err != nil {
		return false, err
	}
	path, err := ledger.Path(auditor.LedgerDir(dataDir), tenant)
	if err != nil {
		return false, nil //nolint:nilerr // a data directory cannot have a ledger of such a tenant
	}
	own, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(named, own), err
}
