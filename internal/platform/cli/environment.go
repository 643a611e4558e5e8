package cli

import "github.com/spf13/pflag"

// FromEnvironment sets the flags that were not given from the environment, for a
// command that reads its own command line. [Shared.Register] does so for all
// others.
func FromEnvironment(flags *pflag.FlagSet) error { return fromEnvironment(flags) }
