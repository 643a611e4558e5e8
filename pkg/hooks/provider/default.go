package provider

import "github.com/hooktrail/hooktrail/pkg/hooks/policy"

// Default returns the policies of c as a provider. They cover write paths,
// blocked commands, question limits, reviewer lockouts, and the scrubbing of
// personal data and secrets. They decide on tool calls and clean the results.
// Lockout of the returned set locks agents out. Default reports all errors in c
// at once.
func Default(c policy.Config) (*policy.Set, error) { return policy.New(c) }
