package publisher

import (
	"github.com/hooktrail/hooktrail/pkg/publish"
)

// FullPolicy is what becomes of an event when the outbox has no room: block,
// fail or shed. It is the value of a flag. The zero one is fail: who sends over
// HTTP is told, and tries again.
type FullPolicy struct{ chosen *publish.FullPolicy }

func (f FullPolicy) policy() publish.FullPolicy {
	if f.chosen == nil {
		return publish.Fail
	}
	return *f.chosen
}

// String returns the name of the policy.
func (f *FullPolicy) String() string { return f.policy().String() }

// Set takes the name of a policy.
func (f *FullPolicy) Set(name string) error {
	p, err := publish.ParseFullPolicy(name)
	f.chosen = &p
	return err
}

// Type is what help calls the value.
func (f *FullPolicy) Type() string { return "policy" }
