package auditor

import (
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hooktrail/hooktrail/internal/platform/cli"
)

func (v *verification) registerTolerance(flags *pflag.FlagSet) {
	flags.BoolVar(&v.allowKnown, "allow-acknowledged", false, "leave findings that auditor acknowledge has recorded out of the exit status")
	flags.DurationVar(&v.maxAge, "max-age", 0,
		"exit with 11 if the newest record or checkpoint is older than this `duration`, such as 26h; default is any age")
}

func checkMaxAge(cmd *cobra.Command, age time.Duration) error {
	if cli.Given(cmd, "max-age") && age <= 0 {
		return cli.Usage("--max-age: want a positive duration, such as 26h")
	}
	return nil
}
