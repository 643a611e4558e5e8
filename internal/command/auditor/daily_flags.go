package auditor

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
)

const defaultReportAt = "00:15"

// ReportFlags are the flags for daily reports.
type ReportFlags struct {
	dir, at    string
	allowKnown bool
}

// Register adds the flags to cmd.
func (f *ReportFlags) Register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.dir, "report-dir", "", "`folder` for a signed report about each tenant and day; see auditor report")
	flags.BoolVar(&f.allowKnown, "report-allow-acknowledged", false,
		"leave findings that auditor acknowledge has recorded out of the status of the reports")
	flags.StringVar(&f.at, "report-at", defaultReportAt, "`time` in UTC from which the report about the day before is made")
}

// Apply copies the flags to o. An invalid value is a usage error.
func (f *ReportFlags) Apply(o *auditor.Options) error {
	at, err := time.Parse("15:04", f.at)
	if err != nil {
		return cli.Usage("--report-at: %q is not a time such as %s", f.at, defaultReportAt)
	}
	o.Reports = auditor.Reports{Dir: f.dir, Text: DailyText, AllowAcknowledged: f.allowKnown, At: time.Duration(at.Hour())*time.Hour + time.Duration(at.Minute())*time.Minute}
	return nil
}
