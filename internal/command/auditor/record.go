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

// purpose are the flags that say who uses evidence, and why.
type purpose struct{ by, reason, ticket string }

func (p *purpose) register(flags *pflag.FlagSet) {
	flags.StringVar(&p.by, "by", "", "`who` does this, for the record; default is the user of the system")
	flags.StringVar(&p.reason, "reason", "", "`why`, for the record")
	flags.StringVar(&p.ticket, "ticket", "", "`ticket` that this belongs to, for the record")
}

// access returns what is put on record of an action.
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

// systemUser names who runs the process.
func systemUser() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "uid " + strconv.Itoa(os.Getuid())
}

// recordRead puts on record that a command is about to read from r. file is what
// --ledger says: of a ledger that is not the one in the data directory nothing
// can be put on record, and that is said.
func recordRead(cmd *cobra.Command, shared *cli.Shared, r *ledger.Reader, file string, d events.AuditAccessedData) error {
	if file != "" {
		own, err := isOwnLedger(shared.DataDir, r.Tenant(), file)
		if err != nil {
			return err
		}
		if !own {
			shared.Logger(cmd).WarnContext(cmd.Context(), "this use of evidence is not on record: the ledger is a copy, outside of the data directory",
				"ledger", file, "action", string(d.Action))
			return nil
		}
	}
	_, err := access.Record(cmd.Context(), shared.DataDir, r.Tenant(), d)
	if err != nil {
		return fmt.Errorf("%w; of a copy of the ledger, with --ledger, no record is kept", err)
	}
	return nil
}

// isOwnLedger tells whether file is the ledger of tenant in a data directory.
func isOwnLedger(dataDir, tenant, file string) (bool, error) {
	named, err := os.Stat(file)
	if err != nil {
		return false, err
	}
	path, err := ledger.Path(auditor.LedgerDir(dataDir), tenant)
	if err != nil {
		return false, nil //nolint:nilerr // no data directory has a ledger of such a tenant
	}
	own, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(named, own), err
}
