package cli

import "github.com/spf13/pflag"

// FromEnvironment sets flags that are not on the command line from the environment. Only
// commands that parse their own command line need it. [Shared.Register] does it for
// all others.
func FromEnvironment(flags *pflag.FlagSet) error { return fromEnvironment(flags) }
