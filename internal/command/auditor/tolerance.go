package auditor

import (
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hooktrail/hooktrail/internal/platform/cli"
)

func (v *verification) registerTolerance(flags *pflag.FlagSet) {
	flags.BoolVar(&v.allowKnown, "allow-acknowledged", false, "leave findings that auditor acknowledge has recorded out of the exit status")
	flags.Var((*maxAge)(&v.maxAge), "max-age",
		"exit with 11 if the newest record or checkpoint is older than this `age`, such as 26h or 2d; default is any age")
}

type maxAge time.Duration

func (a *maxAge) String() string {
	if *a == 0 {
		return ""
	}
	return time.Duration(*a).String()
}

// Set implements pflag.Value.
func (a *maxAge) Set(text string) error {
	d, err := ParseAge(text)
	*a = maxAge(d)
	return err
}

// Type implements pflag.Value.
func (a *maxAge) Type() string { return "age" }

func checkMaxAge(cmd *cobra.Command, age time.Duration) error {
	if cli.Given(cmd, "max-age") && age <= 0 {
		return cli.Usage("--max-age: want a positive duration, such as 26h or 2d")
	}
	return nil
}
