package provider

import "github.com/hooktrail/hooktrail/pkg/hooks/policy"

// Default returns a provider with the policies of c.
func Default(c policy.Config) (*policy.Set, error) { return policy.New(c) }
