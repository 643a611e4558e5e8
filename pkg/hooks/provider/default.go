package provider

import "github.com/hooktrail/hooktrail/pkg/hooks/policy"

// Default returns the policies that c asks for as a provider: allowed write
// paths, blocked commands, a limit on questions, lockouts of reviewers, scrubbing
// of personal data and secrets. It decides on tool calls and cleans their results
// and leaves everything else as it is. Its Lockout locks agents out. It fails if c
// makes no sense, with all errors at once.
func Default(c policy.Config) (*policy.Set, error) { return policy.New(c) }
