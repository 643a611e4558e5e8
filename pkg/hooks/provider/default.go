package provider

import "github.com/hooktrail/hooktrail/pkg/hooks/policy"

// Default returns a provider with the policies of c, or all errors in c at once. The policies allow
// or deny tool calls and redact the results.
func Default(c policy.Config) (*policy.Set, error) { return policy.New(c) }
